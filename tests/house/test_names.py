"""Names say what a thing is: no words that fit everything, and one meaning for each word."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from tests.house.source import Source, sources

EMPTY_WORDS = {"util", "common", "helper", "manager"}
FLOORS = ("bot", "rules", "runner", "ledger")  # the forge is another program, with GitHub's words
# Parts of one kind have the same members, by their contract.
OF_PARTS = {"Settings", "Wire"}


def words(name: str) -> set[str]:
    """Return the words of a snake_case or CamelCase name, lower-case and in the singular."""
    found = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    lower = {word.lower() for word in found}
    return lower | {re.sub(r"(?<=s)es$|s$", "", word) for word in lower}


def empty_names(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        for part in PurePosixPath(source.path).with_suffix("").parts:
            if words(part) & EMPTY_WORDS:
                yield f"{source.path}: {part}"
        for name, node in source.named():
            if words(name) & EMPTY_WORDS:
                yield f"{source.path}:{node.lineno} {name}"


def homonyms(files: Iterable[Source]) -> set[str]:
    """Return the names of public classes that more than one module defines."""
    places = defaultdict(set)
    for source in files:
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(source.path)
    return {name for name, paths in places.items() if len(paths) > 1}


def silent_modules(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        if source.is_public and not ast.get_docstring(source.tree):
            yield source.path


def test_no_name_uses_a_word_that_fits_everything() -> None:
    assert list(empty_names(sources())) == []


def test_every_public_module_says_what_it_owns() -> None:
    assert list(silent_modules(sources())) == []


def test_a_class_has_a_name_of_its_own() -> None:
    product = [source for source in sources() if source.package in FLOORS]
    assert homonyms(product) - OF_PARTS == set()


def test_the_name_tests_bite() -> None:
    bad = Source("bot/utils.py", "def process_card(): ...\nclass RunManager: ...\ndef metadata(): ...\n")
    assert list(empty_names([bad])) == ["bot/utils.py: utils", "bot/utils.py:2 RunManager"]
    assert list(empty_names([Source("bot/a.py", "class HTTPHelper: ...")])) == ["bot/a.py:1 HTTPHelper"]
    twice = [Source("bot/a.py", "class Told: ...\nclass _Own: ..."), Source("rules/a.py", "class Told: ...")]
    assert homonyms(twice) == {"Told"}
    assert list(silent_modules([Source("bot/a.py", "x = 1"), Source("bot/__init__.py", "")])) == ["bot/a.py"]
    assert list(silent_modules([Source("bot/a.py", '"""Owns a."""'), Source("bot/_a.py", "x = 1")])) == []
