"""The committed protobuf code is what `action.proto` and `control.proto` generate."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_committed_code_equals_its_regeneration() -> None:
    pytest.importorskip("grpc_tools", reason="needs grpcio-tools, of the dev extra")
    from bench.generate_proto import SRC, generate

    generated = generate()
    assert sorted(generated) == [
        f"steadyhand/wire/{name}_pb2.{suffix}" for name in ("action", "control") for suffix in ("py", "pyi")
    ]
    for name, text in generated.items():
        assert (SRC / name).read_text() == text, f"{name} has drifted: run `make proto`"


@pytest.mark.parametrize("module", ["action_pb2.py", "control_pb2.py"])
def test_the_code_asks_for_the_oldest_runtime_that_is_allowed(module: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    allowed = next(line for line in project["dependencies"] if line.startswith("protobuf"))
    floor = re.search(r">=([\d.]+)", allowed)
    stamped = re.search(
        r"# Protobuf Python Version: (\d+\.\d+)\.\d+",
        (ROOT / "src/steadyhand/wire" / module).read_text(),
    )
    assert floor is not None
    assert stamped is not None
    assert floor[1] == stamped[1]
