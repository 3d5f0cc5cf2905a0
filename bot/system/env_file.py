"""Env file, as python-dotenv reads it, and whose home is obeyed. No mistake is named by its text."""

import io
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from dotenv.parser import Binding, parse_stream

from ledger.errors import CardinalError

PREFIX = "CARDINAL_"
ENV_FILE = "env"
OWN_AGENTS = "agents"  # the folder of the operator's own agents
_QUOTED = re.compile(r"\s*(?:export\s+)?(?P<name>[^=\s]+)\s*=\s*(?P<quote>['\"])(?P<rest>.*)", re.DOTALL)


class EnvLineError(CardinalError):
    """A line is not `NAME=value`; `line` counts from 1. The text is left out: it may be a secret."""

    def __init__(self, line: int, because: str) -> None:
        self.line, self.because = line, because
        super().__init__(f"line {line}: {because}")


def parse_env(text: str) -> dict[str, str]:
    """Return the values by name. Raises EnvLineError for a line that is none and a name given twice."""
    values: dict[str, str] = {}
    for binding in _bindings(text):
        if binding.key in values:
            raise EnvLineError(_line_of(binding), f"{binding.key} is given twice")
        if binding.key is not None:
            values[binding.key] = binding.value or ""
    return values


def change_text(text: str, values: Mapping[str, str]) -> str:
    """Return the file's text with these values set; everything else stays as people wrote it.

    Raises EnvLineError for a text that cannot be read, and ValueError for a value that would need quotes.
    """
    lines = {name: _line(name, value) for name, value in values.items()}
    parts = []
    for binding in _bindings(text):
        written = binding.original.string
        blank = written[: len(written) - len(written.lstrip())]
        parts.append(blank + lines.pop(binding.key) if binding.key in lines else written)
    if parts and not parts[-1].endswith("\n"):
        parts.append("\n")
    return "".join((*parts, *lines.values()))


def _line(name: str, value: str) -> str:
    if not re.fullmatch(r"[^\s'\"#][^\s'\"]*|", value):
        raise ValueError(f"{name} would need quotes")
    return f"{name}={value}\n"


def _bindings(text: str) -> Iterator[Binding]:
    for binding in parse_stream(io.StringIO(text)):
        if binding.error or (binding.key is not None and binding.value is None):
            raise EnvLineError(_line_of(binding), _mistake(binding.original.string))
        yield binding


def _line_of(binding: Binding) -> int:
    """Return the line of an assignment: python-dotenv counts from the blank lines before it."""
    written = binding.original.string
    return int(binding.original.line) + written[: len(written) - len(written.lstrip())].count("\n")


def _mistake(written: str) -> str:
    quoted = _QUOTED.match(written)
    if quoted is None:
        return "not NAME=value"
    ends = quoted["quote"] in quoted["rest"]
    return (
        f"text after the quote of {quoted['name']}" if ends else f"the quote of {quoted['name']} never ends"
    )


def why_foreign(home: Path) -> str:
    """Return why a home that nobody named, but that lies in the current folder, is not obeyed; else nothing.

    Cardinal makes it for its user alone. One that came with a clone or from somebody else looks otherwise.
    """
    try:
        there = home.stat()
    except OSError:
        return ""
    if there.st_uid == os.geteuid() and not stat.S_IMODE(there.st_mode) & 0o077:
        return ""
    return (
        f"{home} belongs to another user or is open to others, so it is not used: it may have come with this "
        f"folder. If it is yours, run `chmod 700 {home}`, or name it in CARDINAL_HOME"
    )


class ForeignHomeError(CardinalError):
    """A home that nobody named is somebody else's, or open to others."""


def read_settings(environ: Mapping[str, str], cwd: Path) -> "GivenSettings":
    """Return the settings as texts: `environ`, without empty ones, over the env file.

    Raises ForeignHomeError.
    """
    named = environ.get(PREFIX + "HOME")
    home = cwd / (named or ".cardinal")
    if not named and (foreign := why_foreign(home)):
        raise ForeignHomeError(foreign)
    lines, mistakes = read_lines(home / ENV_FILE)
    own = {name: text for name, text in environ.items() if text and name.startswith(PREFIX)}
    return GivenSettings(home, lines, lines | own, tuple(mistakes))


class GivenSettings(NamedTuple):
    """Settings by their variables' names, as nobody checked them yet; `lines` are those of the env file."""

    home: Path
    lines: Mapping[str, str]
    texts: Mapping[str, str]
    mistakes: tuple[str, ...]


def read_lines(path: Path) -> tuple[dict[str, str], list[str]]:
    """Return the env file's settings and its mistakes; none for a missing file."""
    try:
        return parse_env(path.read_text(encoding="utf-8")), []
    except FileNotFoundError:
        return {}, []
    except EnvLineError as error:
        return {}, [f"{path} line {error.line}: {error.because}"]
    except (OSError, UnicodeDecodeError) as error:
        return {}, [f"{path} cannot be read: {type(error).__name__}"]
