"""Run every bench, print its tables, and write bench/out.json."""

import argparse
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as RichTable

from bench.harness import Table, machine
from bench.tick_lateness import FEWEST_SAMPLES, SAMPLES
from steadyhand.view.whole_file import write_whole

BENCHES = (
    "playout_cost",
    "frontier",
    "shaper_cost",
    "guard_campaign",
    "setpoint_cost",
    "replay_speed",
    "tick_lateness",
)
OUT = Path(__file__).with_name("out.json")


def main() -> None:
    """Run the benches named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all without")
    parser.add_argument(
        "--tick-samples",
        type=int,
        default=SAMPLES,
        metavar="N",
        help=f"of tick_lateness, at each rate; {SAMPLES} without, which takes half an hour",
    )
    asked = parser.parse_args()
    unknown = [name for name in asked.names if name not in BENCHES]
    if unknown:
        parser.error(f"unknown bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    if asked.tick_samples < FEWEST_SAMPLES:
        parser.error(f"--tick-samples {asked.tick_samples}: at least {FEWEST_SAMPLES}")
    names = asked.names or list(BENCHES)
    console = Console(highlight=False)
    tables: list[Table] = []
    for name in names:
        options: dict[str, Any] = {"samples": asked.tick_samples} if name == "tick_lateness" else {}
        made: Table | tuple[Table, ...] = import_module(f"bench.{name}").run(**options)
        for table in (made,) if isinstance(made, Table) else made:
            tables.append(table)
            console.print(_drawn(table))
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() and len(names) < len(BENCHES) else {}
    write_whole(OUT, f"{json.dumps(merged(kept, tables), indent=2)}\n".encode())
    console.print(f"Written: {OUT}")


def merged(kept: dict[str, Any], tables: list[Table]) -> dict[str, Any]:
    """What out.json holds: the figures of the tables just made in the place of their former ones."""
    figures = kept.get("tables", {}) | {table.name: table.figures for table in tables}
    return kept | {"machine": machine(), "tables": figures}


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(*table.columns, title=table.title, show_edge=False, title_justify="left")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


if __name__ == "__main__":
    main()
