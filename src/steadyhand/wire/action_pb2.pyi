from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Action(_message.Message):
    __slots__ = ("timestamp", "leader_timestamp", "joint_positions", "joint_velocities", "emergency_stop", "episode_id", "rest_json")
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    LEADER_TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    JOINT_POSITIONS_FIELD_NUMBER: _ClassVar[int]
    JOINT_VELOCITIES_FIELD_NUMBER: _ClassVar[int]
    EMERGENCY_STOP_FIELD_NUMBER: _ClassVar[int]
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    REST_JSON_FIELD_NUMBER: _ClassVar[int]
    timestamp: float
    leader_timestamp: float
    joint_positions: _containers.RepeatedScalarFieldContainer[float]
    joint_velocities: _containers.RepeatedScalarFieldContainer[float]
    emergency_stop: bool
    episode_id: int
    rest_json: str
    def __init__(self, timestamp: _Optional[float] = ..., leader_timestamp: _Optional[float] = ..., joint_positions: _Optional[_Iterable[float]] = ..., joint_velocities: _Optional[_Iterable[float]] = ..., emergency_stop: _Optional[bool] = ..., episode_id: _Optional[int] = ..., rest_json: _Optional[str] = ...) -> None: ...
