"""What Cardinal can send to GitHub, read out of its source: REST calls and named GraphQL operations."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from tests.house.source import Source

ASKS = {"rest", "as_app", "_ask", "_ask_as_app"}  # method first, then the path
LISTS = {"pages", "address_of", "at_commit"}  # the path first; always GET
LISTS_WITH = {"find_earlier"}  # a function: the hub first, then the path; always GET
DOORS = ASKS | LISTS | LISTS_WITH
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
        tree = source.tree
        constants = _assigned(tree.body) | _returned(tree.body)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                yield from _calls_of(function, constants, source.path)


def _calls_of(function: ast.FunctionDef, constants: dict[str, list[ast.expr]], path: str) -> Iterator[Sent]:
    nodes = list(ast.walk(function))
    known = constants | _assigned(nodes)
    parameters = {one.arg for one in [*function.args.args, *function.args.kwonlyargs]}
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        plain = node.func.id if isinstance(node.func, ast.Name) else ""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else plain
        if name not in (LISTS_WITH if plain else DOORS) or len(node.args) < (name not in LISTS) + 1:
            continue
        place = f"{path}:{node.lineno}"
        where = node.args[0 if name in LISTS else 1]
        method = _text(node.args[0]) if name in ASKS else "GET"
        if isinstance(where, ast.Name) and where.id in parameters and function.name in DOORS:
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
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)) if name in known:
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


def _returned(nodes: Iterable[ast.AST]) -> dict[str, list[ast.expr]]:
    """Return the value of each function that is no more than a `return`, but for a docstring."""
    return {
        node.name: [node.body[-1].value]
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        and isinstance(node.body[-1], ast.Return)
        and node.body[-1].value is not None
        and len(node.body) <= 1 + (ast.get_docstring(node) is not None)
    }


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def documents(files: Iterable[Source]) -> Iterator[tuple[str, str]]:
    """Yield (place, text) of every GraphQL document that the source holds, also one made of constants."""
    for source in files:
        tree = source.tree
        constants = _assigned(tree.body)
        inner: set[ast.AST] = set()  # parts of a larger text, which the walk meets first
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) or not isinstance(node, ast.expr) or node in inner:
                continue
            text = _text_of(node, constants)
            if text is not None:
                inner.update(ast.walk(node))
                if _is_document(text):
                    yield f"{source.path}:{node.lineno}", text


def _text_of(node: ast.expr, constants: dict[str, list[ast.expr]]) -> str | None:
    """Return the text that an expression of literals and module constants makes."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if len(constants.get(name, ())) == 1:
            return _text_of(constants[name][0], constants)
        case ast.FormattedValue(value=inner):
            return _text_of(inner, constants)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_text_of(left, constants), _text_of(right, constants)]
        case ast.JoinedStr(values=values):
            parts = [_text_of(value, constants) for value in values]
        case _:
            return None
    known = [part for part in parts if part is not None]
    return "".join(known) if len(known) == len(parts) else None


def operations(files: Iterable[Source]) -> Iterator[str]:
    """Yield `query Board` and the like: every named operation, also of documents that are made of pieces."""
    for source in files:
        for node in ast.walk(source.tree):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            start = OPERATION.match(text)
            if start and "(" in text[start.end() : start.end() + 1]:
                yield " ".join(start[1].split())


def _is_document(text: str) -> bool:
    return OPERATION.match(text) is not None and text.count("{") == text.count("}") > 0
