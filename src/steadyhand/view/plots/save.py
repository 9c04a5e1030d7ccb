"""Pictures into files: which formats there are, and the same bytes for the same picture."""

from io import BytesIO, StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from steadyhand.ground.errors import InputError
from steadyhand.view.whole_file import write_whole as write_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_plot_path", "png_bytes", "svg_text", "write_bytes"]

SUFFIXES: Final = (".png", ".svg", ".html")
PNG_DPI: Final = 150
UNDATED: Final = {"Date": None, "Creator": None, "Format": None, "Type": None}


def check_plot_path(path: Path) -> str:
    """The format `path` asks for, its suffix in lower case.

    Raises:
        InputError: another suffix than .png, .svg or .html.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(
            f"cannot draw a {suffix or 'file without a suffix'}",
            where=str(path),
            hint="a picture ends in .png, .svg or .html",
        )
    return suffix


def png_bytes(figure: "Figure") -> bytes:
    """The figure as PNG, without a word about when and by what it was made."""
    out = BytesIO()
    figure.savefig(out, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return out.getvalue()


def svg_text(figure: "Figure") -> str:
    """The figure as a stand-alone SVG document, its text as text."""
    out = StringIO()
    figure.savefig(out, format="svg", metadata=UNDATED)
    return out.getvalue()
