"""`steadyhand figures`: the pictures of every rule, drawn by running the rules."""

from pathlib import Path


def figures(*, out: Path = Path("docs/figures")) -> None:
    """Stub until the view is there."""
    raise NotImplementedError(out)
