"""The committed protobuf code is what `action.proto` generates."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_committed_code_equals_its_regeneration() -> None:
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools, of the dev extra")
    from bench.generate_proto import SRC, generate

    for name, text in generate().items():
        assert (SRC / name).read_text() == text, f"{name} has drifted: run `make proto`"


def test_the_code_asks_for_the_oldest_runtime_that_is_allowed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = next(line for line in project["dependencies"] if line.startswith("protobuf"))
    floor = re.search(r">=([\d.]+)", allowed)
    stamped = re.search(
        r"# Protobuf Python Version: (\d+\.\d+)\.\d+",
        (ROOT / "src/steadyhand/wire/action_pb2.py").read_text(),
    )
    assert floor is not None
    assert stamped is not None
    assert floor[1] == stamped[1]
