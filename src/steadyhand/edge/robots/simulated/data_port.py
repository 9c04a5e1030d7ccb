"""The data port of a simulated robot: the controller model answers at once, in virtual time."""

from collections.abc import Sequence
from typing import Final, assert_never

from steadyhand.core.controller.admission import ServoFrame
from steadyhand.core.controller.state import ControllerState, RobotMode
from steadyhand.edge.robots.data_port import DataPort
from steadyhand.edge.robots.fairino.probe import GIVE_UP_NS, AcceptanceProbe, Restart, Send
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
from steadyhand.edge.robots.simulated.robot import Cable, SimulatedRobot
from steadyhand.ground.robot_status import EMERGENCY_STOP_CODE, classify_status, demux_vacuum
from steadyhand.ground.stamps import NS_PER_MS, ms_from_ns

SILENCE_NS: Final = 500 * NS_PER_MS
"""As the real feed: silent for longer, it counts as lost."""


class SimulatedDataPort(DataPort):
    """Motion into a `SimulatedRobot`, its state out.

    Whether the controller takes a setpoint is not answered here, since over UDP it is not: it shows in
    the state, and in `report().counters` by return code.

    Args:
        robot: shared with the control port.
        period_ns: cmdT.
        n_joints: of the arm.
        vacuum_bits: outputs of a vacuum gripper, (suction, blow-off), or None.
        give_up_ns: how long the readiness probe may take.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        *,
        period_ns: int,
        n_joints: int = 6,
        vacuum_bits: tuple[int, int] | None = None,
        give_up_ns: int = GIVE_UP_NS,
    ) -> None:
        super().__init__(n_joints)
        self._robot = robot
        self._period_ns = period_ns
        self._vacuum_bits = vacuum_bits
        self._give_up_ns = give_up_ns
        self._probe: AcceptanceProbe | None = None
        self._open_since_ns: int | None = None
        self._newest_ns: int | None = None
        self._counters = {"setpoints": 0, "state_frames": 0}

    def read_fds(self) -> tuple[int, ...]:
        """None: there are no sockets."""
        return ()

    def write_fds(self) -> tuple[int, ...]:
        """None: there are no sockets."""
        return ()

    def report(self) -> DataReport:
        """Everything is granted but the field of the executing setpoint."""
        streaming = self._newest_ns is not None
        return DataReport(
            state=self.state,
            feed="streaming" if streaming else "connecting",
            granted=MeasuredState.__struct_fields__ if streaming else (),
            period_ms=ms_from_ns(self._robot.state_period_ns) if streaming else 0.0,
            counters=dict(self._counters),
        )

    def _open(self, now_ns: int) -> WriteReport:
        self._robot.take_frames(now_ns)
        self._open_since_ns, self._newest_ns = now_ns, None
        return TAKEN

    def _reopen(self, now_ns: int) -> WriteReport:
        return TAKEN if self._robot.cable is not Cable.DEAD else broken("nobody listens")

    def _shut(self) -> None:
        self._probe, self._open_since_ns, self._newest_ns = None, None, None

    def _write_start(self, now_ns: int) -> WriteReport:
        report = self._written(now_ns)
        if report is TAKEN:
            self._probe = AcceptanceProbe(now_ns, give_up_ns=self._give_up_ns)
            if self._robot.cable is Cable.PLUGGED:
                self._robot.at(now_ns).servo_move_start(now_ns)
        return report

    def _write_end(self, now_ns: int) -> WriteReport:
        self._probe = None
        if self._open_since_ns is None:
            return TAKEN
        if self._robot.cable is Cable.PLUGGED:
            self._robot.at(now_ns).servo_move_end(now_ns)
        return self._written(now_ns)

    def _write_joints(self, joints_deg: Sequence[float], now_ns: int) -> WriteReport:
        report = self._written(now_ns)
        if report is TAKEN:
            self._counters["setpoints"] += 1
            if self._robot.cable is Cable.PLUGGED:
                frame = ServoFrame(
                    joints_deg=tuple(joints_deg),
                    period_ns=self._period_ns,
                    frame_id=self._counters["setpoints"],
                )
                answer = self._robot.at(now_ns).servo_j(frame, now_ns)
                name = f"answered_{answer.value}"
                self._counters[name] = self._counters.get(name, 0) + 1
        return report

    def _written(self, now_ns: int) -> WriteReport:
        self._robot.at(now_ns)
        return broken("nobody listens") if self._robot.cable is Cable.DEAD else TAKEN

    def _settle(self, now_ns: int) -> Settling:
        if self._probe is None:
            return Failed("the stream was ended")
        step = self._probe.step(now_ns)
        match step:
            case Send():
                report = self._write_joints(step.joints_deg, now_ns)
                return Waiting("a setpoint to be taken") if report is TAKEN else Failed(report.detail)
            case Restart():
                if self._robot.cable is Cable.PLUGGED:
                    self._robot.at(now_ns).servo_move_start(now_ns)
                return Waiting("the stream to start")
            case Waiting() | Ready() | Failed():
                return step
            case _:
                assert_never(step)

    def _read(self, now_ns: int) -> list[MeasuredState]:
        frames = self._robot.take_frames(now_ns)
        states = [self._measured(state, arrival_ns) for arrival_ns, state in frames]
        for state in states:
            self._newest_ns = state.arrival_ns
            if self._probe is not None:
                self._probe.observe(state)
        if self._newest_ns is not None:
            if self._robot.cable is Cable.DEAD:
                self._lose("the controller closed the connection")
            elif now_ns - self._newest_ns >= SILENCE_NS:
                self._lose("no state frame in time")
        self._counters["state_frames"] += len(states)
        return states

    def _lose(self, reason: str) -> None:
        self._newest_ns = None
        self._lose_feed(reason)

    def _measured(self, state: ControllerState, arrival_ns: int) -> MeasuredState:
        outputs = self._robot.digital_outputs
        vacuum = None
        if self._vacuum_bits is not None:
            suction_bit, blow_off_bit = self._vacuum_bits
            vacuum = demux_vacuum(outputs, suction_bit=suction_bit, blow_off_bit=blow_off_bit)
        joints = slice(0, self.n_joints)
        return MeasuredState(
            arrival_ns=arrival_ns,
            joints_deg=state.joints_deg[joints],
            speeds_deg_s=state.joint_velocities_deg_s[joints],
            status=classify_status(
                emergency_stop_code=state.emergency_stop,
                error_code=state.main_code,
                safety_stop=False,
                enabled=state.enabled == 1,
                moving=state.motion_done == 0,
            ),
            fault_code=state.main_code,
            fault_sub_code=state.sub_code,
            estop_pressed=state.emergency_stop == EMERGENCY_STOP_CODE,
            enabled=state.enabled == 1,
            digital_outputs=outputs,
            vacuum=vacuum,
            automatic=state.robot_mode is RobotMode.AUTOMATIC,
            accepted_target_deg=state.last_servoj_target_deg[joints],
            accepted_count=state.servoj_cmd_num,
        )
