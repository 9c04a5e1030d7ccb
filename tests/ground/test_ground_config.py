"""The structs of the robot file: their edges, and the page that lists them."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from steadyhand.ground.config import (
    BUILT_IN_PERIOD_NS,
    CommunicationConfig,
    RemoteNodeConfig,
    RobotConfig,
    RobotIdentity,
)
from steadyhand.ground.errors import ConfigError

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def identity(**given: Any) -> RobotIdentity:
    return RobotIdentity(**({"id": "fr3", "type": "fairino", "model": "fr3"} | given))


def test_communication_keys_and_defaults_are_those_of_document_000() -> None:
    assert msgspec.to_builtins(CommunicationConfig()) == {
        "publish_rate_hz": 50.0,
        "playout_buffer_ms": 0.0,
        "playout_adaptive_max_ms": 0.0,
        "playout_underrun_estop_after_ms": -1.0,
        "playout_wire_debug": False,
        "servoj_stale_factor": 2.0,
        "playout_clock_trim": True,
    }


def test_remote_node_defaults_are_authenticated_and_adaptive() -> None:
    defaults = RemoteNodeConfig()
    assert (defaults.auth, defaults.estop_open) == ("sealed", False)
    assert (defaults.redundancy, defaults.transport, defaults.deadman_s) == ("auto", "udp", 1.0)
    assert (defaults.grpc_port, defaults.udp_port) == (50061, 50063)


@pytest.mark.parametrize(
    ("rate_hz", "period_ns"), [(100.0, 10_000_000), (50.0, 20_000_000), (3.0, 333_333_333)]
)
def test_the_period_is_the_inverse_of_the_rate(rate_hz: float, period_ns: int) -> None:
    assert CommunicationConfig(publish_rate_hz=rate_hz).period_ns == period_ns


@pytest.mark.parametrize("rate_hz", [0.0, -0.0, -100.0, math.nan, math.inf, -math.inf, 5e-324, 1e10])
def test_a_rate_without_a_period_falls_back_to_ten_milliseconds(rate_hz: float) -> None:
    assert CommunicationConfig(publish_rate_hz=rate_hz).period_ns == BUILT_IN_PERIOD_NS == 10_000_000


@given(st.floats())
def test_any_rate_gives_a_positive_period(rate_hz: float) -> None:
    assert CommunicationConfig(publish_rate_hz=rate_hz).period_ns > 0


@given(st.floats(), st.floats(), st.floats())
def test_playout_keys_carry_any_number(buffer_ms: float, ceiling_ms: float, window_ms: float) -> None:
    CommunicationConfig(
        playout_buffer_ms=buffer_ms,
        playout_adaptive_max_ms=ceiling_ms,
        playout_underrun_estop_after_ms=window_ms,
    )


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf])
def test_a_stale_window_that_never_closes_is_refused(factor: float) -> None:
    with pytest.raises(ConfigError, match=r"^communication\.servoj_stale_factor: "):
        CommunicationConfig(servoj_stale_factor=factor)


@pytest.mark.parametrize("deadman_s", [-1.0, math.nan, math.inf])
def test_a_deadman_that_cannot_be_judged_is_refused(deadman_s: float) -> None:
    with pytest.raises(ConfigError, match=r"^remote_node\.deadman_s: .*0 disables"):
        RemoteNodeConfig(deadman_s=deadman_s)


def test_a_deadman_of_zero_disables_it() -> None:
    assert RemoteNodeConfig(deadman_s=0.0).deadman_s == 0.0


def test_two_udp_flows_on_one_port_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^remote_node\.telemetry_port: is udp_port too \(7\)"):
        RemoteNodeConfig(udp_port=7, telemetry_port=7)


def test_joints_are_named_by_number_where_the_file_names_none() -> None:
    assert identity(n_joints=2).names == ("j1", "j2")
    assert identity(n_joints=2, joint_names=("base", "tip")).names == ("base", "tip")


@pytest.mark.parametrize("key", ["joint_names", "joint_limits_deg"])
def test_one_entry_per_joint_or_none(key: str) -> None:
    entries = {"joint_names": ("a", "b"), "joint_limits_deg": ((-1.0, 1.0), (-1.0, 1.0))}
    with pytest.raises(ConfigError, match=rf"^robot\.{key}: 2 entries for n_joints 6"):
        identity(**{key: entries[key]})


def test_two_joints_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="same name"):
        identity(n_joints=2, joint_names=("a", "a"))


@pytest.mark.parametrize("pair", [(1.0, 1.0), (2.0, 1.0), (math.nan, 1.0), (-math.inf, 1.0), (0.0, math.inf)])
def test_a_joint_limit_is_lowest_below_highest_and_finite(pair: tuple[float, float]) -> None:
    with pytest.raises(ConfigError, match=r"^robot\.joint_limits_deg\[1\]: "):
        identity(n_joints=2, joint_limits_deg=((-1.0, 1.0), pair))


# The page.

REQUIRED = "required"


def page_tables() -> dict[str, dict[str, Any]]:
    """Section to its keys and defaults, as docs/configuration.md writes them."""
    tables: dict[str, dict[str, Any]] = {}
    section = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("##"):
            section = " ".join(re.findall(r"`([^`]+)`", line))
        row = re.match(r"\| `(\w+)` \| `?([^|`]+)`? \|", line)
        if row is not None:
            default = row[2].strip()
            assert row[1] not in tables.setdefault(section, {}), f"{section}.{row[1]} stands twice"
            tables[section][row[1]] = REQUIRED if default == REQUIRED else yaml.safe_load(default)
    return tables


def struct_tables(struct: type[msgspec.Struct], section: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """The same from the structs, by the sections the page should have."""
    shape = struct.__struct_config__.tag
    yield (
        (f"{section} shape: {shape}" if shape else section),
        {
            field.name: REQUIRED if field.required else default_of(field)
            for field in msgspec.structs.fields(struct)
        },
    )
    for field in msgspec.structs.fields(struct):
        path = f"{section}.{field.name}".removeprefix(".")
        yield from inner_tables(field.type, path)


def inner_tables(kind: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield from struct_tables(kind, path)
    elif get_origin(kind) in (Union, UnionType):
        for choice in get_args(kind):
            yield from inner_tables(choice, path)
    elif get_origin(kind) is Annotated:
        yield from inner_tables(get_args(kind)[0], path)
    elif get_origin(kind) is tuple:
        yield from inner_tables(get_args(kind)[0], f"{path}[]")


def default_of(field: msgspec.structs.FieldInfo) -> Any:
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    if isinstance(default, msgspec.Struct):
        assert default == type(default)(), f"{field.name}: an empty block must mean its default"
        return {}
    return list(default) if isinstance(default, tuple) else default


def test_the_page_lists_exactly_the_keys_and_defaults_of_the_structs() -> None:
    # As JSON, where false is not 0 and 50.0 is not 50.
    page, structs = page_tables(), dict(struct_tables(RobotConfig))
    assert json.dumps(page, indent=1, sort_keys=True) == json.dumps(structs, indent=1, sort_keys=True)


def test_every_row_of_the_page_has_its_five_cells() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert len(rows) > 20
    assert [line for line in rows if len(re.findall(r"(?<!\\)\|", line)) != 6] == []
