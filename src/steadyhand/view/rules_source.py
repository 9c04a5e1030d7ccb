"""Read the playout rules out of their source: ladder, docstrings, verdicts, tunables.

What a rule says is its docstring; what it may answer is read from the verdicts its code builds. So
the page cannot say what the code does not.
"""

import ast
import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import msgspec

from steadyhand.core.playout import DRAIN_LADDER, HoldReason, StallCause, config, drain, flush
from steadyhand.ground.stamps import ms_from_ns

HOUSEKEEPING: Final = "Housekeeping. "
SOURCE: Final = "Source: "


class RuleEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of the ladder.

    Attributes:
        name: the function's name.
        kind: `housekeeping` changes the state and never decides; a `gate` may decide the tick.
        sentences: what it does and why.
        source: document and rulings behind it.
        answers: verdicts it may give, in the order of its code; empty for housekeeping.
        passes: whether it may leave the tick to the rule below.
    """

    name: str
    kind: str
    sentences: str
    source: str
    answers: tuple[str, ...]
    passes: bool


def read_ladder() -> tuple[RuleEntry, ...]:
    """Return the rules of the drain in the order in which they are asked."""
    functions = _functions(drain)
    return tuple(_read_rule(functions[rule.__name__], functions) for rule in DRAIN_LADDER)


def _read_rule(function: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> RuleEntry:
    sentences, _, source = prose(ast.get_docstring(function)).partition(SOURCE)
    housekeeping = sentences.startswith(HOUSEKEEPING)
    return RuleEntry(
        name=function.name,
        kind="housekeeping" if housekeeping else "gate",
        sentences=sentences.removeprefix(HOUSEKEEPING).strip(),
        source=source.strip(),
        answers=tuple(dict.fromkeys(_answers(function, functions, frozenset()))),
        passes=any(_is_pass(node) for node in ast.walk(function)),
    )


def _answers(
    function: ast.FunctionDef, functions: dict[str, ast.FunctionDef], callers: frozenset[str]
) -> Iterator[str]:
    """Name the verdicts a function builds, itself or through private functions it calls."""
    callers |= {function.name}
    for node in _in_order(function):
        match node:
            case ast.Attribute(value=ast.Name(id="HoldReason"), attr=member):
                yield f"hold ({HoldReason[member].value})"
            case ast.Attribute(value=ast.Name(id="StallCause"), attr=member):
                yield f"stall ({StallCause[member].value})"
            case ast.Call(func=ast.Name(id="Release"), args=[_, _, ast.Constant(value=bool(synthetic)), *_]):
                yield "release (synthetic)" if synthetic else "release (received)"
            case ast.Call(func=ast.Name(id=called)) if called.startswith("_") and called not in callers:
                if called in functions:
                    yield from _answers(functions[called], functions, callers)


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Walk a tree as it is read; `ast.walk` goes level by level."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)


def _is_pass(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) and isinstance(node.value, ast.Constant) and node.value.value is None


def read_tunables(module: ModuleType = config) -> dict[str, tuple[str, str]]:
    """Return a module's constants in file order: name → (value, the words under it)."""
    found: dict[str, tuple[str, str]] = {}
    for node, below in _with_next(_parsed(module).body):
        match node:
            case ast.AnnAssign(target=ast.Name(id=name)) if name.isupper():
                found[name] = (_value(name, getattr(module, name)), _words(below))
    return found


def read_members(module: ModuleType, enumeration: str) -> dict[str, str]:
    """Return an enumeration's members in file order: value → the words under it."""
    body = next(
        node.body
        for node in _parsed(module).body
        if isinstance(node, ast.ClassDef) and node.name == enumeration
    )
    members: dict[str, str] = {}
    for node, below in _with_next(body):
        match node:
            case ast.Assign(targets=[ast.Name()], value=ast.Constant(value=str(value))):
                members[value] = _words(below)
    return members


def read_flush_paths() -> dict[str, str]:
    """Return the paths that discard or seal, in file order: function → docstring."""
    return {
        name: ast.get_docstring(function) or ""
        for name, function in _functions(flush).items()
        if not name.startswith("_") and ast.unparse(function.returns or ast.Pass()) in ("None", "Stall")
    }


def prose(docstring: str | None) -> str:
    """Return a docstring as running text, its lines joined."""
    return " ".join((docstring or "").split())


def paragraphs(docstring: str | None) -> list[str]:
    """Return a docstring's paragraphs, each as running text."""
    return [prose(part) for part in inspect.cleandoc(docstring or "").split("\n\n")]


def _functions(module: ModuleType) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in _parsed(module).body if isinstance(node, ast.FunctionDef)}


def _parsed(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _with_next(body: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt | None]]:
    return zip(body, [*body[1:], None], strict=True)


def _words(node: ast.stmt | None) -> str:
    match node:
        case ast.Expr(value=ast.Constant(value=str(words))):
            return prose(words)
        case _:
            return ""


def _value(name: str, value: float) -> str:
    return f"{ms_from_ns(value):g} ms" if name.endswith("_NS") else f"{value:g}"
