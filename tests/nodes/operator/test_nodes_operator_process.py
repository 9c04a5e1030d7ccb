"""Real processes: controller, follower, `steadyhand operator`, and the two examples."""

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import steadyhand
from steadyhand.ground.builtin_motions import HOME_DEG

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


@pytest.fixture
def lab(
    controller_process: Callable[..., Any], follower_process: Callable[..., Any], processes: list[Any]
) -> "Lab":
    controller = controller_process()
    return Lab(controller, follower_process(controller), processes)


class Lab:
    """A controller and a follower that is ready, and operators beside them."""

    def __init__(self, controller: Any, follower: Any, processes: list[Any]) -> None:
        self.controller = controller
        self.follower = follower
        self._processes = processes
        self.telemetry_port = _free_port()
        self.robot_file = str(
            Path(__file__).resolve().parents[3] / "config/robots/fairino_fr3_remote_node.yaml"
        )
        self.settings = [*follower.overrides, f"remote_node.telemetry_port={self.telemetry_port}"]

    def start(self, *arguments: str) -> Any:
        process = type(self.follower).__mro__[1]("operator", arguments)
        self._processes.append(process)
        return process

    def operator(self, *options: str) -> Any:
        settings = [part for setting in self.settings for part in ("--set", setting)]
        key = ["--key", str(self.follower.key_file)]
        return self.start("-m", "steadyhand", "operator", self.robot_file, *settings, *key, *options)

    def connect(self, **options: Any) -> steadyhand.Arm:
        settings = dict(setting.split("=", 1) for setting in self.settings)
        return steadyhand.connect(self.robot_file, key=self.follower.key_file, settings=settings, **options)

    def faults(self) -> int:
        status = self.controller.console("status")
        return int(status["faults"])


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_operator_leads_a_person_s_motion_and_the_controller_has_no_fault(
    lab: Lab, tmp_path: Path
) -> None:
    account = tmp_path / "account.json"
    operator = lab.operator("--leader", "reaches", "--duration", "4", "--json", str(account))
    assert operator.wait_end(60.0) == 0, operator.told()
    told = json.loads(account.read_text(encoding="utf-8"))
    assert told["outcome"] == "finished"
    assert told["stream"]["sent"] > 400
    assert told["stream"]["settled"]
    # The new session's telemetry may be here before the answer that brings its keys.
    assert set(told["report"]["rejections"]) <= {"unknown_session"}
    assert lab.faults() == 0
    lab.follower.wait_record(lambda record: record.engage == "idle", what="idle after the motion")


def test_ctrl_c_at_the_operator_is_a_soft_stop(lab: Lab) -> None:
    operator = lab.operator("--leader", "sine", "--duration", "600")
    lab.follower.wait_record(lambda record: record.engage == "streaming" and record.released is not None)
    operator.process.send_signal(signal.SIGINT)
    assert operator.wait_end(30.0) == 130, operator.told()
    assert "operator ended: interrupted" in operator.told()
    lab.follower.wait_record(lambda record: record.engage == "idle" and record.stopped_by is None)
    assert lab.faults() == 0


def test_a_program_leads_stops_and_resets_a_real_arm(lab: Lab) -> None:
    with lab.connect() as arm:
        arm.move_to(HOME_DEG)
        assert arm.send(HOME_DEG)
        estop = arm.stop("the test")
        assert estop.acknowledged
        with pytest.raises(steadyhand.Stopped):
            arm.send(HOME_DEG)
        arm.reset("looked at it")
        arm.prepare()
        assert arm.send(HOME_DEG)
    lab.follower.wait_record(lambda record: record.engage == "idle")


def test_a_control_plane_that_dies_costs_the_session_and_the_session_comes_back_by_itself(lab: Lab) -> None:
    with lab.connect() as arm:
        arm.prepare()
        os.kill(lab.follower.card().control_plane_pid, signal.SIGKILL)
        with pytest.raises((steadyhand.Stopped, steadyhand.LinkLost, steadyhand.NotEngaged)):
            arm.stream(lambda t_s: HOME_DEG)
        assert arm._engine.until(lambda view: (view.open and view.session.opened == 2) or None, 30.0)
        arm.reset("the control plane died", timeout_s=30.0)
        arm.prepare()
        assert arm.report.engaged


def test_a_second_operator_is_refused_by_the_first_ones_name(lab: Lab) -> None:
    with lab.connect(operator="ann"):
        other = steadyhand.OperatorAddresses(
            actions=("127.0.0.1", lab.follower.udp_port), control=("127.0.0.1", lab.follower.grpc_port)
        )
        with pytest.raises(steadyhand.Refused, match="ann"):
            lab.connect(operator="bob", addresses=other)


def test_another_key_is_refused_and_said(lab: Lab, tmp_path: Path) -> None:
    key = tmp_path / "other.key"
    key.touch(0o600)
    key.write_text("ab" * 32, encoding="ascii")
    lab.follower.key_file = key
    with pytest.raises(steadyhand.Refused, match="key"):
        lab.connect()


@pytest.mark.parametrize("example", ["lead_a_motion.py", "policy_loop.py"])
def test_the_examples_run(lab: Lab, example: str) -> None:
    settings = [part for setting in lab.settings for part in ("--set", setting)]
    run = lab.start(
        str(EXAMPLES / example),
        lab.robot_file,
        "--key",
        str(lab.follower.key_file),
        "--seconds",
        "2",
        *settings,
    )
    assert run.wait_end(60.0) == 0, run.told()
    assert lab.faults() == 0
