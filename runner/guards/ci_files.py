"""Files that decide the results of a repository's checks: whole files, and sections of others. Pure."""

import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from runner.guards import tool_files
from runner.guards.path_patterns import fold_case

_OF_TESTS = re.compile(
    r"ignoreFailures|skipTests|maven\.test|surefire|failsafe|jacoco|useJUnit|\bexclude|\b(?:test|check)s?\s?[{:(]"
    r"|tasks?\.(?:named|test|check|withType)|\bonlyIf\b|\benabled\s?=|coverage|test_(?:paths|options)"
    r"|Test\s?/|\baliases\b"
)
_TEST_DEPENDENCY = re.compile(r"^\s*(?:test|androidTest)\w*(?:Implementation|Api|RuntimeOnly|CompileOnly)\b")
_PARTS = re.compile(r"[;&|(){}`\n]")  # of a shell line: each begins with a program
_WORDS = re.compile(r"""[\s<>"'=$,]+""")
_WRITTEN = re.compile(r"""\d?>{1,2}\s*[^\s<>]+""")  # the target of a redirection is not run
_ASSIGNED = re.compile(r"""^\s*(?:\w{1,100}=(?:"[^"]*"|'[^']*'|[^\s"'])*\s+){1,20}""")
_ELSEWHERE = re.compile(r"(?:^|[\s;&|(])(?:cd|pushd|-C|--(?:prefix|directory|cwd))\b")
_CONFIGURED_BY = re.compile(r"--.*|-c")  # settings, or a shell line
_RUNNERS = frozenset({
    "sh", "bash", "dash", "zsh", "ksh", "source", ".", "python", "python3", "pypy3", "node", "deno", "bun",
    "ruby", "perl", "php", "lua", "tsx", "ts-node", "exec", "env", "time", "nice", "timeout", "sudo",
    "xargs", "if", "then", "else", "do", "while", "until", "!", "run", "npx",
})  # fmt: skip
_MODULE = re.compile(r"[A-Za-z_][\w.]{0,200}")
Sections = dict[str, object]


def why_decisive(path: str, *, is_link: bool = False) -> str:
    """Return why a whole file decides, as the end of a sentence; empty when it does not."""
    return tool_files.find_reason(path, "checks", is_link=is_link)


def is_named(path: str, commands: Iterable[str]) -> bool:
    """Whether a shell line of the checks names the file, as a path or as a module of Python."""
    return any(_fits(fold_case(path), line) for line in commands)


def _fits(path: str, line: str) -> bool:
    elsewhere = _ELSEWHERE.search(line) is not None
    return any(
        path == place or (elsewhere and path.endswith(f"/{place}"))
        for part in _PARTS.split(line)
        for place in _run_by(_WORDS.split(_ASSIGNED.sub("", _WRITTEN.sub(" ", part))))
    )


def _run_by(words: list[str]) -> Iterator[str]:
    """Yield the files that a command runs, or is configured by; files that it only reads decide nothing."""
    before = "exec"  # at the beginning stands a program
    for at, word in enumerate(words):
        if not word:
            continue
        if at and words[at - 1] == "-m" and _MODULE.fullmatch(word):
            module = fold_case(word.replace(".", "/"))
            yield from (f"{module}.py", f"{module}/__main__.py", f"{module}/__init__.py")
        elif before in _RUNNERS or (at and _CONFIGURED_BY.fullmatch(words[at - 1])):
            yield posixpath.normpath(fold_case(word))
        if not word.startswith("-") and not word.isdigit():
            before = word.rsplit("/", 1)[-1]


def by_lines(path: str) -> bool:
    return bool(tool_files.find_reason(path, "lines"))


def decides(line: str) -> bool:
    """Whether a line of such a file is about tests; a dependency of tests is not."""
    return _OF_TESTS.search(line) is not None and not _TEST_DEPENDENCY.match(line)


def has_sections(path: str) -> bool:
    return _name(path) in _READERS


def find_altered_sections(path: str, before: str, after: str) -> tuple[str, ...]:
    """Return the deciding sections that differ; the whole file, as `it`, where a text cannot be parsed."""
    read = _READERS[_name(path)]
    try:
        old, new = (read(text) if text.strip() else {} for text in (before, after))
        return tuple(sorted(key for key in {*old, *new} if old.get(key) != new.get(key)))
    except (ValueError, configparser.Error, RecursionError):
        return ("it",)


def _name(path: str) -> str:
    return fold_case(path).rsplit("/", 1)[-1]


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _pick_sections(document: object, places: Iterable[str]) -> Sections:
    """Return the value at each of these places, whose keys are separated by a space."""
    chosen = {place: _at(document, *place.split(" ")) for place in places}
    return {place: value for place, value in chosen.items() if value is not None}


def _json(*places: str) -> Callable[[str], Sections]:
    return lambda text: _pick_sections(json.loads(text), places)


def _toml(*places: str) -> Callable[[str], Sections]:
    return lambda text: _pick_sections(tomllib.loads(text), places)


_INI = re.compile(
    r"tool:pytest|coverage.*|flake8.*|mypy.*|pylint.*|pycodestyle|tox.*|testenv.*|aliases|isort"
)


def _ini(text: str) -> Sections:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections() if _INI.fullmatch(name.casefold())}


_READERS: dict[str, Callable[[str], Sections]] = {
    "package.json": _json(
        *("scripts", "jest", "vitest", "mocha", "ava", "nyc", "c8", "tap", "eslintConfig", "lint-staged"),
        *("wireit", "nx"),
    ),
    "composer.json": _json("scripts", "autoload-dev"),
    "deno.json": _json("tasks", "test", "lint"),
    "pyproject.toml": _toml(
        *("tool pytest", "tool coverage", "tool tox", "tool nox", "tool poe", "tool taskipy"),
        *("tool hatch envs", "tool ruff", "tool mypy", "tool pyright", "tool pylint", "tool black"),
        *("tool pdm scripts", "tool poetry scripts", "project entry-points pytest11"),
    ),
    "cargo.toml": _toml("test", "lints", "workspace lints", "lib test", "lib doctest", "profile test"),
    "setup.cfg": _ini,
}


def sections_named(keys: Iterable[str]) -> Iterator[str]:
    """Yield the first three of these sections by their usual names."""
    for key in islice(keys, 3):
        yield f"`{key.replace(' ', '.')}`" if key != "it" else "the file"
