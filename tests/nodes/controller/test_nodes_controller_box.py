"""The simulated control box: setpoints by datagram, outputs, buttons, and what it refuses to be."""

import json
import os
import select
import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from steadyhand.cli.controller import controller
from steadyhand.edge.robots.fairino.servoj_udp import encode_servo_j, encode_start
from steadyhand.ground.errors import InputError
from steadyhand.nodes.controller.console import COMMANDS, Console, carry_out
from steadyhand.nodes.controller.feed_values import Recipe, grant, take_snapshot
from steadyhand.nodes.controller.node import ControllerNode
from steadyhand.nodes.controller.settings import START_POSE_DEG, ControllerSettings, build_model
from tests.nodes.controller.bench_types import Bench

HOLD = list(START_POSE_DEG)

# Setpoints.


def test_setpoints_by_datagram_are_taken_and_shown(bench: Bench) -> None:
    bench.ready()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((bench.node.address, bench.node.ports.servoj))
        sender.send(encode_start(0))
        sender.send(encode_servo_j(1, [0.01, *HOLD[1:]], period_s=0.01, frame_id=9))
        sender.send(b"noise")
        sender.send(encode_servo_j(2, [200.0, *HOLD[1:]], period_s=0.01))
        bench.until(lambda: bench.box.answers["servo_j_29"])
    state = bench.box.state()
    assert state.last_servoj_target_deg[0] == 0.01
    assert (state.servoj_cmd_num, state.last_frame_id) == (1, 9)
    assert bench.box.answers["udp_bad_frames"] == 1
    assert bench.box.answers["servo_j_0"] == 1


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.binary(max_size=400))
def test_any_datagram_leaves_the_setpoint_port_serving(bench: Bench, datagram: bytes) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.connect((bench.node.address, bench.node.ports.servoj))
        sender.send(datagram)
        before = bench.box.answers["servo_j_101"]
        sender.send(encode_servo_j(1, HOLD, period_s=0.01))
        bench.until(lambda: bench.box.answers["servo_j_101"] > before)


# The box.


def test_outputs_are_set_and_reported(bench: Bench) -> None:
    assert bench.call("SetDO", 3, 1, 0, 0) == 0
    assert bench.call("SetDO", 9, 1, 0) == 0
    assert bench.call("SetDO", 16, 1, 0, 0) == 4
    recipe = grant(["std_DO_box", "cfg_DO_box"])
    assert isinstance(recipe, Recipe)
    assert recipe.pack(take_snapshot(bench.box)) == bytes([0b1000, 0b10])
    assert bench.call("SetDO", 3, 0, 0, 0) == 0
    assert bench.box.digital_outputs == 1 << 9


def test_a_power_cycle_hangs_everybody_up_and_the_arm_stays(bench: Bench) -> None:
    bench.ready()
    feed = bench.connect(bench.node.ports.state)
    feed.subscribe("main_code")
    caller = bench.connect(bench.node.ports.xmlrpc)
    assert caller.call("SetDO", 0, 1, 0, 0) == 0
    bench.box.power_cycle()
    feed.until_closed()
    caller.until_closed()
    assert bench.box.digital_outputs == 0
    assert bench.box.state().joints_deg == START_POSE_DEG
    assert bench.call("RobotEnable", 1) == 0


def test_the_console_presses_the_buttons(bench: Bench) -> None:
    assert set(COMMANDS) == {"estop", "release", "power-cycle", "status"}
    assert "done" in carry_out(bench.box, " ESTOP\n")
    status = carry_out(bench.box, "status")
    assert (status["emergency_stop"], status["button_pressed"]) == (1, True)
    carry_out(bench.box, "release")
    assert carry_out(bench.box, "status")["emergency_stop"] == 1
    carry_out(bench.box, "power-cycle")
    assert carry_out(bench.box, "status")["emergency_stop"] == 0
    assert carry_out(bench.box, "self-destruct")["commands"] == list(COMMANDS)
    assert json.loads(json.dumps(status)) == status


def test_the_console_port_answers_a_datagram_with_json(bench: Bench) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as console:
        console.setblocking(False)
        for command in (b"estop", b"\xff\xfe", b"x" * 2000, b""):
            console.sendto(command, bench.node.admin)
            bench.until(lambda: select.select([console], [], [], 0.0)[0])
            assert isinstance(json.loads(console.recv(65536)), dict)
    assert bench.box.model.gate.estop_pressed


def test_the_console_reads_lines_until_the_descriptor_ends(bench: Bench) -> None:
    said: list[str] = []
    read_end, write_end = os.pipe()
    console = Console(bench.box, said.append, read_end)
    console.attach(bench.loop)
    os.write(write_end, b"est")
    bench.turn()
    assert said == []
    os.write(write_end, b"op\n\nnonsense\nstat")
    bench.until(lambda: len(said) == 2)
    assert "done" in json.loads(said[0])
    assert "error" in json.loads(said[1])
    os.close(write_end)
    bench.until(lambda: not bench.loop.remove_reader(read_end))
    os.close(read_end)


def test_an_address_that_is_taken_is_told_with_what_to_do(bench: Bench) -> None:
    taken = ControllerSettings(address=bench.node.address, ports=bench.node.ports)
    second = ControllerNode(taken)
    with pytest.raises(InputError, match="address already in use"):
        bench.loop.run_until_complete(second.start())
    bench.loop.run_until_complete(second.close())


@pytest.mark.parametrize("address", ["localhost", "", "127.0.0.256", "::1"])
def test_an_address_must_be_a_number(address: str) -> None:
    with pytest.raises(InputError, match="is not an IPv4 address"):
        ControllerNode(ControllerSettings(address=address))


@pytest.mark.parametrize(
    ("pose_deg", "said"),
    [((0.0,) * 5, "5 angles for 6 joints"), ((176.0, *START_POSE_DEG[1:]), "joint 1 cannot stand at 176°")],
)
def test_a_pose_the_arm_cannot_stand_in_is_refused(pose_deg: tuple[float, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        build_model(ControllerSettings(pose_deg=pose_deg))


@pytest.mark.parametrize("trigger", ["velocity_step", "joint_speed", "tcp_speed"])
@pytest.mark.parametrize("model", ["fr3", "fr20", "sim"])
def test_every_model_stands_with_every_trigger(model: Any, trigger: Any) -> None:
    built = build_model(ControllerSettings(model=model, trigger=trigger))
    assert built.state(0).joints_deg == START_POSE_DEG


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"pose": "0,-90,x"}, "is not a list of angles"),
        ({"pose": "1,2,3"}, "3 angles for 6 joints"),
        ({"pose": "nan,-90,90,-90,-90,0"}, "joint 1 cannot stand at nan"),
        ({"admin_port": 70000}, "70000 is not a port"),
        ({"address": "robot.local"}, "is not an IPv4 address"),
    ],
)
def test_an_option_that_cannot_be_used_is_told_before_anything_is_served(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        controller(**options)
