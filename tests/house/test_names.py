"""One meaning for each name, limits that begin alike, and a first line in each module."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from tests.house.source import PACKAGES, ROOT, Source, sources, tracked, with_words

FLOORS = ("bot", "rules", "runner", "ledger")  # the forge is another program, with GitHub's words
BOUND = re.compile(r"_?(MOST|LEAST|LONGEST|SHORTEST)_[A-Z]")  # a limit begins with MAX_ or MIN_
# Names that several modules give to public functions with different parameters, and how many lists of
# parameters a name has at the most. Both only fall. `WITH_MODULE` are said with their module (`outbox.get`).
MAX_NAMESAKES, MAX_MEANINGS = 45, 4
WITH_MODULE = {"command", "read", "write", "newest", "get", "find"}
# Parts of one kind have the same members, by their contract.
OF_PARTS = {"Settings", "Wire"}


def bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that this node binds."""
    match node:
        case ast.Name(name, ast.Store()) | ast.Attribute(_, name, ast.Store()):
            yield name
        case (
            ast.arg(name)
            | ast.FunctionDef(name)
            | ast.AsyncFunctionDef(name)
            | ast.MatchMapping(rest=str(name))
        ):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.alias(name, asname):
            yield asname or name


def other_bounds(files: Iterable[Source]) -> Iterator[str]:
    for source in with_words(files, [BOUND.pattern]):
        names = (name for node in source.nodes() for name in bound(node))
        yield from (f"{source.path}: {name}" for name in names if BOUND.match(name))


def homonyms(files: Iterable[Source]) -> set[str]:
    """Return the names of public classes that more than one module defines."""
    places = defaultdict(set)
    for source in files:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(source.path)
    return {name for name, paths in places.items() if len(paths) > 1}


def namesakes(files: Iterable[Source]) -> dict[str, int]:
    """Return the names of public functions with several lists of parameters, and how many each has."""
    lists = defaultdict(set)
    for source in files:
        for node in source.tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                lists[node.name].add(tuple(it.arg for it in ast.walk(node.args) if isinstance(it, ast.arg)))
    return {name: len(meanings) for name, meanings in lists.items() if len(meanings) > 1}


def silent_modules(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        if source.is_public and not ast.get_docstring(source.tree):
            yield source.path


def test_limits_begin_with_max_or_min() -> None:
    assert list(other_bounds(sources(*PACKAGES, "tests"))) == []


def test_every_public_module_says_what_it_owns() -> None:
    assert list(silent_modules(sources())) == []


def test_a_class_has_a_name_of_its_own() -> None:
    product = [source for source in sources() if source.package in FLOORS]
    assert homonyms(product) - OF_PARTS == set()


def test_functions_do_not_share_more_names_than_they_did() -> None:
    counts = namesakes(source for source in sources() if source.package in FLOORS)
    assert len(counts) <= MAX_NAMESAKES, f"{len(counts)}: call a new function by a word of its own"
    assert {name for name, count in counts.items() if count > MAX_MEANINGS} == WITH_MODULE


def test_the_name_tests_bite() -> None:
    limits = "MOST_ROWS, _LEAST_MS = 1, 2\nMOSTLY = 3\nMAX_MOST_S = 4"
    assert list(other_bounds([Source("bot/a.py", limits)])) == ["bot/a.py: MOST_ROWS", "bot/a.py: _LEAST_MS"]
    twice = [Source("bot/a.py", "class Told: ...\nclass _Own: ..."), Source("rules/a.py", "class Told: ...")]
    assert homonyms(twice) == {"Told"}
    twice = [
        Source(f"bot/{args[:1]}.py", f"def card({args}): ...\ndef run(): ...") for args in ("a", "b, *c")
    ]
    assert namesakes(twice) == {"card": 2}
    assert list(silent_modules([Source("bot/a.py", "x = 1"), Source("bot/__init__.py", "")])) == ["bot/a.py"]
    assert list(silent_modules([Source("bot/a.py", '"""Owns a."""'), Source("bot/_a.py", "x = 1")])) == []


HOW_STARTED = "cardinal up"  # or `cardinal try`: bot/system/program.py knows it of each home


def sentences_with(literal: str, files: Iterable[Source]) -> Iterator[str]:
    """Yield every text of the files that has it; docstrings speak to developers, or are help."""
    for source in with_words(files, [re.escape(literal)]):
        described = (
            it for it in source.nodes() if isinstance(it, ast.Module | ast.ClassDef | ast.FunctionDef)
        )
        docs = {id(it.body[0].value) for it in described if it.body and isinstance(it.body[0], ast.Expr)}
        for node in source.nodes():
            text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else ""
            if literal in str(text):
                yield f"{source.path}:{getattr(node, 'lineno', 0)}"


def test_only_one_place_knows_how_an_instance_is_started() -> None:
    (known,) = sentences_with(HOW_STARTED, sources(*FLOORS))
    assert known.startswith("bot/system/program.py:")
    pages = (path for path in tracked() if path.startswith("bot/") and path.endswith((".html", ".js")))
    assert [path for path in pages if HOW_STARTED in (ROOT / path).read_text(encoding="utf-8")] == []


def test_the_test_of_how_an_instance_is_started_bites() -> None:
    text = '''"""`cardinal up`: words for developers."""
WAY_OUT = f"start {1} or `cardinal up`"
def f():
    """Start `cardinal up`."""
'''
    assert list(sentences_with(HOW_STARTED, [Source("bot/x.py", text)])) == ["bot/x.py:2"]
