"""`steadyhand figures`: the pictures of every rule, drawn by running the rules."""

from pathlib import Path

from steadyhand.cli.options import FilePath


def figures(*, out: FilePath = Path("docs/figures")) -> None:
    """Draw the playout buffer's rules by running them on scripted arrivals.

    Writes nine pictures (SVG), one page that tells every tick (`index.html`) and the numbers
    behind them (`figures.json`). The same code writes the same bytes.

    Parameters
    ----------
    out
        Directory to write into; made where it is missing.
    """
    from steadyhand.view.figures import write_all

    written = write_all(out)
    print(f"{len(written)} files in {out}; open {out / 'index.html'}")
