"""Names say what a thing is, without words that fit everything; every module says what it owns."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from tests.house.source import Source, sources

EMPTY_WORDS = {"util", "common", "helper", "manager", "handle", "process", "data"}
# Names that an outside contract chooses: (path, name) -> whose they are.
CHOSEN_OUTSIDE: dict[tuple[str, str], str] = {
    ("runner/text/page_text.py", name): "html.parser.HTMLParser"
    for name in ("handle_starttag", "handle_endtag", "handle_data")
}


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
            if words(name) & EMPTY_WORDS and (source.path, name) not in CHOSEN_OUTSIDE:
                yield f"{source.path}:{node.lineno} {name}"


def silent_modules(files: Iterable[Source]) -> Iterator[str]:
    for source in files:
        if source.is_public and not ast.get_docstring(source.tree):
            yield source.path


def test_no_name_uses_a_word_that_fits_everything() -> None:
    assert list(empty_names(sources())) == []


def test_every_public_module_says_what_it_owns() -> None:
    assert list(silent_modules(sources())) == []


def test_every_exemption_is_still_needed() -> None:
    present = {(source.path, name) for source in sources() for name, _ in source.named()}
    assert set(CHOSEN_OUTSIDE) <= present


def test_the_name_tests_bite() -> None:
    bad = Source("bot/utils.py", "def process_card(): ...\nclass RunManager: ...\ndef metadata(): ...\n")
    assert list(empty_names([bad])) == [
        "bot/utils.py: utils",
        "bot/utils.py:1 process_card",
        "bot/utils.py:2 RunManager",
    ]
    assert list(empty_names([Source("bot/a.py", "def list_processes(): ...")])) == [
        "bot/a.py:1 list_processes"
    ]
    assert list(empty_names([Source("bot/a.py", "class HTTPHelper: ...")])) == ["bot/a.py:1 HTTPHelper"]
    assert list(silent_modules([Source("bot/a.py", "x = 1"), Source("bot/__init__.py", "")])) == ["bot/a.py"]
    assert list(silent_modules([Source("bot/a.py", '"""Owns a."""'), Source("bot/_a.py", "x = 1")])) == []
