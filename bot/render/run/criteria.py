"""The criteria of a planned card, and the tests that the agent names for them, with their results."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.render.markdown.escape import code, line
from bot.render.run.evidence import newest
from ledger.views.checks import CheckRow
from ledger.views.reports import ReportRow
from rules.text import plain
from runner.checks import failure

MAX_CRITERIA, MAX_TESTS = 30, 5
MAX_TEXT, MAX_NAME = 300, 160
NOTE = "The agent named these tests. Their results are those in the output of the checks."
UNSHOWN = "not shown by a test: check it"
_TASK = re.compile(r"^(?:[-*+]|\d{1,9}[.)])\s+\[[ xX]\]\s+(\S.*)$")
_FENCES = ("```", "~~~")
_PARTS = re.compile(r"::|[›>#./\\()]")
_CASE = re.compile(r"\[[^\[\]]*\]$")  # of a test with parameters
# A line that names a test that passed.
_PASSED = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?P<name>[^\s:]+\.py::\S.*?) PASSED\b",  # pytest -v
        r"^PASSED (?P<name>[^\s:]+\.py::\S.*)$",  # pytest -rA
        r"^(?P<name>\w+ \([\w.]+\)) \.\.\. ok$",  # unittest -v
        r"^\s*--- PASS: (?P<name>\S+)",  # go test -v
        r"^test (?P<name>\S.*) \.\.\. ok$",  # cargo test
        r"^\s*[✓✔√]\s+(?P<name>\S.*?)(?:\s\(?[\d.]+\s?m?s\)?)?$",  # node, jest --verbose, vitest
        r"^\s*ok \d+ (?:- )?(?P<name>\S.*)$",  # TAP
    )
)


class Outcome(StrEnum):
    """The result of a test that an agent named, as people read it."""

    PASSED = "passed"
    FAILED = "failed"
    ABSENT = "no result: not among the tests that the checks list"
    UNKNOWN = "no result: the checks list no tests"


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion of the brief, and each test that the agent named for it, with its result."""

    text: str
    tests: tuple[tuple[str, Outcome], ...] = ()


def list_criteria(
    brief: str, reports: Iterable[ReportRow], checks: tuple[CheckRow, ...]
) -> tuple[Criterion, ...]:
    """Return the criteria of the brief, its task list; of several reports the newest that names a criterion
    counts. `checks` are those whose output has the results.
    """
    named: dict[str, tuple[str, ...]] = {}
    for report in reports:
        claims: dict[str, list[str]] = {}
        for claim in report.criteria:
            claims.setdefault(_same(claim.criterion), []).append(claim.test)
        named |= {text: tuple(dict.fromkeys(tests)) for text, tests in claims.items()}
    wanted = _tasks(brief)
    results = _Results(checks if named and wanted else ())
    return tuple(
        Criterion(
            text,
            tuple(
                (plain(test, MAX_NAME), results.find(test)) for test in named.get(_same(text), ())[:MAX_TESTS]
            ),
        )
        for text in wanted
    )


def criteria_table(criteria: Sequence[Criterion]) -> str:
    """Return the table of a pull request; empty where the brief has no criteria."""
    if not criteria:
        return ""
    rows = [
        f"| {line(it.text)} | {'<br>'.join(_format_test(*test) for test in it.tests) or f'⚠️ {UNSHOWN}'} |"
        for it in criteria
    ]
    note = [NOTE, ""] if any(it.tests for it in criteria) else []
    return "\n".join(["**Criteria**", "", *note, "| Criterion | Shown by |", "| --- | --- |", *rows])


def _format_test(name: str, outcome: Outcome) -> str:
    mark = {Outcome.PASSED: "✅ ", Outcome.FAILED: "❌ "}.get(outcome, "⚠️ ")
    return f"{code(name)} {mark}{outcome}"


def _tasks(brief: str) -> tuple[str, ...]:
    tasks: dict[str, None] = {}
    fence = ""
    for row in map(str.strip, brief.splitlines()):
        if fence:
            fence = "" if row.startswith(fence) else fence
        elif row.startswith(_FENCES):
            fence = row[:3]
        elif task := _TASK.match(row):
            tasks[plain(task[1], MAX_TEXT)] = None
    return tuple(text for text in tasks if text)[:MAX_CRITERIA]


def _same(text: str) -> str:
    """Return a criterion without what an agent writes otherwise: case, marks, and the box before it."""
    task = _TASK.match(text.strip())
    return "".join(filter(str.isalnum, plain(task[1] if task else text, MAX_TEXT).casefold()))


class _Results:
    """The results of the tests that the newest output of each check lists."""

    def __init__(self, checks: tuple[CheckRow, ...]) -> None:
        self._passed: set[tuple[str, ...]] = set()
        self._failed: set[tuple[str, ...]] = set()
        for check in newest(checks):
            if check.exit_code != 0:
                self._failed |= _ends_of(failure.read(check.command, check.tail).names)
            if check.believed:
                self._passed |= _ends_of(_list_passed(check.tail))

    def find(self, test: str) -> Outcome:
        name = _parts_of(test)
        if name and name in self._failed:
            return Outcome.FAILED
        if name and name in self._passed:
            return Outcome.PASSED
        return Outcome.ABSENT if self._passed or self._failed else Outcome.UNKNOWN


def _list_passed(output: str) -> list[str]:
    lines = map(failure.output_line, output.split("\n"))
    return [found["name"] for row in lines for shape in _PASSED if (found := shape.search(row))]


def _ends_of(names: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the names in parts, each with all its ends: an agent may leave out the file or the class."""
    wholes = map(_parts_of, names)
    return {whole[start:] for whole in wholes for start in range(len(whole))}


def _parts_of(name: str) -> tuple[str, ...]:
    parts = _PARTS.split(_CASE.sub("", name.strip()))
    return tuple(part.strip() for part in parts if part.strip() not in ("", "py"))
