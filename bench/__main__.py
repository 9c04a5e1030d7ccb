"""Run every bench, print its table, and write bench/out.json."""

import argparse
import json
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.table import Table as RichTable

from bench.harness import Table, machine

BENCHES = ("playout_cost", "frontier", "shaper_cost", "guard_campaign", "tick_lateness")
OUT = Path(__file__).with_name("out.json")


def main() -> None:
    """Run the benches named on the command line, or all."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}; all without")
    names = parser.parse_args().names or BENCHES
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"unknown bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    console = Console(highlight=False)
    tables: list[Table] = []
    for name in names:
        table: Table = import_module(f"bench.{name}").run()
        tables.append(table)
        console.print(_drawn(table))
    kept = json.loads(OUT.read_text(encoding="utf-8")) if OUT.exists() and len(names) < len(BENCHES) else {}
    kept["machine"] = machine()
    kept.setdefault("tables", {}).update({table.name: table.figures for table in tables})
    OUT.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    console.print(f"Written: {OUT}")


def _drawn(table: Table) -> RichTable:
    drawn = RichTable(*table.columns, title=table.title, show_edge=False, title_justify="left")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


if __name__ == "__main__":
    main()
