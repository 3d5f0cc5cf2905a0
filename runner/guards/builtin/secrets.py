"""Keys, tokens and passwords in added lines, names of files and messages; findings never contain them.

They are found by Kingfisher's rules and by those of `secret_rules.yml`. Only patterns are used, on text in
memory: nothing asks the network whether a key is valid.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from runner.guards.contract import NOTHING, Breach, Change, breach
from runner.run.run_spec import Guards
from runner.text.untrusted import without_invisible

if TYPE_CHECKING:
    from kingfisher_sdk import Scanner

RULES = Path(__file__).parents[1] / "secret_rules.yml"
_DOUBTFUL = (
    "address-with-password", "authorization-header", "curl-auth-header", "curl-auth-user", "docker-login",
    "generic-credential-uri", "jwt", "jwt-base64", "mongodb-connection-string", "password",
    "password-in-settings", "private-key-value", "unquoted-password",
)  # fmt: skip  # common in examples and tests: a person decides
_PIECE = 12_000  # characters; within a piece, time may grow with the square of what some rules match
_OVERLAP = 2_000

_COMPILING = Lock()
_LOOKS = {0xFE0E: None, 0xFE0F: None}  # behind a letter nobody sees them


@dataclass(frozen=True, slots=True)
class SecretLine:
    """A secret in the line of this index. `doubtful`: as often an example as a secret."""

    line: int
    rule: str
    doubtful: bool

    @property
    def kind(self) -> str:
        """Return the name of its kind, as the end of a sentence."""
        return f"what {'may be' if self.doubtful else 'looks like'} a secret ({self.rule})"


def find_secrets(lines: Sequence[str]) -> Iterator[SecretLine]:
    """Yield the lines that hold secrets, in order: each once, by its most certain rule."""
    text = "\n".join(map(_strip_signs, lines))
    best: dict[int, tuple[bool, bool, str]] = {}
    first = 0  # the index of the line in which the piece begins
    for start in range(0, max(1, len(text) - _OVERLAP), _PIECE - _OVERLAP):
        for line, rank in _scan(text[start : start + _PIECE]):
            best[first + line] = min(best.get(first + line, rank), rank)
        first += text.count("\n", start, start + _PIECE - _OVERLAP)
    yield from (SecretLine(line, rule, doubtful) for line, (doubtful, _, rule) in sorted(best.items()))


def _strip_signs(line: str) -> str:
    """Return a line as people copy it: without signs that nobody sees, its letters of the usual width."""
    if line.isascii() and line.isprintable():
        return line
    seen = without_invisible(unicodedata.normalize("NFKC", line).translate(_LOOKS))
    return seen.replace("\n", " ")


def _scan(text: str) -> Iterator[tuple[int, tuple[bool, bool, str]]]:
    """Yield the line of each secret, and its rank: is it doubtful, is its rule not ours, and which one."""
    for finding in load_scanner().scan(text.encode("utf-8", "replace")):
        if finding.visible:  # the others are no secrets, and only help to judge their neighbours
            source, _, name = finding.rule_id.partition(".")
            rule = name.removeprefix("secrets/")
            yield finding.location["line"] - 1, (rule in _DOUBTFUL, source != "cardinal", rule)


@cache
def _compile_rules() -> "Scanner":
    from kingfisher_sdk import Rules, Scanner  # 36 MB of code, which is not needed where nothing is searched

    return Scanner(Rules([RULES]))


def load_scanner() -> "Scanner":
    """Return the compiled rules, made once: 0.3 s of work, and several times that on a busy machine."""
    with _COMPILING:
        return _compile_rules()


FINDS = "Keys, tokens and private keys in added lines, file names, messages (doubtful ones are asked about)"
ACTION = "deny"
LOAD = load_scanner
_ADVICE = "take it out of every commit, and have its owner replace it"
_UNREAD = "make the change smaller, so that all of it can be looked through"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield added lines and commit messages that look like secrets, by kind."""
    rule = f"secrets: {rules.action('secrets')}"
    for touched in change.touched:
        if touched.unread and touched.is_file:
            what = "was not searched for secrets: it is too large, or one of too many files"
            yield breach(touched, rule, what, _UNREAD, doubtful=True)
        for secret in find_secrets([text for _, text in touched.lines]):
            number = touched.lines[secret.line][0]
            yield breach(
                touched, rule, f"holds {secret.kind}", _ADVICE, line=number, doubtful=secret.doubtful
            )
    there = [touched for touched in change.touched if touched.mode != NOTHING]
    for secret in find_secrets([touched.path.replace("\n", " ") for touched in there]):
        named = breach(there[secret.line], rule, f"holds {secret.kind}", _ADVICE, doubtful=secret.doubtful)
        yield replace(named, path="(the name of a file)")
    for message in change.messages:
        place, lines = "(a commit message)", message.text.splitlines()
        for what, doubtful in dict.fromkeys((secret.kind, secret.doubtful) for secret in find_secrets(lines)):
            yield Breach(
                path=place,
                rule=rule,
                what=f"holds {what}",
                advice=_ADVICE,
                commit=message.commit,
                line=0,
                mark=message.commit,
                doubtful=doubtful,
            )
