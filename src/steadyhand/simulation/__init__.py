"""Whole systems in virtual time: motion × link × configuration, no socket and no wait.

Everything here is a function of its scenario: the same seed gives the same bytes of output. It
composes `core` rooms the way the nodes do, so what is simulated is the code that runs.
"""
