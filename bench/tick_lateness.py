"""How late the data plane's ticks are, in turns with `cyclictest` (Debian package rt-tests), under load.

Load: a second process keeps one core busy, and 20,000 garbage datagrams a second arrive at the action
port. Contenders, one after the other, again and again:

* **data plane**: of a real `steadyhand follower`, behind a simulated controller and led by a real
  operator; the lateness is what its tick records say;
* **cyclictest**: the kernel's own yardstick, in C, asking for the same (SCHED_FIFO 80, locked memory,
  shallow idle). It reads no datagrams and does no work: it sleeps and looks at the clock;
* **plain**: the loop one writes first, `time.sleep` in a process that asked for nothing; a tenth of the
  samples.

60,000 samples each at 100 Hz and at 500 Hz, in turns of a minute: ten at 100 Hz, two at 500 Hz; half an
hour in all. `--tick-samples 6000` is a tenth of that, in turns of six seconds. In the same turns the
heartbeats of data plane, control plane and launcher are judged a hundred times a second by the judges'
own rule: a process that runs and is found dead is a false trip (R14).

Virtual machines stall by themselves, so the figures are reported and never judged.
"""

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from bench.harness import Table
from bench.led_follower import (
    HeartWatch,
    LedFollower,
    lateness_ns,
    led_follower,
    lost_slots,
    missing_records,
    process_losses,
)
from bench.load import loaded
from steadyhand.edge.heartbeat_board import PERIODS_TO_DEATH
from steadyhand.edge.pacer import SnapGrid
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, NS_PER_US
from steadyhand.nodes.follower.process_settings import BOARD_PERIODS_NS, PROCESS_NAMES

RATES_HZ = (100, 500)
SAMPLES = 60_000
FEWEST_SAMPLES = 100
TURN_S = 60.0
SHORTEST_TURN_S = 6.0
PLAIN_SHARE = 0.1
PRIORITY = 80
HISTOGRAM_US = 200_000
DEADLINE_S = 60.0


class Counted(msgspec.Struct, kw_only=True):
    """One contender over all its turns.

    Attributes:
        late_us: of every tick.
        lost: slots without a tick; None where the contender does not say.
        led_ticks: of the ticks, those in which the arm was streaming.
        read: datagrams it took off its socket.
        unread: ticks whose record was overwritten before it was read.
        stops: by a process that was taken for dead.
        note: why there are no samples.
    """

    late_us: list[float] = msgspec.field(default_factory=list)
    lost: int | None = None
    led_ticks: int = 0
    read: int = 0
    unread: int = 0
    stops: int = 0
    note: str = ""

    def figures(self) -> dict[str, Any]:
        """Quantiles in µs, and the counts."""
        import numpy as np  # here, so that the contenders' processes stay lean

        shares = [0.5, 0.99, 0.999, 1.0]
        p50, p99, p99_9, most = np.quantile(self.late_us, shares, method="higher").tolist()
        told: dict[str, Any] = {"p50": p50, "p99": p99, "p99_9": p99_9, "max": most}
        return told | {"samples": len(self.late_us), "lost": self.lost}


def run(samples: int = SAMPLES) -> tuple[Table, Table]:
    """Lateness in µs, a row a rate and contender; then the heartbeats in the same turns."""
    hearts = {rate_hz: HeartWatch() for rate_hz in RATES_HZ}
    found = {rate_hz: one_rate(rate_hz, samples, hearts[rate_hz]) for rate_hz in RATES_HZ}
    return lateness_table(found, samples), heartbeat_table(found, hearts)


def turns_s(rate_hz: int, samples: int) -> list[float]:
    """The turns that give `samples` at `rate_hz`: of a minute for all of SAMPLES, shorter for fewer."""
    seconds = samples / rate_hz
    count = max(1, round(seconds / min(TURN_S, max(SHORTEST_TURN_S, TURN_S * samples / SAMPLES))))
    return [seconds / count] * count


def one_rate(rate_hz: int, samples: int, hearts: HeartWatch) -> dict[str, Counted]:
    """All turns of all contenders at one rate."""
    found = {name: Counted() for name in ("data plane", "cyclictest", "plain")}
    for turn_s in turns_s(rate_hz, samples):
        data_plane_turn(rate_hz, turn_s, found["data plane"], hearts)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as inbox:
            # Nobody reads it: its buffer is full and the kernel drops, which is the same flood.
            inbox.bind(("127.0.0.1", 0))
            with loaded(inbox.getsockname()[1], turn_s * (1.0 + PLAIN_SHARE) + DEADLINE_S):
                cyclictest_turn(rate_hz, turn_s, found["cyclictest"])
                plain_turn(rate_hz, turn_s * PLAIN_SHARE, found["plain"])
    return found


# ---- the contenders


def data_plane_turn(rate_hz: int, turn_s: float, kept: Counted, hearts: HeartWatch) -> LedFollower:
    """One turn of a follower that is led, its action port flooded."""
    with led_follower(rate_hz) as running:
        running.lead()
        hearts.forget_state()
        with loaded(running.follower.udp_port, turn_s + DEADLINE_S):
            ticks = running.watch(turn_s, hearts)
    kept.late_us += [late_ns / NS_PER_US for late_ns in lateness_ns(ticks)]
    kept.lost = (kept.lost or 0) + lost_slots(ticks, NS_PER_S // rate_hz)
    kept.led_ticks += sum(1 for tick in ticks if tick.engage == "streaming")
    kept.read += sum(tick.arrived for tick in ticks)
    kept.unread += missing_records(ticks)
    kept.stops += process_losses(ticks)
    return running


def cyclictest_turn(rate_hz: int, turn_s: float, kept: Counted) -> None:
    """cyclictest's histogram as samples of whole µs, or the reason why there are none."""
    program = shutil.which("cyclictest")
    if program is None:
        kept.note = "skipped: not installed (Debian: rt-tests)"
        return
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        options = ["-q", "-m", "-t1", f"-p{PRIORITY}", f"-i{1_000_000 // rate_hz}", f"-h{HISTOGRAM_US}"]
        command = [program, *options, f"-l{round(rate_hz * turn_s)}", f"--json={out}"]
        done = subprocess.run(command, capture_output=True, timeout=turn_s + DEADLINE_S, check=False)
        if done.returncode != 0 or not out.exists():
            words = done.stderr.decode(errors="replace").strip().splitlines()
            kept.note = f"skipped: {words[-1] if words else done.returncode}"
            return
        kept.late_us += histogram_us(json.loads(out.read_text(encoding="utf-8")))


def histogram_us(told: dict[str, Any]) -> list[float]:
    """Every sample of cyclictest's one thread; those beyond the histogram are as late as its maximum."""
    thread = told["thread"]["0"]
    late_us = [float(us) for us, count in thread["histogram"].items() for _ in range(count)]
    beyond = int(thread.get("cycles", len(late_us))) - len(late_us)
    return late_us + [float(thread["max"])] * max(0, beyond)


def plain_turn(rate_hz: int, turn_s: float, kept: Counted) -> None:
    """An absolute grid and `time.sleep`, nothing asked for, in a process of its own."""
    command = [sys.executable, "-m", "bench.tick_lateness", str(rate_hz), str(turn_s)]
    done = subprocess.run(command, capture_output=True, timeout=turn_s + DEADLINE_S, check=True)
    said = json.loads(done.stdout)
    kept.late_us += said["late_us"]
    kept.lost = (kept.lost or 0) + said["lost"]


def tick_plainly(rate_hz: int, seconds: float) -> dict[str, Any]:
    """What the process of the plain contender does."""
    period_ns = NS_PER_S // rate_hz
    ticks = max(1, round(rate_hz * seconds))
    late_us = [0.0] * ticks
    grid = SnapGrid(period_ns=period_ns, first_ns=time.monotonic_ns() + period_ns)
    for tick in range(ticks):
        time.sleep(max(0, grid.due_ns - time.monotonic_ns()) / NS_PER_S)
        now_ns = time.monotonic_ns()
        late_us[tick] = (now_ns - grid.due_ns) / NS_PER_US
        grid.advance(now_ns)
    return {"late_us": late_us, "lost": grid.lost_slots}


# ---- the tables


def lateness_table(found: dict[int, dict[str, Counted]], samples: int) -> Table:
    """A row a rate and contender."""
    rows: list[list[str]] = []
    figures: dict[str, Any] = {"samples": samples}
    for rate_hz, contenders in found.items():
        for name, counted in contenders.items():
            label = f"{rate_hz} Hz, {name}"
            if not counted.late_us:
                rows.append([label, counted.note, *[""] * 7])
                continue
            told = counted.figures()
            shown = [f"{told[key]:,.1f}" for key in ("p50", "p99", "p99_9", "max")]
            lost = "" if counted.lost is None else str(counted.lost)
            led, read = "", ""
            if name == "data plane":
                seconds = len(counted.late_us) / rate_hz
                told |= {"led_share": counted.led_ticks / len(counted.late_us), "unread": counted.unread}
                told |= {"garbage_per_s": counted.read / seconds}
                led, read = f"{100.0 * told['led_share']:.1f} %", f"{told['garbage_per_s']:,.0f}"
            rows.append([label, *shown, str(told["samples"]), lost, led, read])
            figures[f"{name.replace(' ', '_')}_{rate_hz}_hz"] = told
    return Table(
        name="tick_lateness",
        title="µs late, one core kept busy, 20,000 garbage datagrams a second",
        columns=["contender", "p50", "p99", "p99.9", "max", "samples", "lost", "led", "read/s"],
        rows=rows,
        figures=figures,
    )


def heartbeat_table(found: dict[int, dict[str, Counted]], hearts: dict[int, HeartWatch]) -> Table:
    """A row a rate and process: judgements, false deaths, longest silence."""
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}
    for rate_hz, watch in hearts.items():
        for line, name in enumerate(PROCESS_NAMES):
            longest_ms = watch.longest_ns[line] / NS_PER_MS
            dead_ms = PERIODS_TO_DEATH * BOARD_PERIODS_NS[line] / NS_PER_MS
            counts = (watch.judgements[line], watch.deaths[line])
            rows.append([f"{rate_hz} Hz, {name}", *map(str, counts), f"{longest_ms:.1f}", f"{dead_ms:.0f}"])
            figures[f"{name.replace(' ', '_')}_{rate_hz}_hz"] = {
                "judgements": counts[0],
                "false_deaths": counts[1],
                "longest_ms": longest_ms,
            }
        stops = found[rate_hz]["data plane"].stops
        rows.append([f"{rate_hz} Hz, arm stopped by that", "", str(stops), "", ""])
        figures[f"stops_{rate_hz}_hz"] = stops
    return Table(
        name="heartbeats",
        title="Heartbeats under the same load: every death is a false one",
        columns=["process", "judgements", "deaths", "longest silence, ms", "dead after, ms"],
        rows=rows,
        figures=figures,
    )


if __name__ == "__main__":
    print(json.dumps(tick_plainly(int(sys.argv[1]), float(sys.argv[2]))))
