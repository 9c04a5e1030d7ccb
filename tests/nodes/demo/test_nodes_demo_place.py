"""Addresses, ports and the robot file of a run."""

from pathlib import Path

import msgspec
import pytest

from steadyhand.edge.robot_yaml import apply_overrides, load_robot
from steadyhand.edge.segment import create_file
from steadyhand.ground.builtin_motions import sine
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.errors import InputError
from steadyhand.ground.motion import Motion
from steadyhand.nodes.demo.place import DEMO_ROBOT, check_robot, claim_robot_id, draw_place, place_robot
from steadyhand.nodes.follower.runtime_files import RuntimeFiles

ROBOTS = Path(__file__).resolve().parents[3] / "config" / "robots"


def test_the_demos_robot_is_the_shipped_fr3_but_for_its_name() -> None:
    shipped = load_robot(ROBOTS / "fairino_fr3_remote_node.yaml")
    assert apply_overrides(DEMO_ROBOT, {"robot.id": "fr3"}) == apply_overrides(shipped, {"robot.id": "fr3"})


def test_a_run_has_four_addresses_and_its_own_ports() -> None:
    place = draw_place()
    robot = place_robot(DEMO_ROBOT, place)
    assert len({place.controller, place.follower, place.network, place.operator}) == 4
    assert all(address.startswith("127.2") for address in (place.controller, place.operator))
    assert robot.robot.address == place.controller
    assert robot.remote_node.host == place.follower
    assert robot.remote_node.udp_port != robot.remote_node.telemetry_port
    assert robot.safety == DEMO_ROBOT.safety


def test_a_name_is_taken_while_its_ring_is_held(tmp_path: Path) -> None:
    ring = create_file(RuntimeFiles.of(tmp_path, "demo").ring, 4096)
    second, claim = claim_robot_id("demo", tmp_path)
    assert second == "demo-2"
    ring.close()
    claim.close()
    first, claim = claim_robot_id("demo", tmp_path)
    assert first == "demo"
    claim.close()


def test_two_runs_that_are_set_up_at_once_have_two_names(tmp_path: Path) -> None:
    claims = [claim_robot_id("demo", tmp_path) for _ in range(3)]
    assert [name for name, _ in claims] == ["demo", "demo-2", "demo-3"]
    for _, claim in claims:
        claim.close()
    assert list(tmp_path.iterdir()) == []


def of_robot(**changes: str) -> RobotConfig:
    robot: RobotConfig = msgspec.structs.replace(
        DEMO_ROBOT, robot=msgspec.structs.replace(DEMO_ROBOT.robot, **changes)
    )
    return robot


@pytest.mark.parametrize(
    ("robot", "motion", "words"),
    [
        (of_robot(type="simulated"), sine(), "the demo simulates no simulated fr3"),
        (of_robot(model="ur10e"), sine(), "the demo simulates no fairino ur10e"),
        (DEMO_ROBOT, Motion(times_s=(0.0, 1.0), poses_deg=((0.0,), (1.0,))), "1 joints, and the arm has 6"),
        (
            DEMO_ROBOT,
            Motion(times_s=(0.0, 1.0), poses_deg=((0.0,) * 6, (0.0, 0.0, 151.0, 0.0, 0.0, 0.0))),
            "joint 3 is at 151° at 1 s; fr3 reaches -150° to 150°",
        ),
    ],
)
def test_a_robot_or_a_motion_it_cannot_play_is_refused(
    robot: RobotConfig, motion: Motion, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        check_robot(robot, motion, "--config")


def test_setpoints_over_the_ordered_path_are_refused() -> None:
    with pytest.raises(InputError, match="datagrams"):
        check_robot(apply_overrides(DEMO_ROBOT, {"remote_node.transport": "grpc"}), sine(), "--config")
