"""steadyhand drives a robot arm from far away, and never replays old motion."""

__version__ = "0.1.0"
