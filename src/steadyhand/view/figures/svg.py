"""The few lines of SVG writing the figures need; same input, same bytes."""

from html import escape


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, without trailing zeros."""
    return f"{value:.1f}".rstrip("0").rstrip(".") if value % 1 else str(int(value))


def element(tag: str, *children: str, **attributes: str | float) -> str:
    """Return one element. Children are markup; attributes are escaped here.

    A trailing underscore is dropped (`class_`), any other becomes a hyphen (`text_anchor`).
    """
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{_value(value)}"' for name, value in attributes.items()
    )
    return f"<{tag}{written}>{''.join(children)}</{tag}>" if children else f"<{tag}{written}/>"


def text(words: str, *, x: float, y: float, class_: str, anchor: str = "start") -> str:
    """One line of text, its baseline at `y`."""
    return element("text", escape(words, quote=False), x=x, y=y, class_=class_, text_anchor=anchor)


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else number(value)
