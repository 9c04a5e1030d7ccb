"""The table of constants: every number cited, printed in the document, and refused where it contradicts."""

import math
from pathlib import Path

import msgspec
import pytest

from steadyhand.core.controller.constants import CITED, FR3, FR20, PRESETS, SIM, ControllerConstants
from steadyhand.ground.errors import ConfigError

DOCUMENT = Path(__file__).parents[3] / "docs" / "controller.md"


def rows_of(document: Path) -> dict[str, list[str]]:
    """The cells of each row of the document's table, by the field named in its first cell."""
    rows: dict[str, list[str]] = {}
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            rows[cells[0].strip("`")] = cells[1:]
    return rows


def printed(value: object) -> str:
    """A constant as the document prints it: exactly, without Python's spelling of it."""
    if isinstance(value, tuple):
        return ", ".join(f"{speed:g} → {ratio:g}" for speed, ratio in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def test_every_constant_cites_its_measurement_or_calls_itself_assumed() -> None:
    fields = set(ControllerConstants.__struct_fields__) - {"name"}
    assert set(CITED) == fields
    for field, source in CITED.items():
        assert "001" in source or "ssumed" in source or "manual" in source, field


def test_the_document_prints_every_constant_of_every_preset_with_its_source() -> None:
    rows = rows_of(DOCUMENT)
    assert set(rows) == set(CITED)
    for field, source in CITED.items():
        values = [printed(getattr(preset, field)) for preset in (FR3, FR20, SIM)]
        assert rows[field] == [*values, source]


def test_a_preset_is_found_by_its_name() -> None:
    assert PRESETS == {"fr3": FR3, "fr20": FR20, "sim": SIM}
    assert [preset.runs_away for preset in (FR3, FR20, SIM)] == [True, True, False]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lag_ns": 0}, "lag_ns"),
        ({"own_accel_deg_s2": math.nan}, "own_accel_deg_s2"),
        ({"sweep_speed_max_deg_s": -1.0}, "sweep_speed_max_deg_s"),
        ({"giant_step_deg": math.inf}, "giant_step_deg"),
        ({"trip_onset_deg_s": 151.0}, "trip_onset"),
        ({"trip_onset_deg_s": -1.0}, "trip_onset"),
        ({"period_max_ns": 1}, "period_min_ns"),
        ({"sweep_ratio_points": ()}, "sweep_ratio_points"),
        ({"sweep_ratio_points": ((2.0, 1.0), (2.0, 3.0))}, "sweep_ratio_points"),
    ],
)
def test_a_table_that_contradicts_itself_is_refused_by_name(change: dict[str, object], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        ControllerConstants(**(msgspec.structs.asdict(FR3) | change))


@pytest.mark.parametrize(
    ("jump_deg_s", "travel_deg"),
    [
        (250.0, 88.575),  # 2.5°: measured 88.57°
        (480.0, 158.016),  # 4.8°: measured about 158°
        (100.0, 14.0),  # 1.0°: the report's least, 14 steps
        (50.0, 7.0),  # below the table: its first ratio
        (175.0, 175.0 * 0.01 * (14.0 + 35.43) / 2),  # half way between two points
        (485.0, 4.85 * 32.92),  # past the table: its last ratio
        (1000.0, 196.0 * (0.9 - 196.0 / 2500.0)),  # never beyond what fits into the window
        (2999.0, 196.0 * (0.9 - 196.0 / 2500.0)),
    ],
)
def test_how_far_a_sweep_goes(jump_deg_s: float, travel_deg: float) -> None:
    assert FR3.sweep_travel_deg(jump_deg_s) == pytest.approx(travel_deg, abs=1e-9)


def test_the_measured_sweep_of_158_degrees_needs_the_assumed_acceleration() -> None:
    """`own_accel_deg_s2` is the one free constant of the sweep; this is all that bounds it."""
    least_accel = 196.0 / (0.9 - 158.0 / 196.0)
    assert least_accel == pytest.approx(2088.0, abs=2.0)
    assert FR3.own_accel_deg_s2 > least_accel
