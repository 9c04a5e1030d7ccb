"""The model of the vendor's controller: its lag, its faults and its runaway (document 001, R10)."""
