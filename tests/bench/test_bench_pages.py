"""docs/measured.md names every bench."""

import re
from pathlib import Path

from bench.__main__ import BENCHES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "measured.md").read_text(encoding="utf-8")


def test_every_bench_is_told_and_no_other() -> None:
    assert set(re.findall(r"(?m)^\| `(\w+)` \|", PAGE)) == set(BENCHES)
