"""Write `docs/rules/playout.md` from the code: `python -m steadyhand.view.rules DIR`.

Two things are said here and nowhere else: which tunables and which tests belong to a rule. A test
holds both to the code.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from steadyhand.core.playout import arrival, arrival_health, config, depth, flush, trim, verdicts, waits
from steadyhand.ground.errors import InputError
from steadyhand.view.rules_source import (
    RuleEntry,
    paragraphs,
    prose,
    read_flush_paths,
    read_ladder,
    read_members,
    read_tunables,
)

PAGE: Final = "playout.md"

HEAD: Final = """\
# The rules of the playout buffer

<!-- Written by `make rules` from src/steadyhand/core/playout. Do not edit: change the code. -->

Every rule below is a function of that name in `core/playout`; its words are the function's own. The
nine pictures in [`docs/figures`](../figures/) show them at work. Rulings (R1, R2, …) are the
project's decisions where document 000 contradicts itself or is measurably wrong.
"""

LADDER_HEAD: Final = """\
## The drain ladder

Once a tick the rules are asked from top to bottom, and the first verdict wins. *Housekeeping*
changes the state and never decides; a *gate* may. The target depth and the underrun window are the
robot file's: `playout_buffer_ms`, `playout_adaptive_max_ms`, `playout_underrun_estop_after_ms`.
"""

ARRIVAL_TUNABLES: Final = (
    "HIGH_WATER_SLACK",
    "ACTION_EPOCH_RESET_NS",
    "NUMBERING_JUMP",
    "PROBATION_DATAGRAMS",
    "CLOCK_STEP_PACE_NS",
    "ACCEPTED_MEMORY",
    "JITTER_GAIN",
    "LOSS_GAIN",
    "SENDER_STALL_PERIODS",
)

RULE_TUNABLES: Final[dict[str, tuple[str, ...]]] = {
    "purge_aged": ("AGE_CAP_MARGIN_FLOOR_NS", "MAX_TOMBSTONES"),
    "sample_depth": ("ADAPT_WINDOW_NS", "ADAPT_GROW_MARGIN", "ADAPT_SHRINK_CALM_WINDOWS"),
    "prefill_gate": ("HIGH_WATER_SLACK",),
    "hole_ahead": ("HOLE_AHEAD_FACTOR",),
    "deepening_hold": ("DEEPEN_SLEW_EVERY", "HIGH_WATER_SLACK"),
    "conceal_hole": ("INTERP_MAX_GAP",),
}

PINNED_BY: Final[dict[str, tuple[str, ...]]] = {
    "purge_aged": (
        "test_over_age_entry_is_discarded_never_released",
        "test_healthy_head_survives_held_ticks_and_wobble_without_aging_out",
    ),
    "sample_depth": (
        "test_adaptive_target_grows_on_graze_deepens_by_slew_and_shrinks_when_calm",
        "test_idle_and_prefill_ticks_never_adapt",
    ),
    "prepare_gate": ("test_r3_a_change_of_numbering_while_engaged_flushes_and_needs_a_new_prepare_stream",),
    "prefill_gate": (
        "test_prefill_holds_pops_until_target_depth_then_releases_one_per_tick",
        "test_underrun_to_empty_pauses_pops_until_prefill_rebuilds",
        "test_a_new_stream_whose_head_came_late_starts_at_the_target_exactly",
        "test_post_live_underrun_stalls_after_the_window_and_flushes",
    ),
    "hole_ahead": (
        "test_hole_ahead_blocks_release_and_stalls_with_the_policy_armed",
        "test_hole_ahead_without_the_policy_releases_as_today_and_counts",
    ),
    "deepening_hold": ("test_adaptive_target_grows_on_graze_deepens_by_slew_and_shrinks_when_calm",),
    "conceal_hole": (
        "test_small_holes_are_concealed_by_lerp_one_tick_at_a_time",
        "test_r1_what_overflow_drops_is_stepped_over",
    ),
    "pop_head": (
        "test_jittered_arrivals_equalize_to_one_release_per_tick_in_seq_order",
        "test_big_holes_keep_the_jump_and_count_as_true_loss",
    ),
}


def every_tunable() -> dict[str, tuple[str, str]]:
    """Return the constants of all the modules that have any: name → (value, meaning)."""
    found: dict[str, tuple[str, str]] = {}
    for module in (config, arrival_health, trim, waits):
        found |= read_tunables(module)
    return found


def playout_page() -> str:
    """Return the page as Markdown; the same code gives the same bytes."""
    parts = [HEAD, *_arrival(), LADDER_HEAD, *_ladder(), *_depth(), *_flush(), *_all_tunables()]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _arrival() -> list[str]:
    verdict_rows = read_members(verdicts, "Offer").items()
    return [
        "## Arrival",
        *paragraphs(arrival.__doc__)[1:],
        _table(("Verdict", "When"), [(f"`{value}`", words) for value, words in verdict_rows]),
        _tunables(ARRIVAL_TUNABLES),
    ]


def _ladder() -> list[str]:
    entries = read_ladder()
    rows = [
        (str(order), f"[`{entry.name}`](#{entry.name})", entry.kind, _verdict(entry))
        for order, entry in enumerate(entries, start=1)
    ]
    parts = [_table(("", "Rule", "Kind", "Verdict"), rows)]
    for entry in entries:
        parts.append(f"### {entry.name}")
        parts.append(entry.sentences)
        parts.append(_facts(entry))
    return parts


def _facts(entry: RuleEntry) -> str:
    facts = [("Kind", entry.kind), ("Verdict", _verdict(entry)), ("Source", entry.source.rstrip("."))]
    named = RULE_TUNABLES.get(entry.name, ())
    if named:
        known = every_tunable()
        facts.append(("Bound to", ", ".join(f"`{name}` = {known[name][0]}" for name in named)))
    facts.append(("Pinned by", ", ".join(f"`{name}`" for name in PINNED_BY[entry.name])))
    return "\n".join(f"- {label}: {words}" for label, words in facts)


def _verdict(entry: RuleEntry) -> str:
    given = ", ".join(entry.answers)
    if not given:
        return "none: the next rule is asked"
    return f"{given}; else the next rule" if entry.passes else f"{given}, always"


def _depth() -> list[str]:
    trims = read_tunables(trim)
    return [
        "## Beside the ladder",
        "### Target depth",
        *paragraphs(depth.__doc__)[1:],
        prose(depth.GrazeDepth.__doc__),
        "### Pace of the drain",
        *paragraphs(trim.__doc__),
        _table(("Tunable", "Value"), [(f"`{name}`", value) for name, (value, _) in trims.items()]),
    ]


def _flush() -> list[str]:
    parts = ["## What discards queued motion", *paragraphs(flush.__doc__)]
    for name, docstring in read_flush_paths().items():
        parts.append(f"### {name}")
        parts.extend(paragraphs(docstring))
    return parts


def _all_tunables() -> list[str]:
    return ["## Every tunable", _tunables(tuple(every_tunable()))]


def _tunables(names: Sequence[str]) -> str:
    known = every_tunable()
    return _table(("Tunable", "Value", "Meaning"), [(f"`{name}`", *known[name]) for name in names])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def write_rules(directory: Path) -> Path:
    """Write the page into `directory`, which is made where it is missing; return its path.

    Raises:
        InputError: the directory cannot be written.
    """
    path = directory / PAGE
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_bytes(playout_page().encode())
    except OSError as error:
        raise InputError(f"cannot write the rules: {error.strerror}", where=str(path)) from error
    return path


def main(arguments: Sequence[str]) -> int:
    """Write the page; return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m steadyhand.view.rules DIR\n")
        return InputError.exit_code
    try:
        path = write_rules(Path(arguments[0]))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
