"""What the browser's program tells of its steps, line by line, and what it comes to. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ledger.events.reproduction import FAILED, KILLED, PASSED, UNPLAYABLE
from runner.text.redact import redact
from runner.text.truncate import one_line

MAX_ERRORS = 10
_SAID_BYTES = 400
_LINE_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """How it went: `step` is the one that failed, from 1, or 0."""

    outcome: str
    step: int
    said: str


@dataclass(slots=True)
class Browsed:
    """What was told so far. The program is Cardinal's own, but it lives beside the app: nothing of it is
    believed beyond its shape. The app can write to the same output; it does not know the key.
    """

    steps: int
    key: str  # that every line of the program's own has, and the app cannot know
    ready: bool = False
    done: bool = False
    passed: int = 0
    failed: str = ""  # how the step after those did not come true
    problem: str = ""
    errors: tuple[str, ...] = ()
    error_count: int = 0

    def take(self, line: str) -> None:
        """Take one line of its output; one that is no line of ours is passed over."""
        if len(line) > _LINE_BYTES:
            return
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(told, dict) or told.get("key") != self.key:
            return
        if "ready" in told:
            self.ready = told["ready"] is True
            self.problem = "" if self.ready else _short(told.get("said"))
        elif "step" in told:
            self._step(told)
        elif isinstance(told.get("errors"), list):
            self.errors = tuple(_short(one) for one in told["errors"][-MAX_ERRORS:])
            count = told.get("error_count")
            self.error_count = max(len(self.errors), count) if type(count) is int else len(self.errors)
        self.done = self.done or told.get("done") is True

    def _step(self, told: dict[str, Any]) -> None:
        if told["step"] != self.passed + 1 or self.failed or self.passed >= self.steps:
            return
        said = _short(told.get("said"))
        if said or told.get("said") != "":
            self.failed = said or "it did not work"
        else:
            self.passed += 1

    def outcome(self, problem: str = "", *, killed: bool = False) -> ReplayResult:
        """Return what it comes to; `problem` is why the program did not end by itself, if it did not.

        A step that failed before the program was `killed` has failed: both are said.
        """
        if self.failed:
            return ReplayResult(
                FAILED, self.passed + 1, f"{self.failed}; then {problem}" if killed else self.failed
            )
        if self.passed == self.steps and self.steps:
            return ReplayResult(PASSED, 0, "")
        where = f" during step {self.passed + 1}" if self.ready else ""
        if killed:
            return ReplayResult(KILLED, 0, f"{_short(problem)}{where}")
        said = self.problem or problem or "the browser's program ended without a word"
        return ReplayResult(UNPLAYABLE, 0, f"{_short(said)}{where}")


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    """Return steps as an event keeps them."""
    return tuple(map(_short, texts))


def _short(text: object) -> str:
    return one_line(redact(str(text)), _SAID_BYTES)
