"""What Cardinal can send to GitHub, read out of its source: REST calls and named GraphQL operations."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from tests.house.source import Source

ASKS = {"rest", "as_app", "_ask", "_ask_as_app"}  # method first, then the path
LISTS = {"pages", "address_of"}  # the path first; always GET
ONE = "{}"
OPERATION = re.compile(r"\s*((?:query|mutation)\s+\w+)")


class UnreadableCallError(Exception):
    """A call's method or path cannot be read out of the source; write them in the function that calls."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One call. `path` has `{}` for each part that is known at run time only; `place` is file and line."""

    method: str
    path: str
    place: str


def rest_calls(files: Iterable[Source]) -> Iterator[Sent]:
    """Yield every REST call; raises UnreadableCallError for one that cannot be read."""
    for source in files:
        constants = _assigned(source.tree.body)
        for function in ast.walk(source.tree):
            if isinstance(function, ast.FunctionDef):
                yield from _calls_of(function, constants, source.path)


def _calls_of(function: ast.FunctionDef, constants: dict[str, list[ast.expr]], path: str) -> Iterator[Sent]:
    known = constants | _assigned(list(ast.walk(function)))
    parameters = {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
    for node in ast.walk(function):
        name = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
        if not isinstance(node, ast.Call) or name not in ASKS | LISTS or len(node.args) < (name in ASKS) + 1:
            continue
        place = f"{path}:{node.lineno}"
        method, where = ("GET", node.args[0]) if name in LISTS else (_text(node.args[0]), node.args[1])
        if isinstance(where, ast.Name) and where.id in parameters and function.name in ASKS | LISTS:
            continue  # a door: what goes through it is read where it is called
        if method is None:
            raise UnreadableCallError(f"{place}: the method is no plain text")
        for found in _paths(where, known, place):
            yield Sent(method, found, place)


def _paths(node: ast.expr, known: dict[str, list[ast.expr]], place: str) -> list[str]:
    """Return the paths that an expression can be."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.Call(func=ast.Name(id="repository_path")):
            return ["/repos/{}/{}"]
        case ast.IfExp():
            return _paths(node.body, known, place) + _paths(node.orelse, known, place)
        case ast.JoinedStr():
            choices = [_pieces(part, known, place) for part in node.values]
            return ["".join(chosen) for chosen in product(*choices)]
        case ast.Name(id=name) if name in known:
            return [path for value in known[name] for path in _paths(value, known, place)]
    raise UnreadableCallError(f"{place}: the path {ast.unparse(node)} cannot be read")


def _pieces(part: ast.expr, known: dict[str, list[ast.expr]], place: str) -> list[str]:
    """Return what a piece of a path can be; `{}` for what is known at run time only."""
    inner = part.value if isinstance(part, ast.FormattedValue) else part
    try:
        return _paths(inner, known, place)
    except UnreadableCallError:
        return [ONE]


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return every value that each name is given."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def documents(files: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of every GraphQL document that stands in the source as a whole."""
    for source in files:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _is_document(node.value):
                yield f"{source.path}:{node.lineno}", node.value


def operations(files: Iterable[Source]) -> Iterator[str]:
    """Yield `query Board` and the like: every named operation, also of documents that are made of pieces."""
    for source in files:
        for node in ast.walk(source.tree):
            start = (
                OPERATION.match(node.value)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
                else None
            )
            if start and "(" in node.value[start.end() : start.end() + 1]:
                yield " ".join(start[1].split())


def _is_document(text: str) -> bool:
    return OPERATION.match(text) is not None and text.count("{") == text.count("}") > 0
