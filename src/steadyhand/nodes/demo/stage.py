"""Everything a run needs, started in order and ended in the reverse one, whatever happens.

    simulated controller ── follower ── bad network ── operator's end (in this process)
                                │
                            recorder (reads the follower's ring)

Each is a process of its own but the last two. The key, made for this run, lies in a private folder that
goes with it.
"""

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from steadyhand.core.operator import OperatorCore, OperatorSettings
from steadyhand.edge.control_service.agreement import agreed_hash
from steadyhand.edge.control_service.client import ControlClient
from steadyhand.edge.keys import create_key, load_identity
from steadyhand.edge.robot_yaml import dump_robot
from steadyhand.edge.segment import runtime_folder
from steadyhand.ground.config import RobotConfig
from steadyhand.ground.motion import JointsDeg
from steadyhand.nodes.demo.children import Child
from steadyhand.nodes.demo.console import READY as CONTROLLER_READY
from steadyhand.nodes.demo.console import ControllerConsole
from steadyhand.nodes.demo.network import READY as NETWORK_READY
from steadyhand.nodes.demo.network import BadNetwork, NetworkPlaces, network_arguments, places_in
from steadyhand.nodes.demo.place import Place, claim_robot_id, draw_place, place_robot
from steadyhand.nodes.demo.recorder import Recorder
from steadyhand.nodes.follower.records import TickRecord
from steadyhand.nodes.follower.runtime_files import RuntimeFiles
from steadyhand.nodes.operator.addresses import OperatorAddresses
from steadyhand.nodes.operator.api import operator_name
from steadyhand.nodes.operator.arm import Arm
from steadyhand.nodes.operator.control_link import SessionAsk
from steadyhand.nodes.operator.engine import OperatorEngine
from steadyhand.nodes.operator.grpc_link import GrpcLink
from steadyhand.nodes.operator.loop import OperatorLoop
from steadyhand.nodes.operator.sockets import OperatorSockets

CONNECT_S: Final = 15.0
FOLLOWER_READY: Final = "follower ready:"


class StageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is set up.

    Attributes:
        robot: the arm; addresses and ports are this run's own.
        own_id: keep the robot file's id; else the first free one that begins with it.
        pose_deg: where the arm stands at first.
        link: as typed: a profile, a trace's file, figures.
        gaps: what to do about a trace's pauses.
        seed: of the network's dice and of the controller's coin.
        log: where tick records are written.
    """

    robot: RobotConfig
    own_id: bool
    pose_deg: JointsDeg
    link: str
    gaps: str
    seed: int
    log: Path


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """What runs.

    Attributes:
        robot: the robot file of this run.
        console: the controller's.
        network: between operator and follower.
        recorder: of the follower's ticks.
        engine: the operator's loop.
        arm: the operator's calls.
        children: every process of ours.
        granted: what the machine granted the follower's processes, one line each.
    """

    robot: RobotConfig
    console: ControllerConsole
    network: BadNetwork
    recorder: Recorder
    engine: OperatorEngine
    arm: Arm
    children: tuple[Child, ...]
    granted: tuple[str, ...]

    def check(self) -> None:
        """Raise ChildError where a process has ended early."""
        for child in self.children:
            child.check()


@contextmanager
def set_up(
    settings: StageSettings, take: Callable[[TickRecord], None], say: Callable[[str], None]
) -> Iterator[Stage]:
    """Start everything, and end all of it.

    Args:
        settings: what.
        take: is given every tick, in the recorder's thread.
        say: is told of each part that is ready.

    Raises:
        InputError: an address, a port or a file that cannot be used.
        ChildError: a process ended early or did not become ready.
        ArmError: no session could be opened.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="steadyhand-demo-")))
        place = draw_place()
        robot = _robot_of_this_run(stack, settings, place)
        key, robot_file = folder / "demo.key", folder / "robot.yaml"
        create_key(key)
        robot_file.write_text(dump_robot(robot), encoding="utf-8")
        controller = _start(stack, "controller", _controller_arguments(settings, robot))
        network = _start(
            stack,
            "network",
            network_arguments(robot, place, link=settings.link, gaps=settings.gaps, seed=settings.seed),
        )
        console = ControllerConsole(controller.wait_for(CONTROLLER_READY))
        stack.callback(console.close)
        say(f"controller at {place.controller}, process {controller.pid}")
        follower = _start(stack, "follower", _follower_arguments(robot, robot_file, key, place))
        places = places_in(network.wait_for(NETWORK_READY))
        say(f"network «{settings.link}», process {network.pid}")
        follower.wait_for(FOLLOWER_READY)
        say(f"follower {robot.robot.id}, process {follower.pid}; see `steadyhand status`")
        recorder = Recorder(RuntimeFiles.of(runtime_folder(), robot.robot.id).ring, settings.log, take)
        stack.callback(recorder.close)
        bad_network = BadNetwork(places)
        stack.callback(bad_network.close)
        engine, arm = _operator(stack, robot, key, places, place)
        yield Stage(
            robot=robot,
            console=console,
            network=bad_network,
            recorder=recorder,
            engine=engine,
            arm=arm,
            children=(controller, network, follower),
            granted=engine.view().session.follower.granted,
        )


def _start(stack: ExitStack, name: str, arguments: Sequence[str]) -> Child:
    child = Child(name, arguments)
    stack.callback(child.end)
    return child


def _robot_of_this_run(stack: ExitStack, settings: StageSettings, place: Place) -> RobotConfig:
    robot = place_robot(settings.robot, place)
    if settings.own_id:
        return robot
    name, claim = claim_robot_id(robot.robot.id, runtime_folder())
    stack.callback(claim.close)
    return msgspec.structs.replace(robot, robot=msgspec.structs.replace(robot.robot, id=name))


def _controller_arguments(settings: StageSettings, robot: RobotConfig) -> list[str]:
    pose = ",".join(f"{angle:.6f}" for angle in settings.pose_deg)
    at = ["--model", robot.robot.model, "--address", robot.robot.address]
    # An equals sign: a pose may begin with a minus.
    return ["controller", *at, f"--pose={pose}", "--seed", str(settings.seed), "--realtime"]


def _follower_arguments(robot: RobotConfig, robot_file: Path, key: Path, place: Place) -> list[str]:
    keyed = ["--key", str(key)] if robot.remote_node.auth == "sealed" else []
    return ["follower", str(robot_file), "--listen", place.follower, *keyed]


def _operator(
    stack: ExitStack, robot: RobotConfig, key: Path, places: NetworkPlaces, place: Place
) -> tuple[OperatorEngine, Arm]:
    """The operator's end, through the bad network on every path; its session open."""
    addresses = OperatorAddresses(
        actions=places.udp,
        control=places.control,
        telemetry_listen=(place.operator, robot.remote_node.telemetry_port),
        telemetry_host=places.telemetry[0],
        telemetry_port=places.telemetry[1],
    )
    identity = load_identity(
        robot.remote_node.auth,
        key_file=str(key) if robot.remote_node.auth == "sealed" else None,
        tls_certificate=None,
        tls_key=None,
        tls_authority=None,
    )
    core = OperatorCore(OperatorSettings.from_config(robot), first_episode_id=secrets.randbits(64) or 1)
    ask = SessionAsk(
        attempt=0,
        robot_id=robot.robot.id,
        operator=operator_name(),
        config_hash=agreed_hash(robot),
        take_over=False,
        telemetry_host=addresses.telemetry_host,
        telemetry_port=addresses.telemetry_port,
    )
    link = GrpcLink(ControlClient.tcp(*addresses.control, identity))
    engine = OperatorEngine(OperatorLoop(core, OperatorSockets(addresses), link, ask, wall_s=time.time))
    engine.start()
    arm = Arm(robot, engine)
    stack.callback(arm.close)
    arm.connected(CONNECT_S)
    return engine, arm
