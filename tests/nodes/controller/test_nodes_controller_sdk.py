"""The vendor's own Python SDK, unmodified, against `steadyhand controller`.

It is not part of this project: STEADYHAND_FAIRINO_SDK names a checkout of
FAIR-INNOVATION/fairino-python-sdk, or its `linux/fairino/Robot.py`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SDK = os.environ.get("STEADYHAND_FAIRINO_SDK", "")
ADDRESS = f"127.4.{os.getpid() % 250 + 1}.1"
SERVE = "import sys; from steadyhand.cli.controller import controller; controller(address=sys.argv[1])"

pytestmark = pytest.mark.skipif(
    not SDK, reason="STEADYHAND_FAIRINO_SDK is not set; the vendor's SDK is not part of this project"
)

USE = """
import json, os, sys, time
sys.path.insert(0, sys.argv[1])
import Robot
robot = Robot.RPC(sys.argv[2])
said = {"connected": Robot.RPC.is_connect, "mode": robot.Mode(0)}
pose = robot.GetActualJointPosDegree()[1]
external = [0.0] * 4
said["before_enable"] = robot.ServoJ(pose, external, cmdT=0.008)
said["enable"] = robot.RobotEnable(1)
said["start"] = robot.ServoMoveStart()
deadline = time.monotonic() + 5.0
said["window"] = []
while time.monotonic() < deadline:
    code = robot.ServoJ(pose, external, cmdT=0.008)
    if code not in said["window"]:
        said["window"].append(code)
    if code == 0:
        break
    time.sleep(0.008)
said["xmlrpc"] = {}
due = time.monotonic()
for cmd_type, key in ((0, "xmlrpc"), (1, "udp")):
    said[key] = {}
    for _ in range(200):
        pose[0] += 0.05
        code = robot.ServoJ(pose, external, cmdT=0.008, cmdType=cmd_type)
        said[key][code] = said[key].get(code, 0) + 1
        due += 0.008
        time.sleep(max(due - time.monotonic(), 0.0))
# Until the arm stands: then call and feed tell the same pose.
deadline = time.monotonic() + 5.0
while time.monotonic() < deadline:
    time.sleep(0.02)
    said["by_call"] = robot.GetActualJointPosDegree()
    said["by_feed"] = list(robot.robot_state_pkg.jt_cur_pos)
    if said["by_call"][1] == said["by_feed"] and not any(robot.robot_state_pkg.actual_qd):
        break
said["target"] = pose
said["tool"] = robot.GetActualTCPPose()
said["tool_by_feed"] = list(robot.robot_state_pkg.tl_cur_pos)
said["codes"] = robot.GetRobotErrorCode()
said["estop"] = robot.GetRobotEmergencyStopState()
said["end"] = robot.ServoMoveEnd(1)
said["stop"] = robot.StopMotion()
said["reset"] = robot.ResetAllError()
said["unknown"] = ""
try:
    robot.GetDHCompensation()
except Exception as error:
    said["unknown"] = str(error)
with open(sys.argv[3], "w") as out:
    json.dump(said, out)
out.close()
robot.CloseRPC()
os._exit(0)
"""


def folder_of_sdk() -> Path:
    """Where Robot.py lies."""
    given = Path(SDK)
    for candidate in (given, given / "Robot.py", given / "linux" / "fairino" / "Robot.py"):
        if candidate.is_file():
            return candidate.resolve().parent
    pytest.fail(f"STEADYHAND_FAIRINO_SDK={SDK} leads to no Robot.py")


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the SDK got out of the controller, one run for all tests."""
    folder = tmp_path_factory.mktemp("sdk")
    server = subprocess.Popen(
        [sys.executable, "-c", SERVE, ADDRESS], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("controller ready")
        arguments = [sys.executable, "-c", USE, str(folder_of_sdk()), ADDRESS, str(folder / "said.json")]
        # In a folder of its own: the SDK writes logs where it stands, and prints a great deal.
        run = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=30.0, check=False)
        assert (folder / "said.json").exists(), run.stdout[-2000:] + run.stderr[-2000:]
        yield json.loads((folder / "said.json").read_text())
    finally:
        server.terminate()
        assert server.wait(10.0) == 0
        if server.stdout is not None:
            server.stdout.close()


def test_it_connects_over_both_ports(said: dict[str, Any]) -> None:
    assert said["connected"] is True
    assert said["mode"] == said["enable"] == said["start"] == 0


def test_setpoints_are_101_before_enabling_and_inside_the_window(said: dict[str, Any]) -> None:
    assert said["before_enable"] == 101
    assert said["window"] == [101, 0]


def test_200_setpoints_by_call_and_200_by_datagram_lead_the_arm(said: dict[str, Any]) -> None:
    assert said["xmlrpc"] == {"0": 200}
    assert said["udp"] == {"0": 200}
    assert said["target"][0] == pytest.approx(20.0)
    assert said["by_feed"][0] == pytest.approx(20.0, abs=0.01)


def test_the_pose_is_the_same_by_call_and_by_feed(said: dict[str, Any]) -> None:
    code, joints_deg = said["by_call"]
    assert code == 0
    assert joints_deg == said["by_feed"]
    code, tool = said["tool"]
    assert code == 0
    assert tool == pytest.approx(said["tool_by_feed"], abs=1e-6)


def test_it_stops_resets_and_shows_no_fault(said: dict[str, Any]) -> None:
    assert said["codes"] == [0, [0, 0]]
    assert said["estop"] == [0, 0]
    assert said["end"] == said["stop"] == said["reset"] == 0


def test_a_method_that_is_not_there_is_fault_506(said: dict[str, Any]) -> None:
    assert "-506" in said["unknown"]
