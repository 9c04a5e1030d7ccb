"""What is measured, against whom. `make bench` runs it all and writes bench/out.json."""
