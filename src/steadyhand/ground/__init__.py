"""What every other room is made of. Imports nothing of ours."""
