"""`steadyhand controller`: a simulated FAIRINO controller behind the vendor's real protocol."""

from steadyhand.core.controller.kinds import ModelName, TriggerName
from steadyhand.ground.errors import InputError
from steadyhand.nodes.controller.settings import START_POSE_DEG, ControllerSettings


def controller(
    *,
    model: ModelName = "fr3",
    trigger: TriggerName = "velocity_step",
    address: str = "127.0.0.1",
    seed: int = 0,
    pose: str | None = None,
    admin_port: int = 0,
    realtime: bool = False,
) -> None:
    """Serve a simulated controller until it is interrupted.

    It speaks the vendor's protocol on the vendor's ports: XML-RPC on TCP 20003, the CNDE state feed on
    TCP 20005 for one client at a time, ServoJ on UDP 20007. On its console (standard input) estop,
    release, power-cycle and status press its buttons; the same words in a datagram to the console
    port it prints do so too.

    Parameters
    ----------
    model
        fr3, fr20, or the vendor's own simulator (sim), which never runs away.
    trigger
        What makes it run away: a velocity step in one frame, a joint commanded above its speed, or
        the tool above its speed.
    address
        Where it listens; one per simulated robot, since the ports are fixed: 127.0.0.2, 127.0.0.3, …
    seed
        Of the coin in the trigger's threshold band.
    pose
        Where the arm stands at power-on: six angles in degrees, separated by commas.
    admin_port
        UDP port of the console on loopback; 0 lets the system choose.
    realtime
        Ask the machine for a punctual process (real-time class, locked memory), and say what it granted.
    """
    settings = ControllerSettings(
        model=model,
        trigger=trigger,
        address=address,
        seed=seed,
        pose_deg=START_POSE_DEG if pose is None else _read_pose(pose),
        admin_port=_read_port(admin_port),
    )
    # Late, so that a mistyped option is answered before the servers are loaded.
    from steadyhand.nodes.controller.node import serve

    serve(settings, lambda line: print(line, flush=True), realtime=realtime)


def _read_pose(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(angle) for angle in text.split(","))
    except ValueError:
        raise InputError(
            f"{text!r} is not a list of angles", where="--pose", hint="for example --pose 0,-90,90,-90,-90,0"
        ) from None


def _read_port(port: int) -> int:
    if not 0 <= port <= 65535:
        raise InputError(f"{port} is not a port", where="--admin-port", hint="0 to 65535")
    return port
