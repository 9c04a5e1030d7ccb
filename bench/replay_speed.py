"""How much faster than real time a recorded run is executed again, and where the time goes (R17).

A minute of an FR3 led at 100 Hz: sealed datagrams with two copies each over exponential delays, a state
frame and a tick a period, each frame's write, the events taken every tick, a report ten times a second.
The run is re-executed on one core from its inbox as values, then as a log has it: every input decoded
from its bytes, every answer encoded to be compared. Then what a snapshot costs while that stream plays.
"""

import time
from collections.abc import Callable
from random import Random
from statistics import median
from typing import Any

import msgspec

from bench.harness import Table, interleaved, spread
from bench.shaper_cost import WHOLE
from steadyhand.core.follower import FollowerCore, FollowerSettings
from steadyhand.core.follower.inbox import (
    ControlIn,
    EventsIn,
    Inbox,
    MeasuredIn,
    ReportIn,
    SessionIn,
    TickIn,
    WriteIn,
    datagram_in,
)
from steadyhand.core.follower.inputs import PrepareStream, ProbeReady
from steadyhand.core.follower.outputs import SendJoints
from steadyhand.core.follower.reexecution import canonical, execute, reexecute
from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.ground.builtin_motions import builtin_motion
from steadyhand.ground.config import CommunicationConfig, RobotConfig, RobotIdentity
from steadyhand.ground.measured_arm import MeasuredArm
from steadyhand.ground.setpoint import Setpoint
from steadyhand.wire.action_frame import encode_sealed
from steadyhand.wire.action_payload import encode_action
from steadyhand.wire.bundle import Entry
from steadyhand.wire.sealing import Sealer

PERIOD_NS = 10_000_000
SECONDS = 60
LAG_TICKS = 8
REPETITIONS = 7
SNAPSHOTS = 50
WALL_S = 1_700_000_000.0
KEY = bytes(range(32))
ROBOT = RobotConfig(
    robot=RobotIdentity(id="arm", type="fairino", model="fr3"),
    communication=CommunicationConfig(publish_rate_hz=100.0, playout_buffer_ms=200.0),
    safety=WHOLE,
)
SETTINGS = FollowerSettings.from_config(ROBOT)
POSES = tuple(builtin_motion("reaches", Random(1)).resample(100.0, SECONDS - 0.01))


class Run:
    """A follower that is led, and the inbox of it."""

    def __init__(self) -> None:
        self.core = FollowerCore(SETTINGS)
        self.inbox: list[Inbox] = []
        self.now_ns = 1_000_000_000
        self.wire = [POSES[0]] * (LAG_TICKS + 2)

    def begin(self) -> None:
        """A session, a measured pose, engaged."""
        now_ns = self.now_ns
        self.core.open_session(session_id=7, command_key=KEY, operator="ann", now_ns=now_ns)
        self.inbox.append(SessionIn(now_ns=now_ns, session_id=7, operator="ann"))
        self.observe()
        for command in (PrepareStream(), ProbeReady()):
            self.core.control(command, now_ns)
            self.inbox.append(ControlIn(now_ns=now_ns, command=command))

    def observe(self) -> None:
        """The arm is where it was sent to some ticks ago."""
        then, pose = self.wire[-LAG_TICKS - 1 : -LAG_TICKS + 1]
        speeds = tuple((now - before) * 100.0 for now, before in zip(pose, then, strict=True))
        measured = MeasuredArm(arrival_ns=self.now_ns, joints_deg=pose, speeds_deg_s=speeds)
        self.core.observe(measured)
        self.inbox.append(MeasuredIn(measured=measured))

    def receive(self, datagram: bytes, now_ns: int) -> None:
        wall_s = WALL_S + now_ns / 1e9
        self.core.receive(datagram, now_ns, wall_s)
        unsealed = self.core.ingress.last_unsealed
        self.inbox.append(datagram_in(datagram, unsealed, now_ns=now_ns, wall_s=wall_s))

    def tick(self, number: int) -> None:
        """State frame, tick, write, events; a report at every tenth."""
        core, now_ns = self.core, self.now_ns
        self.observe()
        commands = core.tick(now_ns).commands
        self.inbox.append(TickIn(now_ns=now_ns))
        sent = [command for command in commands if isinstance(command, SendJoints)]
        self.wire = [*self.wire[-LAG_TICKS - 2 :], sent[0].joints_deg if sent else self.wire[-1]]
        if sent:
            core.note_write(WriteOutcome.TAKEN, now_ns)
            self.inbox.append(WriteIn(now_ns=now_ns, outcome=WriteOutcome.TAKEN))
        core.take_events()
        self.inbox.append(EventsIn(now_ns=now_ns))
        if number % 10 == 0:
            wall_s = WALL_S + now_ns / 1e9
            core.report(now_ns, wall_s)
            self.inbox.append(ReportIn(now_ns=now_ns, wall_s=wall_s))


def arrivals() -> list[tuple[int, bytes]]:
    """(arrival_ns, datagram), in the order of arrival."""
    sealer, dice = Sealer(session_id=7, key=KEY), Random(3)
    entries: list[Entry] = []
    arriving = []
    for number, pose in enumerate(POSES):
        sent_ns = 1_000_000_000 + number * PERIOD_NS
        setpoint = Setpoint(joints_deg=pose, timestamp_s=sent_ns / 1e9, robot_id="arm")
        entries = [Entry(number, encode_action(setpoint)), *entries[:2]]
        datagram = encode_sealed(robot_id="arm", entries=entries, sealer=sealer)
        if dice.random() > 0.01:
            arriving.append((sent_ns + 5_000_000 + round(dice.expovariate(1 / 4e6)), datagram))
    return sorted(arriving)


def recorded() -> Run:
    """The run, its follower still playing at the end."""
    run = Run()
    run.begin()
    waiting = arrivals()[::-1]
    for number in range(len(POSES) - 30):
        run.now_ns += PERIOD_NS
        while waiting and waiting[-1][0] <= run.now_ns:
            arrival_ns, datagram = waiting.pop()
            run.receive(datagram, arrival_ns)
        run.tick(number)
    if run.core.state.value != "streaming":
        raise RuntimeError(f"the bench's stream did not play: {run.core.cause}")
    return run


def run() -> Table:
    """Times real time, µs a period by kind of input, and the snapshot."""
    recorded_run = recorded()
    inbox = recorded_run.inbox
    lasted_s = (recorded_run.now_ns - 1_000_000_000) / 1e9
    periods = round(lasted_s * 100)
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(Inbox).decode
    payloads = [encode(given) for given in inbox]
    answers = [canonical(one) for one in reexecute(SETTINGS, inbox)]

    def alone() -> int:
        for _ in reexecute(SETTINGS, inbox):
            pass
        return periods

    def verified() -> int:
        again = map(canonical, reexecute(SETTINGS, map(decode, payloads)))
        if any(one != told for one, told in zip(again, answers, strict=True)):
            raise RuntimeError("the run did not answer the same")
        return periods

    costs = interleaved({"alone": alone, "verified": verified}, REPETITIONS)
    figures: dict[str, Any] = {f"{name}_us": median(values) for name, values in costs.items()}
    figures |= {f"{name}_times_real_time": 10_000.0 / median(values) for name, values in costs.items()}
    figures["parts_us"] = parts(inbox, periods)
    figures["snapshot"] = snapshot_cost(recorded_run.core)
    return Table(
        name="replay_speed",
        title=f"Re-executing {lasted_s:.0f} s of a 100 Hz run: µs a period, and times real time",
        columns=["what", "µs a period", "times real time"],
        rows=_rows(costs, figures),
        figures=figures,
    )


def parts(inbox: list[Inbox], periods: int) -> dict[str, float]:
    """µs a period by kind of input; a clock is read around each, whose own cost is taken off."""
    clock = time.perf_counter_ns
    empty = min(_between(clock) for _ in range(1_000))
    core = FollowerCore(SETTINGS)
    booked: dict[str, int] = {}
    for given in inbox:
        name, begun = type(given).__name__, clock()
        answer = execute(core, given)
        executed = clock()
        canonical(answer)
        booked[name] = booked.get(name, 0) + executed - begun - empty
        booked["encoding answers"] = booked.get("encoding answers", 0) + clock() - executed - empty
    return {name: spent / 1e3 / periods for name, spent in booked.items()}


def _between(clock: Callable[[], int]) -> int:
    begun = clock()
    return clock() - begun


def snapshot_cost(core: FollowerCore) -> dict[str, float]:
    """What the data plane pays every ten seconds, and whoever begins there."""
    snapshot = core.snapshot()
    taking = interleaved({"take": lambda: len([core.snapshot()])}, SNAPSHOTS)["take"]
    restoring = interleaved({"restore": lambda: len([FollowerCore.restore(SETTINGS, snapshot)])}, SNAPSHOTS)[
        "restore"
    ]
    return {"bytes": len(snapshot), "take_us": median(taking), "restore_us": median(restoring)}


def _rows(costs: dict[str, list[float]], figures: dict[str, Any]) -> list[list[str]]:
    rows = []
    for name, what in (("alone", "re-execution alone"), ("verified", "decoded, re-executed, compared")):
        times = [10_000.0 / spent for spent in costs[name]]
        rows.append(
            [what, spread(costs[name]), f"{median(times):.0f} ({min(times):.0f} to {max(times):.0f})"]
        )
    rows += [[f"  {name}", f"{spent:.1f}", ""] for name, spent in figures["parts_us"].items()]
    snapshot = figures["snapshot"]
    rows.append([f"a snapshot of {snapshot['bytes']} bytes, taken", f"{snapshot['take_us']:.0f}", ""])
    rows.append(["the same, restored", f"{snapshot['restore_us']:.0f}", ""])
    return rows
