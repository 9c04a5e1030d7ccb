"""Whatever comes, in whatever order: OperatorCore never raises, and what leaves is bounded."""

import math
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.core.operator.inputs import ControlReply, Outcome
from steadyhand.core.operator.notices import ProgramFault
from steadyhand.core.operator.outputs import DatagramKind, LeadVerdict, Outbound, RequestReset
from steadyhand.core.operator.sentences import level_of, sentence_of
from steadyhand.ground.seq import is_newer
from steadyhand.ground.setpoint import Setpoint

MS = 1_000_000
HOME = (0.0, -90.0, 90.0, 0.0, 0.0, 0.0)
OUTCOMES: tuple[Outcome, ...] = ("done", "ignored", "refused", "failed")
numbers = st.floats(allow_nan=True, allow_infinity=True)
names = st.sampled_from(
    ["engage", "stop_cause", "estop_ack", "link", "playout", "kind", "target_ms", "min_ms"]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2**64 - 1) | st.floats(-1e300, 1e300) | st.text(max_size=8),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(names, children, max_size=3),
    max_leaves=6,
)
setpoints = st.builds(
    Setpoint,
    joints_deg=st.lists(numbers, max_size=8).map(tuple) | st.just(HOME),
    timestamp_s=numbers | st.just(1.0),
    leader_timestamp_s=st.none() | numbers,
    joint_velocities_deg_s=st.lists(numbers, max_size=7).map(tuple) | st.just(()),
    emergency_stop=st.sampled_from([False, False, False, False, True]),
    episode_id=st.integers(0, 2**64),
    robot_id=st.sampled_from(["", "arm", "leg"]),
    extras=st.dictionaries(st.text(max_size=3), json_values | st.just("x" * 900), max_size=2),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("good"), st.integers(0, 400)),
        st.tuples(st.just("good"), st.just(0)),
        st.tuples(st.just("lead"), setpoints),
        st.tuples(st.just("hear"), st.dictionaries(names, json_values, max_size=3)),
        st.tuples(st.just("bytes"), st.binary(max_size=60)),
        st.tuples(st.just("reply"), st.integers(0, 39)),
        st.tuples(st.just("recover"), st.just(0)),
        st.tuples(
            st.sampled_from(["prepare", "idle", "reset", "stop", "lost", "session", "closed"]),
            st.integers(7, 10),
        ),
        st.tuples(st.just("wait"), st.integers(0, 3_000)),
    ),
    min_size=25,
    max_size=50,
)
WALK = ("good",) * 30 + ("hear",) * 10 + ("wait",) * 8 + ("recover",) * 5 + ("odd",) * 7
RARE = ("prepare", "idle", "reset", "stop", "lost", "session", "closed", "reply", "bytes") + ("lead",) * 9


class Watched:
    """Checks each answer as it comes."""

    def __init__(self, desk: Any) -> None:
        self.desk = desk
        self.newest: int | None = None
        self.sessions = 100

    def see(self, outbound: Outbound, *, held: bool) -> None:
        for datagram in outbound.datagrams:
            assert len(datagram.data) <= 1232
            assert self.newest is None or is_newer(datagram.seq, self.newest)
            self.newest = datagram.seq
            assert not held or datagram.kind is DatagramKind.ESTOP
        assert not (held and outbound.actions)

    def closed(self) -> bool:
        """Whether a gate is closed to every setpoint."""
        report = self.desk.core.report(self.desk.now_ns)
        standing = report.estop is not None and report.estop.standing
        return standing or not report.engaged or report.deadman_blocking

    def done(self, outbound: Outbound) -> None:
        """The control service does what it is asked."""
        self.see(outbound, held=True)
        for request in outbound.requests:
            reply = ControlReply(request_id=request.request_id, outcome="done")
            self.see(self.desk.core.control_reply(reply, self.desk.now_ns), held=True)

    def recover(self) -> None:
        """A session, the e-stop confirmed, a reset, the stream prepared, the follower heard."""
        desk, core = self.desk, self.desk.core
        self.sessions += 1
        desk.open_session(self.sessions)
        self.done(core.emergency_stop("tested", desk.now_ns))
        self.done(core.reset_emergency("tested", desk.now_ns))
        self.done(core.prepare_stream(desk.now_ns))
        assert not core.report(desk.now_ns).estop.standing
        desk.hear()
        assert not self.closed()

    def step(self, name: str, value: Any) -> None:  # noqa: PLR0912 - one case a kind of input
        desk, core = self.desk, self.desk.core
        held = self.closed()
        match name:
            case "lead":
                output = core.lead(value, desk.now_ns)
                self.see(output.outbound, held=held)
                assert (output.verdict is LeadVerdict.SENT) <= (not held)
            case "good":
                output = desk.lead(age_ms=float(value) if value > 200 else 0.0)
                self.see(output.outbound, held=held)
                assert (output.verdict is LeadVerdict.SENT) <= (not held)
            case "hear":
                self.see(desk.hear(extras=value).outbound, held=True)
            case "bytes":
                self.see(core.telemetry(value, desk.now_ns, 0.0).outbound, held=True)
            case "reply":
                outcome = OUTCOMES[value % 4]
                reply = ControlReply(request_id=value // 4, outcome=outcome)
                self.see(core.control_reply(reply, desk.now_ns), held=True)
            case "recover":
                self.recover()
            case "prepare":
                self.see(core.prepare_stream(desk.now_ns), held=True)
            case "idle":
                self.see(core.enter_idle(desk.now_ns), held=True)
            case "reset":
                self.see(core.reset_emergency("tested", desk.now_ns), held=True)
            case "stop":
                self.see(core.emergency_stop("tested", desk.now_ns), held=True)
                assert self.closed()
            case "lost":
                core.link_lost("tested", desk.now_ns)
            case "session":
                desk.open_session(value)
            case "closed":
                core.session_closed(desk.now_ns)
            case "wait":
                desk.now_ns += value * MS
                tick = core.tick(desk.now_ns)
                assert tick.next_tick_ns > desk.now_ns
                self.see(tick.outbound, held=True)


@pytest.mark.parametrize("remote", [{}, {"auth": "none"}, {"transport": "grpc"}])
@given(steps=steps, first_seq=st.sampled_from([0, 2**32 - 3]))
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_no_input_raises_no_datagram_is_too_large_and_gates_hold(
    make_desk: Any, remote: dict[str, Any], steps: list[tuple[str, Any]], first_seq: int
) -> None:
    desk = make_desk(first_seq=first_seq, redundancy=10, **remote)
    watched = Watched(desk)
    watched.recover()
    for name, value in steps:
        watched.step(name, value)
    check_notices(desk)


@pytest.mark.parametrize("seed", range(3))
def test_a_long_walk_meets_every_gate_and_none_leaks(seed: int, make_desk: Any) -> None:
    dice = Random(seed)
    desk = make_desk(first_seq=2**32 - 100, redundancy=10)
    watched = Watched(desk)

    def pick(choices: tuple[Any, ...]) -> Any:
        return choices[int(len(choices) * dice.random())]

    for _ in range(1_500):
        name = pick(WALK)
        if name == "good":
            watched.step("good", int(230 * dice.random()))
        elif name == "hear":
            watched.step("hear", {"engage": pick(("streaming", "streaming", "stopped", "idle"))})
        elif name == "wait":
            watched.step("wait", pick((0, 10, 10, 10, 900, 1_500)))
        elif name == "recover":
            watched.step("recover", 0)
        else:
            rare, pose = pick(RARE), (HOME, (), (math.nan,) * 6)
            estop, arm = dice.random() < 0.4, pick(("arm", "leg"))
            odd = Setpoint(joints_deg=pick(pose), timestamp_s=1.0, emergency_stop=estop, robot_id=arm)
            watched.step(rare, {"lead": odd, "bytes": b"S7N1\x03"}.get(rare, int(40 * dice.random())))
    check_notices(desk)
    lead = desk.core.report(desk.now_ns).lead
    assert [name for name, times in lead.items() if times == 0] == ["fault"]
    assert lead["sent"] > 200


def check_notices(desk: Any) -> None:
    """No fault, and every notice has a level and a sentence."""
    faults = [n for n in (*desk.notices, *desk.core.take_notices()) if isinstance(n, ProgramFault)]
    assert faults == []
    assert desk.notices
    for notice in desk.notices:
        assert level_of(notice)
        assert sentence_of(notice)


FAULTY = [
    ("lead", "uplink", "setpoint"),
    ("lead", "gates", "judge"),
    ("telemetry", "downlink", "receive"),
    ("telemetry", "uplink", "on_report"),
    ("telemetry", "estop", "note_telemetry"),
    ("tick", "gates", "watch_silence"),
    ("control_reply", "control", "replied"),
    ("prepare_stream", "control", "prepare"),
]
LINK = {"engage": "streaming", "link": {"datagram_loss_pct": 1.0, "delay_growth_ms": 0.0}}


def provoke(desk: Any, where: str) -> Outbound:
    """Make the call that meets the broken part; what it answered to carry out."""
    match where:
        case "lead":
            outbound: Outbound = desk.lead().outbound
        case "telemetry":
            outbound = desk.hear(extras=LINK).outbound
        case "tick":
            outbound = desk.tick().outbound
        case "control_reply":
            outbound = desk.reply(5, "done")
        case _:
            outbound = desk.core.prepare_stream(desk.now_ns)
    return outbound


@pytest.mark.parametrize(("where", "part", "method"), FAULTY)
def test_an_exception_injected_anywhere_sends_an_estop_on_both_paths(
    where: str, part: str, method: str, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.engage()
    desk.lead()

    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(type(getattr(desk.core, part)), method, broken)
    outbound = provoke(desk, where)
    monkeypatch.undo()
    assert [datagram.kind for datagram in outbound.datagrams] == [DatagramKind.ESTOP]
    assert len(outbound.requests) == 1
    assert any("injected" in fault.traceback for fault in desk.told(ProgramFault))
    assert desk.lead().verdict is LeadVerdict.ESTOP_STANDING
    assert where in desk.core.report(desk.now_ns).estop.reason
    assert len(desk.wait(20)[0].datagrams) == 1


@pytest.mark.parametrize(
    ("part", "method"), [("uplink", "estop"), ("gates", "disengage"), ("estop", "press")]
)
def test_where_pressing_itself_fails_control_alone_is_asked_and_nothing_else_leaves(
    part: str, method: str, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.engage()

    def broken(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("injected")

    monkeypatch.setattr(type(getattr(desk.core, part)), method, broken)
    outbound = desk.core.emergency_stop("the button", desk.now_ns)
    assert outbound.datagrams == ()
    assert len(outbound.requests) == 1
    monkeypatch.undo()
    assert desk.lead().verdict in (LeadVerdict.ESTOP_STANDING, LeadVerdict.NOT_ENGAGED)
    assert not isinstance(outbound.requests[0], RequestReset)


def test_notices_nobody_takes_are_bounded_and_counted(desk: Any) -> None:
    for _ in range(1_100):
        desk.core.emergency_stop("tested", desk.now_ns)
        desk.core.prepare_stream(desk.now_ns)
    assert len(desk.core.take_notices()) == 1024
    assert desk.core.report(desk.now_ns).notices_dropped > 70
