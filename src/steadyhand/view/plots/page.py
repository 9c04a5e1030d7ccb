"""One page, whole in itself: no font, script or picture is fetched, so it opens offline."""

import json
import re
from html import escape
from importlib.resources import files
from typing import Any, Final

from steadyhand import __version__
from steadyhand.view.plots.style import PALETTE

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""The page itself tells the browser to fetch nothing."""


def document(title: str, body: str, *, script: str = "") -> str:
    """An HTML document around `body`, in the house's colours, light and dark."""
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>\n{_colors()}{asset('page.css')}</style>\n</head>\n"
        f"<body>\n{body}\n<footer>Made by steadyhand {escape(__version__)}. "
        "This page needs no network: everything it shows is inside it.</footer>\n"
        f"{script}</body>\n</html>\n"
    )


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files("steadyhand.view.plots").joinpath(name).read_text(encoding="utf-8")


def _colors() -> str:
    light = "".join(f"--{name}:{color};" for name, (color, _) in PALETTE.items())
    dark = "".join(f"--{name}:{color};" for name, (_, color) in PALETTE.items())
    return f":root{{{light}}}\n@media (prefers-color-scheme: dark){{:root{{{dark}}}}}\n"


def inline_svg(svg: str, says: str) -> str:
    """A stand-alone SVG made part of a page: it follows light and dark, and `says` describes it.

    Prologue, namespaces and size go, since HTML knows the first two and the page sets the third.
    """
    body = svg[svg.index("<svg") :]
    head, rest = body.split(">", 1)
    view_box = re.search(r'viewBox="[^"]*"', head)
    rest = rest.replace("xlink:href", "href")
    for name, (color, _) in PALETTE.items():
        rest = rest.replace(f": {color}", f": var(--{name})")
    box = view_box.group() if view_box else ""
    return f'<svg {box} role="img" aria-label="{escape(says)}">{rest}'


def embedded_json(name: str, value: Any) -> str:
    """`value` as a script block that no markup inside it can end."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def table(head: list[str], rows: list[list[str]], *, classes: list[str] | None = None) -> str:
    """A table whose first column names its rows. Cells are HTML already; `classes` go on columns."""
    classes = classes or [""] * len(head)
    titles = "".join(f'<th scope="col"{_class(c)}>{cell}</th>' for cell, c in zip(head, classes, strict=True))
    body = "".join(_row(row, classes) for row in rows)
    return f'<div class="wide"><table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table></div>'


def _row(cells: list[str], classes: list[str]) -> str:
    first, *others = cells
    plain = ["number" if "number" in name.split() else "" for name in classes[1:]]
    filled = "".join(f"<td{_class(c)}>{cell}</td>" for cell, c in zip(others, plain, strict=True))
    return f'<tr><th scope="row">{first}</th>{filled}</tr>'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""
