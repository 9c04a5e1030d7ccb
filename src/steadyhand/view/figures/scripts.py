"""Nine things a network does, and the rule that answers each (document 000 §3, figures A to I).

Five slots of 10 ms, so that a figure fits a page; one whole session at the end. The scores are in
the notation of `score`; setpoint n was built n periods after setpoint 0.
"""

from typing import Final

import msgspec


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """One scene.

    Attributes:
        letter: A to I, as in the document.
        title: what the network does.
        point: the one line that stands in the picture.
        danger: what went wrong, or would go wrong, without the rule.
        answer: what happens instead, tick by tick.
        rules: names of the rules, verdicts and tunables that answer, as `docs/rules/playout.md` has
            them.
        score: who arrives when.
    """

    letter: str
    title: str
    point: str
    danger: str
    answer: str
    rules: tuple[str, ...]
    score: str


SCRIPTS: Final = (
    Script(
        letter="A",
        title="Jitter becomes depth",
        point="Arrivals come early, late and in clumps; the arm gets one setpoint a tick.",
        danger=(
            "An arm that follows each packet as it comes stops for every late one and lurches for "
            "every clump: the network's jitter is felt in the joints."
        ),
        answer=(
            "Five setpoints are gathered first. From then on one leaves at each tick, and what the "
            "network does shows only as a queue that is now longer, now shorter."
        ),
        rules=("prefill_gate", "pop_head"),
        score="0..5 . 6,7 8 9 . . 10-12 13,14 . 15 16 . 17,18 19-21 . . . 22 23-25 . 26..29",
    ),
    Script(
        letter="B",
        title="Two packets swap places",
        point="9 overtakes 8; 8 still lands in its slot, and the arm sees them in order.",
        danger=(
            "Apply what comes, latest wins: the arm is sent to 9, then back to 8, then on to 10. "
            "One tick backwards at full speed is a jolt in every joint that moves."
        ),
        answer=(
            "The queue is kept in sequence order, so the straggler takes the place that was left for "
            "it, two ticks before its turn."
        ),
        rules=("repaired",),
        score="0..7 . 9 8,10 11..21",
    ),
    Script(
        letter="C",
        title="A straggler misses its moment",
        point="9 turns up when 10 and 11 have been released: too late, and never sent.",
        danger=(
            "Played on arrival, the straggler would pull the arm back along a path it has already travelled."
        ),
        answer=(
            "Its slot came while it was still under way and was bridged by a synthetic. Every number "
            "at or below the newest one released is refused from then on."
        ),
        rules=("too_late", "conceal_hole"),
        score="0..8 . 10..15 16,9 17..23",
    ),
    Script(
        letter="D",
        title="A stall, then everything at once",
        point="50 ms of silence cost the arm nothing, and the burst leaves no lag behind.",
        danger=(
            "A plain queue keeps the burst: from then on the arm is three ticks further behind the "
            "hand, and after the next burst further still."
        ),
        answer=(
            "The queue pays the silence out to its last entry. The burst then lifts it over the "
            "high-water mark of seven, and the oldest are dropped down to the target. Those three "
            "were dropped by the buffer itself, so they are stepped over and not bridged (R1)."
        ),
        rules=("pop_head", "HIGH_WATER_SLACK"),
        score="0..11 .*4 12-19 20..32",
    ),
    Script(
        letter="E",
        title="Leftovers of a dead stream",
        point="0 and 1 wait for a stream that never comes; over age, they are thrown away.",
        danger=(
            "This is the runaway in small: the link dies, comes back, and the arm first plays the "
            "remains of a motion that was abandoned a quarter of a second ago."
        ),
        answer=(
            "Nothing leaves before the queue is full, and whatever has waited longer than the age "
            "cap (here 250 ms) is discarded unsent. The stream that follows starts from a clean "
            "queue."
        ),
        rules=("purge_aged", "prefill_gate"),
        score="0 1 .*27 29..39",
    ),
    Script(
        letter="F",
        title="The link dies for good",
        point="The queue is paid out, two ticks are held, then the stream is given up.",
        danger=(
            "To hold for ever is to wait for whatever turns up next, and to play it: old motion, at "
            "full speed, long after anybody meant it."
        ),
        answer=(
            "After the last entry the arm holds its place for the grace of 20 ms. Then the buffer "
            "seals itself, the node latches its emergency stop, and only a person starts it again."
        ),
        rules=("prefill_gate", "stall"),
        score="0..11 .*11",
    ),
    Script(
        letter="G",
        title="A piece of the path is gone",
        point="14 to 28 are lost; the queue now reaches across 150 ms that never came.",
        danger=(
            "The old route dies with fifteen setpoints in flight, and the new one delivers at once. "
            "To play on would take the arm across the missing piece in a single step."
        ),
        answer=(
            "Before each release the sender time across the queue is measured. More than three "
            "buffers (150 ms) means a hole, and the stream is stopped ahead of it."
        ),
        rules=("hole_ahead", "stall"),
        score="0..13 29..33",
    ),
    Script(
        letter="H",
        title="A small hole is bridged",
        point="6 and 7 are lost; two synthetics walk the straight line from 5 to 8.",
        danger=(
            "To stop an arm for 20 ms of loss would be absurd; to jump across it is a spike of speed "
            "in every joint."
        ),
        answer=(
            "One synthetic a tick, evenly spaced between the neighbours and marked as such. When the "
            "real 6 comes after all, its slot has passed and it is refused."
        ),
        rules=("conceal_hole", "too_late"),
        score="0..5 . . 8..12 13,6 14..22",
    ),
    Script(
        letter="I",
        title="A whole session",
        point="Prefill, jitter, a stall with its burst, and at last a link that stays dead.",
        danger=(
            "Each of these alone is survivable by luck. In one session they come one after the other, "
            "and the arm has to be right every time."
        ),
        answer=(
            "The lane of the arm stays even through all that can be absorbed: jitter is depth, the "
            "stall is paid out, the burst is cut down to the target. What cannot be absorbed ends in "
            "a stop, never in an improvisation."
        ),
        rules=("prefill_gate", "pop_head", "stall"),
        score="0..5 . 6,7 8 9,10 . 11 . . 12-14 15..19 .*4 20-27 28..36 .*10",
    ),
)
