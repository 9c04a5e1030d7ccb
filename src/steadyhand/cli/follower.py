"""`steadyhand follower`: the robot's end, two processes and the launcher that owns them."""

import ipaddress
from typing import Annotated

from cyclopts import Parameter

from steadyhand.cli.options import FilePath
from steadyhand.cli.overrides import overrides_from
from steadyhand.ground.errors import InputError


def follower(
    robot: FilePath,
    /,
    *,
    settings: Annotated[list[str] | None, Parameter("--set", negative=())] = None,
    key: FilePath | None = None,
    tls_certificate: FilePath | None = None,
    tls_key: FilePath | None = None,
    tls_authority: FilePath | None = None,
    listen: str = "0.0.0.0",  # noqa: S104 - R11 guards what comes in
    policy: FilePath | None = None,
    realtime: bool = True,
) -> None:
    """Drive the arm of a robot file as an operator leads it, until SIGTERM or Ctrl-C.

    Ending is soft: the arm brakes to rest first; a second signal does not wait for that. On another
    terminal of this host, `steadyhand status` tells how it stands, `steadyhand stop` stops the arm.

    Parameters
    ----------
    robot
        The robot file.
    settings
        PATH=VALUE in the place of what the file says. Repeatable.
    key
        File of the pre-shared key (`steadyhand key new FILE`), the operator's own copy of it being equal.
    tls_certificate
        With --tls-key and --tls-authority: mutual TLS in the place of a key.
    tls_key
        Key of that certificate.
    tls_authority
        Certificate of the authority that operators' certificates come from.
    listen
        IPv4 address of the interface to listen on.
    policy
        Which guards a robot type cannot be without; without it, what config/safety_policy.yaml says.
    realtime
        Ask the machine for a punctual process (real-time class, locked memory), and say what it granted.
    """
    try:
        listen = str(ipaddress.IPv4Address(listen))
    except ValueError:
        raise InputError(f"{listen!r} is no IPv4 address", where="--listen") from None
    # Late, so that a mistyped option is answered before gRPC and the drivers are loaded.
    from steadyhand.nodes.follower.launch_settings import LauncherSettings
    from steadyhand.nodes.follower.launcher import serve

    told = LauncherSettings(
        robot_file=str(robot),
        overrides=overrides_from(settings or []),
        policy_file=_text(policy),
        listen=listen,
        realtime=realtime,
        key_file=_text(key),
        tls_certificate=_text(tls_certificate),
        tls_key=_text(tls_key),
        tls_authority=_text(tls_authority),
    )
    serve(told, lambda line: print(line, flush=True))


def _text(path: FilePath | None) -> str | None:
    return None if path is None else str(path)
