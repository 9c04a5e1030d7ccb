"""What operator and follower must agree on before a session opens: the robot file, less its addresses.

Each reads its own copy (document 000 §11). Where the other end is found may differ between them,
behind a tunnel, a proxy or a translated address, and moves no arm; everything else must be the same.
"""

from typing import Final

import msgspec

from steadyhand.edge.robot_yaml import config_hash
from steadyhand.ground.config import RemoteNodeConfig, RobotConfig, RobotIdentity

_ANY: Final = RemoteNodeConfig()
_ANY_ADDRESS: Final = RobotIdentity(id="any", type="simulated", model="any").address


def agreed_hash(config: RobotConfig) -> str:
    """SHA-256 of the canonical robot file with every address at its default, 64 hexadecimal digits.

    Addresses are `robot.address` and, of `remote_node`, host and the three ports.
    """
    robot = msgspec.structs.replace(config.robot, address=_ANY_ADDRESS)
    remote = msgspec.structs.replace(
        config.remote_node,
        host=_ANY.host,
        grpc_port=_ANY.grpc_port,
        udp_port=_ANY.udp_port,
        telemetry_port=_ANY.telemetry_port,
    )
    return config_hash(msgspec.structs.replace(config, robot=robot, remote_node=remote))
