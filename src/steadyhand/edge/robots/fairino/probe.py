"""The readiness probe: a stream begins when the controller has been *seen* to take setpoints.

Enabling answers 0 at once, and for about 1.4 s every setpoint is then answered 101 and forgotten. A
stream that advances meanwhile starts with a gap, and a gap is a runaway: 4.8° became 158° (document
001, experiment 2). So while settling, the probe owns the channel alone and sends the pose the arm
stands in; nobody else may write until it has seen some of *its own* setpoints come back.

How it sees them: over UDP a setpoint is not answered, but the state feed echoes the last one that was
queued (`last_servoJ_target`). Each of the probe's setpoints carries a mark, another few ten-thousandths
of a degree, so that an echo names the setpoint it belongs to and none that was there before. XML-RPC
would answer each setpoint with a code, but it blocks, and it would prove another channel than the one
used afterwards.

A pure machine: it is told the time and the newest state, and answers what to do.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from steadyhand.edge.robots.reports import Failed, MeasuredState, Ready, Waiting
from steadyhand.ground.robot_status import RobotStatus
from steadyhand.ground.stamps import NS_PER_MS, NS_PER_S, ms_from_ns

GIVE_UP_NS: Final = 5 * NS_PER_S
"""Three and a half enable windows."""
STALE_NS: Final = 100 * NS_PER_MS
"""An older state frame says nothing about where the arm stands now (R9, `state_feed`)."""
AT_REST_DEG_S: Final = 0.5
ECHOES_NEEDED: Final = 3
"""One echo may be the last before something else goes wrong; three in a row are a stream."""
RESTART_NS: Final = 200 * NS_PER_MS
"""How often the start of the stream is repeated until something was taken: inside the window it may
have been refused, and it may have been lost."""

GRID_DEG: Final = 3e-5
"""What setpoints of the probe are multiples of. Five decimals, so the wire carries them exactly; and
twice what a 32-bit float resolves at 180°, should a controller keep its setpoints in one."""

_MARKS: Final = 40
_FIRST_MARK: Final = 10
_REMEMBERED: Final = 64


class Send(msgspec.Struct, frozen=True):
    """Write this setpoint."""

    joints_deg: tuple[float, ...]


class Restart(msgspec.Struct, frozen=True):
    """Write the start of the stream again."""


ProbeStep = Send | Restart | Waiting | Ready | Failed


class AcceptanceProbe:
    """Settles one stream.

    Args:
        now_ns: when the stream was started.
        give_up_ns: how long it may take.
    """

    def __init__(self, now_ns: int, *, give_up_ns: int = GIVE_UP_NS) -> None:
        self.attempts = 0
        self._deadline_ns = now_ns + give_up_ns
        self._give_up_ns = give_up_ns
        self._restart_ns = now_ns + RESTART_NS
        self._newest: MeasuredState | None = None
        self._held_deg: tuple[float, ...] | None = None
        self._sent: OrderedDict[tuple[int, ...], tuple[float, ...]] = OrderedDict()
        """What went out and has not been echoed: the marked setpoint, and the pose it marks."""
        self._last_echo: tuple[int, ...] | None = None
        self._last_sent_deg: tuple[float, ...] = ()
        self._echoes = 0
        self._waiting_for = "the first state frame"

    def observe(self, measured: MeasuredState) -> None:
        """Take a state frame; an echo counts when it changes to one of ours.

        One that was there before does not: it may stem from an earlier probe of the same pose.
        """
        self._newest = measured
        echo = None if measured.accepted_target_deg is None else _on_grid(measured.accepted_target_deg)
        if echo is None or echo == self._last_echo:
            return
        self._last_echo = echo
        if echo not in self._sent:
            return
        # Those sent before it can no longer be echoed.
        while next(iter(self._sent)) != echo:
            self._sent.popitem(last=False)
        base_deg = self._sent.pop(echo)
        self._echoes += 1
        if self._held_deg is None:
            # Taken once, a setpoint is what the next one is judged against: no more following.
            self._held_deg = base_deg

    def step(self, now_ns: int) -> ProbeStep:
        """What to do this period. Rules in order, the first that speaks decides."""
        for rule in PROBE_LADDER:
            decided = rule(self, now_ns)
            if decided is not None:
                if isinstance(decided, Waiting):
                    self._waiting_for = decided.reason
                return decided
        return self._mark_and_send()

    # The rules.

    def _controller_refuses(self, now_ns: int) -> ProbeStep | None:
        """An e-stop, a fault or a safety stop ends the probe at once, by name."""
        newest = self._newest
        if newest is None:
            return None
        if newest.estop_pressed:
            return Failed("the e-stop button is pressed, or was since the last power cycle")
        if newest.fault_code != 0:
            return Failed(f"the controller is in fault {newest.fault_code}/{newest.fault_sub_code}")
        if newest.status is RobotStatus.SAFETY_STOP:
            return Failed("a safety stop input holds the arm")
        return None

    def _taken_often_enough(self, now_ns: int) -> ProbeStep | None:
        """Three of the probe's own setpoints were echoed: ready, from the last one sent."""
        return Ready(self._last_sent_deg) if self._echoes >= ECHOES_NEEDED else None

    def _time_is_up(self, now_ns: int) -> ProbeStep | None:
        """After five seconds it gives up and says what it was waiting for."""
        if now_ns < self._deadline_ns:
            return None
        seconds = self._give_up_ns / NS_PER_S
        return Failed(f"no setpoint was taken within {seconds:g} s; waiting for {self._waiting_for}")

    def _feed_is_fresh(self, now_ns: int) -> ProbeStep | None:
        """Without a state frame of the last 100 ms it sends nothing."""
        if self._newest is None:
            return Waiting("the first state frame")
        age_ns = now_ns - self._newest.arrival_ns
        return (
            Waiting(f"the state feed, silent for {ms_from_ns(age_ns):.0f} ms") if age_ns > STALE_NS else None
        )

    def _arm_stands(self, now_ns: int) -> ProbeStep | None:
        """A disabled or moving arm is waited for: where it will stand is not known yet."""
        newest = self._newest
        if newest is None or not newest.is_pose:
            return Waiting("a pose that is a number")
        if not newest.enabled:
            return Waiting("the drives; the arm is not enabled")
        # Negated, so that a NaN counts as moving.
        if not newest.fastest_joint_deg_s <= AT_REST_DEG_S:
            return Waiting(f"the arm to stand; it moves at {newest.fastest_joint_deg_s:.1f} °/s")
        return None

    def _repeat_the_start(self, now_ns: int) -> ProbeStep | None:
        """While nothing was taken, the start of the stream is written again every 200 ms."""
        if self._echoes or now_ns < self._restart_ns:
            return None
        self._restart_ns = now_ns + RESTART_NS
        return Restart()

    def _mark_and_send(self) -> Send:
        newest = self._newest
        if newest is None:
            raise RuntimeError("a probe does not send before it has seen the arm")
        mark = _FIRST_MARK + self.attempts % _MARKS
        self.attempts += 1
        self._waiting_for = "a setpoint to be taken"
        base = self._held_deg or newest.joints_deg
        key = tuple(_marked(joint, mark) for joint in base)
        self._sent.pop(key, None)
        self._sent[key] = base
        if len(self._sent) > _REMEMBERED:
            self._sent.popitem(last=False)
        self._last_sent_deg = tuple(units * GRID_DEG for units in key)
        return Send(self._last_sent_deg)


PROBE_LADDER: Final = (
    AcceptanceProbe._controller_refuses,
    AcceptanceProbe._taken_often_enough,
    AcceptanceProbe._time_is_up,
    AcceptanceProbe._feed_is_fresh,
    AcceptanceProbe._arm_stands,
    AcceptanceProbe._repeat_the_start,
)


def _marked(joint_deg: float, mark: int) -> int:
    """A joint in grid units, marked towards zero: away from its limits, if the arm stands at one."""
    units = round(joint_deg / GRID_DEG)
    return units - mark if units > 0 else units + mark


def _on_grid(joints_deg: tuple[float, ...]) -> tuple[int, ...] | None:
    """The multiples of the grid nearest to a setpoint; None where it is not finite."""
    try:
        return tuple(round(joint / GRID_DEG) for joint in joints_deg)
    except (ValueError, OverflowError):
        return None
