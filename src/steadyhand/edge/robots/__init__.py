"""Robots: the contract that every driver keeps (docs/robots.md), and the drivers.

`lifecycle` says what may follow what, `reports` what a port answers, `data_port` and `control_port`
are the two halves of a driver. `fairino` speaks the vendor's protocol, `simulated` is the controller
model without sockets, in virtual time.
"""
