"""Regenerate the protobuf code from `action.proto` and `control.proto`: `make proto`.

protoc stamps its own version into the code, and the runtime refuses code stamped with a version
newer than itself. For these messages protoc 31 (grpcio-tools 1.76, 1.78) and protoc 35 (1.85) write
the same code but for that stamp and for one spelling in the stub, so both are set here: the stamp
to the oldest runtime that `pyproject.toml` allows, the spelling to the newer. The committed files
then work over the whole range of runtimes, and regenerating them gives the same bytes whichever
grpcio-tools is installed. Raise FLOOR together with the range.
"""

import re
import sys
import tempfile
from importlib import resources
from pathlib import Path

from grpc_tools import protoc

#: The oldest protobuf runtime that pyproject.toml allows.
FLOOR = (6, 33, 0)

SRC = Path(__file__).resolve().parents[1] / "src"
PROTOS = ("steadyhand/wire/action.proto", "steadyhand/wire/control.proto")
GENERATED = tuple(name.replace(".proto", suffix) for name in PROTOS for suffix in ("_pb2.py", "_pb2.pyi"))

_VERSION_COMMENT = re.compile(r"(?m)^# Protobuf Python Version: .*$")
_VERSION_CALL = re.compile(r"(_runtime_version\.Domain\.PUBLIC,\n)\s+\d+,\n\s+\d+,\n\s+\d+,\n\s+'[^']*',\n")
_OLD_BOOL_ARGUMENT = re.compile(r": bool = \.\.\.")


def generate() -> dict[str, str]:
    """Return the text of each generated file by its path below `src`."""
    with tempfile.TemporaryDirectory() as out:
        includes = resources.files("grpc_tools") / "_proto"
        code = protoc.main(
            ["protoc", f"-I{SRC}", f"-I{includes}", f"--python_out={out}", f"--pyi_out={out}", *PROTOS]
        )
        if code != 0:
            raise SystemExit(f"protoc failed on {', '.join(PROTOS)} with code {code}")
        return {name: normalise((Path(out) / name).read_text()) for name in GENERATED}


def normalise(text: str) -> str:
    """Set the runtime that generated code asks for to FLOOR, and bool arguments to optional."""
    major, minor, patch = FLOOR
    text = _VERSION_COMMENT.sub(f"# Protobuf Python Version: {major}.{minor}.{patch}", text)
    text = _OLD_BOOL_ARGUMENT.sub(": _Optional[bool] = ...", text)
    return _VERSION_CALL.sub(rf"\g<1>    {major},\n    {minor},\n    {patch},\n    '',\n", text)


def main() -> int:
    for name, text in generate().items():
        path = SRC / name
        changed = not path.exists() or path.read_text() != text
        path.write_text(text)
        print(f"{'written' if changed else 'unchanged'}: {path.relative_to(SRC.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
