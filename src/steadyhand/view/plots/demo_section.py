"""What a page of a run over sockets says beyond that of a simulated one: processes, e-stops, the machine."""

from html import escape
from typing import Any

from steadyhand.view.demo_table import process_figures
from steadyhand.view.plots.page import table


def demo_section(report: dict[str, Any]) -> str:
    """The processes' figures and what the machine granted them; nothing for a simulated run."""
    if "controller_faults" not in report:
        return ""
    rows = [[escape(label), escape(value)] for label, value in process_figures(report)]
    granted = "".join(f"<li>{escape(line)}</li>" for line in report["granted"])
    told = f"<h2>What the machine granted</h2><ul>{granted}</ul>" if granted else ""
    return "<h2>The processes</h2>" + table(["figure", "value"], rows) + told
