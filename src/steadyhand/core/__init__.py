"""Decisions: no clock, socket, file, thread, sleep or log here or further down the imports."""
