"""FAIRINO's data port: setpoints by UDP, the state by CNDE, nothing waited for."""

from collections.abc import Sequence
from typing import Final, assert_never

from steadyhand.core.safety.writes import WriteOutcome
from steadyhand.edge.robots.data_port import DataPort
from steadyhand.edge.robots.fairino import servoj_udp
from steadyhand.edge.robots.fairino.cnde_fields import PERIOD_MS, Layout
from steadyhand.edge.robots.fairino.ports import VENDOR_PORTS, FairinoPorts, require_address
from steadyhand.edge.robots.fairino.probe import GIVE_UP_NS, AcceptanceProbe, Restart, Send
from steadyhand.edge.robots.fairino.servoj_channel import ServojChannel
from steadyhand.edge.robots.fairino.state import StateMapper
from steadyhand.edge.robots.fairino.state_feed import FeedTimes, StateFeed
from steadyhand.edge.robots.reports import (
    TAKEN,
    DataReport,
    Failed,
    MeasuredState,
    Ready,
    Settling,
    Waiting,
    WriteReport,
    broken,
)
from steadyhand.ground.errors import ConfigError
from steadyhand.ground.stamps import s_from_ns

MAX_JOINTS: Final = 6


class FairinoDataPort(DataPort):
    """One controller's data plane.

    Args:
        address: IPv4 literal of the controller.
        period_ns: cmdT, written into every frame: the nominal period, whatever the wire's (R2).
        n_joints: up to six.
        vacuum_bits: outputs of a vacuum gripper, (suction, blow-off), or None.
        ports: the vendor's, unless a test says otherwise.
        state_period_ms: of the state feed.
        feed_times: deadlines of the state feed's connection.
        give_up_ns: how long the readiness probe may take.

    Raises:
        InputError: the address is a name.
        ConfigError: more joints than the protocol has room for.
    """

    def __init__(
        self,
        address: str,
        *,
        period_ns: int,
        n_joints: int = MAX_JOINTS,
        vacuum_bits: tuple[int, int] | None = None,
        ports: FairinoPorts = VENDOR_PORTS,
        state_period_ms: int = PERIOD_MS,
        feed_times: FeedTimes | None = None,
        give_up_ns: int = GIVE_UP_NS,
    ) -> None:
        super().__init__(n_joints)
        if not 1 <= n_joints <= MAX_JOINTS:
            raise ConfigError(f"{n_joints} joints; a FAIRINO arm has at most six", where="robot.n_joints")
        self._address = require_address(address)
        self._ports = ports
        self._period_s = s_from_ns(period_ns)
        self._vacuum_bits = vacuum_bits
        self._give_up_ns = give_up_ns
        self._feed = StateFeed(self._address, ports.state, period_ms=state_period_ms, times=feed_times)
        self._channel: ServojChannel | None = None
        self._mapper: StateMapper | None = None
        self._mapped_layout: Layout | None = None
        self._probe: AcceptanceProbe | None = None
        self._counters = dict.fromkeys(("setpoints", "state_frames", "lost_writes", "probe_attempts"), 0)
        self._newest_accepted: int | None = None

    def read_fds(self) -> tuple[int, ...]:
        """State feed and replies."""
        own = () if self._channel is None else (self._channel.fileno(),)
        return own + self._feed.read_fds()

    def write_fds(self) -> tuple[int, ...]:
        """The state feed, while it connects."""
        return self._feed.write_fds()

    def report(self) -> DataReport:
        """What was granted and counted."""
        layout = self._feed.layout
        granted = layout.names if layout is not None else ()
        missing = tuple(name for name in self._feed.wanted if name not in granted) if granted else ()
        mapper, channel = self._mapper, self._channel
        return DataReport(
            state=self.state,
            feed=self._feed.detail,
            granted=granted,
            missing=missing,
            period_ms=float(self._feed.period_ms) if granted else 0.0,
            counters={
                **self._counters,
                "datagrams": channel.sent if channel is not None else 0,
                "replies": channel.replies if channel is not None else 0,
                "accepted": self._newest_accepted or 0,
                "feed_connections": self._feed.connections,
                "feed_garbage_bytes": self._feed.garbage_bytes,
                "feed_malformed_frames": self._feed.malformed,
                "blank_frames": mapper.blank_frames if mapper is not None else 0,
                "non_finite_frames": mapper.non_finite_frames if mapper is not None else 0,
            },
        )

    # Opening and closing.

    def _open(self, now_ns: int) -> WriteReport:
        report = self._open_channel()
        if report.outcome is WriteOutcome.TAKEN:
            self._feed.open(now_ns)
        return report

    def _reopen(self, now_ns: int) -> WriteReport:
        """The feed mends itself; only the channel may be what broke."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        report = self._open_channel()
        if report.outcome is WriteOutcome.TAKEN and not self._feed.is_open:
            self._feed.open(now_ns)
        return report

    def _open_channel(self) -> WriteReport:
        try:
            self._channel = ServojChannel(self._address, self._ports.servoj)
        except OSError as error:
            return broken(f"no setpoint socket: {error.strerror}")
        return TAKEN

    def _shut(self) -> None:
        if self._channel is not None:
            self._channel.close()
        self._channel, self._probe, self._mapper, self._mapped_layout = None, None, None, None
        self._feed.close()

    # Writing.

    def _write_start(self, now_ns: int) -> WriteReport:
        if self._channel is not None:
            # A refusal of long ago says nothing about now.
            self._channel.drain()
            self._channel.unreachable = False
        report = self._write_command(servoj_udp.encode_start)
        if report.outcome is WriteOutcome.TAKEN:
            self._probe = AcceptanceProbe(now_ns, give_up_ns=self._give_up_ns)
        return report

    def _write_end(self, now_ns: int) -> WriteReport:
        self._probe = None
        if self._channel is None:
            return TAKEN
        self._channel.unreachable = False
        return self._write_command(servoj_udp.encode_end)

    def _write_joints(self, joints_deg: Sequence[float], now_ns: int) -> WriteReport:
        channel = self._channel
        if channel is None:
            return broken("the setpoint socket is closed")
        frame = servoj_udp.encode_servo_j(
            channel.count, joints_deg, period_s=self._period_s, frame_id=channel.count
        )
        report = channel.write(frame)
        self._counters["setpoints" if report.outcome is WriteOutcome.TAKEN else "lost_writes"] += 1
        return report

    def _write_command(self, encode: servoj_udp.Encoder) -> WriteReport:
        channel = self._channel
        return (
            broken("the setpoint socket is closed")
            if channel is None
            else channel.write(encode(channel.count))
        )

    # Settling.

    def _settle(self, now_ns: int) -> Settling:
        probe, channel = self._probe, self._channel
        if probe is None or channel is None:
            return Failed("the stream was ended")
        step = probe.step(now_ns)
        match step:
            case Send():
                return self._probed(self._write_joints(step.joints_deg, now_ns), "a setpoint to be taken")
            case Restart():
                return self._probed(self._write_command(servoj_udp.encode_start), "the stream to start")
            case Waiting() | Ready() | Failed():
                return step
            case _:
                assert_never(step)

    def _probed(self, report: WriteReport, awaited: str) -> Settling:
        """A frame of the probe that was lost is followed by another; a channel that is gone is not."""
        self._counters["probe_attempts"] += 1
        if report.outcome is WriteOutcome.FATAL:
            return Failed(report.detail)
        return Waiting(awaited)

    # Reading.

    def _read(self, now_ns: int) -> list[MeasuredState]:
        if self._channel is not None:
            self._channel.drain()
        payloads = self._feed.poll(now_ns)
        loss = self._feed.take_loss()
        if loss is not None:
            # Whatever was read before it is no pose to start a stream on.
            self._lose_feed(loss)
            self._mapped_layout = None
            return []
        measured = (self._measured(payload, now_ns) for payload in payloads)
        states = [state for state in measured if state is not None]
        self._counters["state_frames"] += len(states)
        return states

    def _measured(self, payload: bytes, now_ns: int) -> MeasuredState | None:
        mapper = self._mapper_for(self._feed.layout, now_ns)
        state = None if mapper is None else mapper.read(payload, now_ns)
        if state is not None:
            if self._probe is not None:
                self._probe.observe(state)
            if state.accepted_count is not None:
                self._newest_accepted = state.accepted_count
        return state

    def _mapper_for(self, layout: Layout | None, now_ns: int) -> StateMapper | None:
        """The mapper of the layout in force; a layout that cannot describe the arm ends the connection."""
        if layout is None:
            return None
        if layout is not self._mapped_layout:
            try:
                self._mapper = StateMapper(layout, self.n_joints, self._vacuum_bits)
            except ValueError as error:
                self._feed.refuse(str(error), now_ns)
                return None
            self._mapped_layout = layout
        return self._mapper
