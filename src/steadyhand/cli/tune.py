"""`steadyhand tune`."""


def tune() -> None:
    """Stub."""
    raise NotImplementedError
