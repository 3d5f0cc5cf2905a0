"""The tree as the house tests see it: tracked files, and modules parsed once."""

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

ROOT = Path(__file__).parents[2]
PACKAGES = ("bot", "rules", "runner", "ledger", "forge")


STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Source:
    """One Python file. `path` is relative to the repository, with slashes."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        return _tree(self)

    @property
    def package(self) -> str:
        return self.path.split("/")[0]

    @property
    def is_public(self) -> bool:
        """An empty `__init__.py` only marks a folder; a leading underscore marks what nobody else imports."""
        name = self.path.rsplit("/", 1)[-1]
        return bool(self.text.strip()) and (name.startswith("__") or not name.startswith("_"))

    def nodes(self) -> tuple[ast.AST, ...]:
        """Return every node of the tree."""
        return _nodes(self)

    def named(self) -> Iterator[tuple[str, Definition]]:
        """Yield every function and class of the file, nested ones too."""
        yield from ((node.name, node) for node in _statements(self) if isinstance(node, Definition))

    def calls(self) -> tuple[tuple[str, int], ...]:
        """Return the dotted name and the line of every call; imported names are spelt out in full."""
        return _calls(self)

    def imported_names(self) -> tuple[tuple[str, str], ...]:
        """Return (name in this file, full dotted name) of every import."""
        return _imported(self)

    def imports(self) -> set[str]:
        """Return the top-level packages that the file imports, wherever the import stands."""
        return {full.split(".")[0] for _, full in self.imported_names()}


@cache
def _tree(source: Source) -> ast.Module:
    return ast.parse(source.text, source.path)


@cache
def _statements(source: Source) -> tuple[ast.AST, ...]:
    """Return the statements, nested ones too: a tenth of all nodes."""
    below: list[ast.AST] = [source.tree]
    for node in below:
        below += (child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS))
    return tuple(below)


@cache
def _nodes(source: Source) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(source.tree))


@cache
def _imported(source: Source) -> tuple[tuple[str, str], ...]:
    found = []
    for node in _statements(source):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.append((alias.asname, alias.name) if alias.asname else (alias.name.split(".")[0],) * 2)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
    return tuple(found)


@cache
def _calls(source: Source) -> tuple[tuple[str, int], ...]:
    full = dict(source.imported_names())
    found = []
    for node in source.nodes():
        if isinstance(node, ast.Call):
            head, _, rest = _dotted(node.func).partition(".")
            found.append((".".join(filter(None, (full.get(head, head), rest))), node.lineno))
    return tuple(found)


def _dotted(node: ast.expr) -> str:
    """Return what `ast.unparse` does, sooner for plain names."""
    match node:
        case ast.Name(name):
            return name
        case ast.Attribute(ast.Name() | ast.Attribute() as value, name):
            return f"{_dotted(value)}.{name}"
        case _:
            return ast.unparse(node)


def forget() -> None:
    """Free the trees: each collection of garbage would walk through their millions of objects."""
    for parsed in (_tree, _statements, _nodes):
        parsed.cache_clear()


@cache
def tracked() -> tuple[str, ...]:
    """Return the files that git tracks or would add, as paths relative to the repository."""
    # safe.directory: in CI the clone may belong to somebody else than the user that runs the tests.
    command = ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=60).stdout
    return tuple(sorted({path for path in listing.split("\0") if path and (ROOT / path).is_file()}))


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """Return the Python files below `folders` (default: the five packages)."""
    wanted = tuple(f"{folder}/" for folder in folders or PACKAGES)
    return tuple(
        Source(path, (ROOT / path).read_text(encoding="utf-8"))
        for path in tracked()
        if path.endswith(".py") and path.startswith(wanted)
    )


def with_words(files: Iterable[Source], words: Iterable[str]) -> Iterator[Source]:
    """Yield the files that have any of the words in a name: the others need not be parsed."""
    pattern = re.compile("|".join(words))
    yield from (source for source in files if pattern.search(source.text))


def parts(folder: str) -> tuple[Source, ...]:
    """Return the parts in a registry folder: its own files, without those that begin with an underscore."""
    depth = folder.count("/") + 1
    return tuple(
        source
        for source in sources(folder)
        if source.path.count("/") == depth and not source.path.rsplit("/", 1)[-1].startswith("_")
    )


def stem(source: Source) -> str:
    """Return the key of a part: the name of its file without the ending."""
    return source.path.rpartition("/")[2].removesuffix(".py")
