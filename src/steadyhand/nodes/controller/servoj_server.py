"""UDP port 20007: setpoints. Nothing is answered; what became of them shows in the state feed."""

import asyncio
from typing import Any, assert_never

from steadyhand.edge.robots.fairino.servoj_udp import BadFrame, Command, Frame, decode
from steadyhand.nodes.controller.box import ControlBox


class ServojServer(asyncio.DatagramProtocol):
    """Takes datagrams from anybody, as the controller does.

    Args:
        box: whom they are for.
    """

    def __init__(self, box: ControlBox) -> None:
        self._box = box

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        """Any bytes at all; what is no command is counted."""
        for frame in decode(data):
            match frame:
                case BadFrame():
                    self._box.answers["udp_bad_frames"] += 1
                case Frame():
                    self._command(frame)
                case _:
                    assert_never(frame)

    def _command(self, frame: Frame) -> None:
        now_ns = self._box.now_ns()
        match frame.command:
            case Command.SERVO_J:
                if frame.setpoint is not None:
                    setpoint = frame.setpoint
                    self._box.servo_j(setpoint.joints_deg, setpoint.period_s, setpoint.frame_id)
            case Command.SERVO_MOVE_START:
                code = self._box.model.servo_move_start(now_ns)
                self._box.answers[f"start_{code.value}"] += 1
            case Command.SERVO_MOVE_END:
                code = self._box.model.servo_move_end(now_ns)
                self._box.answers[f"end_{code.value}"] += 1
            case _:
                assert_never(frame.command)
