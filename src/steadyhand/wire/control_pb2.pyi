from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HelloRequest(_message.Message):
    __slots__ = ("client_hello",)
    CLIENT_HELLO_FIELD_NUMBER: _ClassVar[int]
    client_hello: bytes
    def __init__(self, client_hello: _Optional[bytes] = ...) -> None: ...

class HelloReply(_message.Message):
    __slots__ = ("server_hello",)
    SERVER_HELLO_FIELD_NUMBER: _ClassVar[int]
    server_hello: bytes
    def __init__(self, server_hello: _Optional[bytes] = ...) -> None: ...

class OpenSessionRequest(_message.Message):
    __slots__ = ("client_proof", "operator", "config_hash", "take_over", "telemetry_host", "telemetry_port", "robot_id")
    CLIENT_PROOF_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    CONFIG_HASH_FIELD_NUMBER: _ClassVar[int]
    TAKE_OVER_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_HOST_FIELD_NUMBER: _ClassVar[int]
    TELEMETRY_PORT_FIELD_NUMBER: _ClassVar[int]
    ROBOT_ID_FIELD_NUMBER: _ClassVar[int]
    client_proof: bytes
    operator: str
    config_hash: str
    take_over: bool
    telemetry_host: str
    telemetry_port: int
    robot_id: str
    def __init__(self, client_proof: _Optional[bytes] = ..., operator: _Optional[str] = ..., config_hash: _Optional[str] = ..., take_over: _Optional[bool] = ..., telemetry_host: _Optional[str] = ..., telemetry_port: _Optional[int] = ..., robot_id: _Optional[str] = ...) -> None: ...

class OpenSessionReply(_message.Message):
    __slots__ = ("reply", "session_id", "secret", "config_hash", "follower")
    REPLY_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    SECRET_FIELD_NUMBER: _ClassVar[int]
    CONFIG_HASH_FIELD_NUMBER: _ClassVar[int]
    FOLLOWER_FIELD_NUMBER: _ClassVar[int]
    reply: Reply
    session_id: int
    secret: bytes
    config_hash: str
    follower: DescribeReply
    def __init__(self, reply: _Optional[_Union[Reply, _Mapping]] = ..., session_id: _Optional[int] = ..., secret: _Optional[bytes] = ..., config_hash: _Optional[str] = ..., follower: _Optional[_Union[DescribeReply, _Mapping]] = ...) -> None: ...

class CloseSessionRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PrepareStreamRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class EnterIdleRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ResetEmergencyRequest(_message.Message):
    __slots__ = ("reason",)
    REASON_FIELD_NUMBER: _ClassVar[int]
    reason: str
    def __init__(self, reason: _Optional[str] = ...) -> None: ...

class EmergencyStopRequest(_message.Message):
    __slots__ = ("session_id", "episode_id", "reason")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    EPISODE_ID_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    session_id: int
    episode_id: int
    reason: str
    def __init__(self, session_id: _Optional[int] = ..., episode_id: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class StreamedAction(_message.Message):
    __slots__ = ("payload", "counter", "mac")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    COUNTER_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    counter: int
    mac: bytes
    def __init__(self, payload: _Optional[bytes] = ..., counter: _Optional[int] = ..., mac: _Optional[bytes] = ...) -> None: ...

class StreamActionsReply(_message.Message):
    __slots__ = ("taken", "rejected")
    TAKEN_FIELD_NUMBER: _ClassVar[int]
    REJECTED_FIELD_NUMBER: _ClassVar[int]
    taken: int
    rejected: int
    def __init__(self, taken: _Optional[int] = ..., rejected: _Optional[int] = ...) -> None: ...

class WatchEventsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Event(_message.Message):
    __slots__ = ("kind", "json", "at_ns", "priority", "dropped")
    KIND_FIELD_NUMBER: _ClassVar[int]
    JSON_FIELD_NUMBER: _ClassVar[int]
    AT_NS_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    DROPPED_FIELD_NUMBER: _ClassVar[int]
    kind: str
    json: str
    at_ns: int
    priority: bool
    dropped: int
    def __init__(self, kind: _Optional[str] = ..., json: _Optional[str] = ..., at_ns: _Optional[int] = ..., priority: _Optional[bool] = ..., dropped: _Optional[int] = ...) -> None: ...

class SignedEvent(_message.Message):
    __slots__ = ("event", "number", "mac")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    event: bytes
    number: int
    mac: bytes
    def __init__(self, event: _Optional[bytes] = ..., number: _Optional[int] = ..., mac: _Optional[bytes] = ...) -> None: ...

class ToggleGuardRequest(_message.Message):
    __slots__ = ("name", "enabled")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENABLED_FIELD_NUMBER: _ClassVar[int]
    name: str
    enabled: bool
    def __init__(self, name: _Optional[str] = ..., enabled: _Optional[bool] = ...) -> None: ...

class EditGuardRequest(_message.Message):
    __slots__ = ("block", "changes_json")
    BLOCK_FIELD_NUMBER: _ClassVar[int]
    CHANGES_JSON_FIELD_NUMBER: _ClassVar[int]
    block: str
    changes_json: str
    def __init__(self, block: _Optional[str] = ..., changes_json: _Optional[str] = ...) -> None: ...

class ScaleSpeedRequest(_message.Message):
    __slots__ = ("share",)
    SHARE_FIELD_NUMBER: _ClassVar[int]
    share: float
    def __init__(self, share: _Optional[float] = ...) -> None: ...

class DescribeRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeReply(_message.Message):
    __slots__ = ("robot_id", "version", "config_hash", "auth", "transport", "state_json", "guards_json", "granted", "operator", "udp_port")
    ROBOT_ID_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CONFIG_HASH_FIELD_NUMBER: _ClassVar[int]
    AUTH_FIELD_NUMBER: _ClassVar[int]
    TRANSPORT_FIELD_NUMBER: _ClassVar[int]
    STATE_JSON_FIELD_NUMBER: _ClassVar[int]
    GUARDS_JSON_FIELD_NUMBER: _ClassVar[int]
    GRANTED_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    UDP_PORT_FIELD_NUMBER: _ClassVar[int]
    robot_id: str
    version: str
    config_hash: str
    auth: str
    transport: str
    state_json: str
    guards_json: str
    granted: _containers.RepeatedScalarFieldContainer[str]
    operator: str
    udp_port: int
    def __init__(self, robot_id: _Optional[str] = ..., version: _Optional[str] = ..., config_hash: _Optional[str] = ..., auth: _Optional[str] = ..., transport: _Optional[str] = ..., state_json: _Optional[str] = ..., guards_json: _Optional[str] = ..., granted: _Optional[_Iterable[str]] = ..., operator: _Optional[str] = ..., udp_port: _Optional[int] = ...) -> None: ...

class Reply(_message.Message):
    __slots__ = ("outcome", "reason")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    outcome: str
    reason: str
    def __init__(self, outcome: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
