"""Reads the summaries that test runners print: the first witness beside an exit code. Pure.

Each pattern takes one line of at most 500 characters, without colours, in linear time.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from runner.checks import failure

_NUMBER_FIRST = re.compile(r"(?<!\d)(?P<number>\d{1,9}+) (?P<word>[A-Za-z]+)")
# unittest: "expected failures=1" are none.
_WORD_FIRST = re.compile(r"(?<![A-Za-z])(?<!expected )(?P<word>[A-Za-z]+)(?:[=:]\s{0,8}|\s)(?P<number>\d+)")
_WORD_ALONE = re.compile(r"^(?P<word>[A-Za-z]+)\b")  # each such line counts one


class Language(StrEnum):
    """The language of a runner's tests; see `canary.py`."""

    NONE = ""  # Cardinal writes no test for it
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    GO = "go"
    RUST = "rust"
    RUBY = "ruby"
    ELIXIR = "elixir"


class Count(StrEnum):
    """The meaning of a number in a summary."""

    TOTAL = "total"  # with failed and skipped ones
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, eq=False)
class SummaryLine:
    """A line of a summary, and the words whose numbers count."""

    line: re.Pattern[str]
    numbers: re.Pattern[str]
    words: Mapping[str, Count]


@dataclass(frozen=True, slots=True, eq=False)
class Runner:
    """A test runner. `command` finds it in a shell line, or in a file that such a line runs.

    `unit` is the thing it counts; where that is no test, a test that is added changes no number of them.
    """

    name: str
    command: re.Pattern[str]
    shapes: tuple[SummaryLine, ...]
    language: Language = Language.NONE
    unit: str = "test"


def _shape(line: str, numbers: re.Pattern[str], **words: Count) -> SummaryLine:
    return SummaryLine(re.compile(line), numbers, words)


T, P, F, S = Count.TOTAL, Count.PASSED, Count.FAILED, Count.SKIPPED
RUNNERS: tuple[Runner, ...] = (
    Runner(  # docs.pytest.org/en/stable/how-to/output.html: == 1 failed, 39 passed in 0.43s ==
        "pytest",
        re.compile(r"\b(?:pytest|py\.test)\b"),
        (
            _shape(
                r"^(?:=+ )?(?:no tests (?:ran|collected)|\d+ [a-z]+(?: [a-z]+)?(?:, \d+ [a-z]+(?: [a-z]+)?)*)"
                r" in \d[\d.]*s(?: \([\d:]+\))?(?: =+)?$",
                _NUMBER_FIRST,
                passed=P, failed=F, error=F, errors=F, skipped=S,
            ),
        ),
        Language.PYTHON,
    ),
    Runner(  # docs.python.org/3/library/unittest.html: Ran 5 tests in 0.002s
        "unittest",
        re.compile(r"-m\s+unittest\b|\bmanage\.py\s+test\b|\bunittest\.main\b"),
        (
            _shape(r"^Ran \d+ tests? in \d", _NUMBER_FIRST, test=T, tests=T),
            _shape(
                r"^(?:OK|FAILED|NO TESTS RAN) \(", _WORD_FIRST, failures=F, errors=F, skipped=S
            ),
        ),
        Language.PYTHON,
    ),
    Runner(  # nodejs.org/api/test.html#test-reporters: spec and tap
        "node --test",
        re.compile(r"\bnode\b[^\n;&|]{0,200}\s--test\b"),
        (_shape(r"^(?:ℹ|#) (?:pass|fail|cancelled) \d+$", _WORD_FIRST, **{"pass": P}, fail=F, cancelled=F),),
        Language.JAVASCRIPT,
    ),
    Runner(  # jestjs.io/docs/cli: Tests:       1 failed, 17 passed, 18 total
        "jest",
        re.compile(r"\bjest\b"),
        (_shape(r"^Tests:\s+\d", _NUMBER_FIRST, passed=P, failed=F),),
        Language.JAVASCRIPT,
    ),
    Runner(  # vitest.dev/guide/reporters:  Tests  1 failed | 1 passed (2)
        "vitest",
        re.compile(r"\bvitest\b"),
        (_shape(r"^\s{1,12}Tests\s{1,4}\d", _NUMBER_FIRST, passed=P, failed=F),),
        Language.JAVASCRIPT,
    ),
    Runner(  # mochajs.org/#spec:   3 passing (12ms)
        "mocha",
        re.compile(r"\bmocha\b"),
        (_shape(r"^\s{0,4}\d+ (?:passing|failing)\b", _NUMBER_FIRST, passing=P, failing=F),),
        Language.JAVASCRIPT,
    ),
    Runner(  # bun.sh/docs/cli/test:  4 pass
        "bun test",
        re.compile(r"\bbun\s+test\b"),
        (_shape(r"^\s{0,4}\d+ (?:pass|fail)$", _NUMBER_FIRST, **{"pass": P}, fail=F),),
        Language.JAVASCRIPT,
    ),
    Runner(  # docs.deno.com/runtime/fundamentals/testing: ok | 2 passed | 0 failed (5ms)
        "deno test",
        re.compile(r"\bdeno\s+test\b"),
        (_shape(r"^(?:ok|FAILED) \| \d+ passed\b", _NUMBER_FIRST, passed=P, failed=F),),
        Language.JAVASCRIPT,
    ),
    Runner(  # pkg.go.dev/cmd/go#hdr-Test_packages: ok  	example.com/shop	0.004s
        "go test",
        re.compile(r"\bgo\s+test\b"),
        (_shape(r"^(?:ok|FAIL)\s{1,4}[^\s\[]+\s{1,4}(?:\(cached\)|\d[\d.]*s)", _WORD_ALONE, ok=P, FAIL=F),),
        Language.GO,
        "package",
    ),
    Runner(  # doc.rust-lang.org/cargo/commands/cargo-test.html: test result: ok. 3 passed; 0 failed;
        "cargo test",
        re.compile(r"\bcargo\b[^\n;&|]{0,100}\s(?:test|t)\b"),
        (_shape(r"^test result: (?:ok|FAILED)\. \d+ passed; \d+ failed", _NUMBER_FIRST, passed=P, failed=F),),
        Language.RUST,
    ),
    Runner(  # rspec.info/features/3-13/rspec-core/command-line: 2 examples, 0 failures
        "rspec",
        re.compile(r"\brspec\b"),
        (
            _shape(
                r"^\d+ examples?, \d+ failures?",
                _NUMBER_FIRST,
                example=T, examples=T, failure=F, failures=F, pending=S,
            ),
        ),
        Language.RUBY,
    ),
    Runner(  # docs.seattlerb.org/minitest: 8 runs, 17 assertions, 0 failures, 0 errors, 0 skips
        "minitest",
        re.compile(r"\bminitest\b|\btest/unit\b|\b(?:rake|rails)\s+test\b"),
        (
            _shape(
                r"^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors\b",
                _NUMBER_FIRST,
                runs=T, tests=T, failures=F, errors=F, skips=S, pendings=S, omissions=S,
            ),
        ),
    ),
    Runner(  # hexdocs.pm/mix/Mix.Tasks.Test.html: 4 tests, 0 failures
        "mix test",
        re.compile(r"\bmix\s+test\b"),
        (
            _shape(
                r"^(?:\d+ doctests?, )?\d+ tests?, \d+ failures?",
                _NUMBER_FIRST,
                doctest=T, doctests=T, test=T, tests=T, failure=F, failures=F, skipped=S,
            ),
        ),
        Language.ELIXIR,
    ),
    Runner(  # docs.phpunit.de/en/11.5/textui.html: OK (3 tests, 5 assertions)
        "phpunit",
        re.compile(r"\bphpunit\b"),
        (
            _shape(r"^OK \(\d+ tests?, ", _NUMBER_FIRST, test=T, tests=T),
            _shape(
                r"^Tests: \d+, Assertions: \d", _WORD_FIRST, Tests=T, Errors=F, Failures=F, Skipped=S
            ),
        ),
    ),
    Runner(  # metacpan.org/dist/Test-Harness/view/bin/prove: Files=11, Tests=104,  2 wallclock secs
        "prove",
        re.compile(r"\bprove\b|\bperl\s+Makefile\.PL\b"),
        (
            _shape(r"^Files=\d+, Tests=\d+, ", _WORD_FIRST, Tests=T),
            _shape(r"\(Wstat: .{1,60}Failed: \d+\)$", _WORD_FIRST, Failed=F),
        ),
    ),
    Runner(  # cmake.org/cmake/help/latest/manual/ctest.1.html: 95% tests passed, 1 tests failed out of 22
        "ctest",
        re.compile(r"\bctest\b"),
        (
            _shape(
                r"^\d+% tests passed, \d+ tests failed out of \d+$",
                re.compile(r"(?P<number>\d{1,9})(?P<word> tests failed|$)"),
                **{" tests failed": F, "": T},
            ),
        ),
    ),
    Runner(  # maven.apache.org/surefire: [INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 1
        "maven",
        re.compile(r"\bmvnw?\b"),
        (
            _shape(
                r"^(?:\[[A-Z]+\]\s)?Tests run: \d+, Failures: \d+, Errors: \d+, Skipped: \d+$",
                _WORD_FIRST, run=T, Failures=F, Errors=F, Skipped=S,
            ),
        ),
    ),
    Runner(  # learn.microsoft.com/dotnet/core/tools/dotnet-test: Passed!  - Failed:     0, Passed:    12,
        "dotnet test",
        re.compile(r"\bdotnet\s+test\b"),
        (_shape(r"^(?:Passed|Failed)!\s{1,4}- Failed:\s{1,8}\d+, Passed:", _WORD_FIRST, Passed=P, Failed=F),),
    ),
)  # fmt: skip
BY_NAME = {runner.name: runner for runner in RUNNERS}


@dataclass(frozen=True, slots=True)
class Summary:
    """A runner's numbers of its own tests; `runner` is empty where nothing in an output is a summary."""

    runner: str = ""
    passed: int = 0
    failed: int = 0


def read_summary(output: str, expected: tuple[Runner, ...] = RUNNERS) -> Summary:
    """Return the sum of the summaries of the runner that printed most tests; of equal ones the first."""
    read = (_read(runner, output) for runner in expected)
    return max(
        (summary for summary in read if summary.runner),
        key=lambda summary: summary.passed + summary.failed,
        default=Summary(),
    )


def find_runners(text: str) -> tuple[Runner, ...]:
    """Return the runners that a shell line, or a script, names."""
    return tuple(runner for runner in RUNNERS if runner.command.search(text))


def find_failing(output: str, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(
        name
        for line in _lines(output)
        for name in names
        if name in line.replace(" ", "_") and any(shape.search(line) for shape in _FAILURES)
    )


_FAILURES = (
    *(shape for shapes in failure.TESTS for shape in shapes),
    re.compile(r"^\s{1,8}\d+\) \S"),  # mocha, mix test
    re.compile(r"^\(fail\) \S"),  # bun
    re.compile(r" \.\.\. FAILED\b"),  # deno
)


def _lines(output: str) -> Iterator[str]:
    return map(failure.output_line, output.split("\n"))


def _read(runner: Runner, output: str) -> Summary:
    sums = dict.fromkeys(Count, 0)
    seen = False
    for line in _lines(output):
        for shape in runner.shapes:
            if shape.line.search(line):
                seen = True
                for count, number in _numbers(shape, line):
                    sums[count] += number
    if not seen:
        return Summary()
    rest = max(0, sums[Count.TOTAL] - sums[Count.FAILED] - sums[Count.SKIPPED])
    return Summary(runner.name, sums[Count.PASSED] + rest, sums[Count.FAILED])


def _numbers(shape: SummaryLine, line: str) -> Iterator[tuple[Count, int]]:
    for match in shape.numbers.finditer(line):
        count = shape.words.get(match["word"])
        if count is not None:
            yield count, int(match.groupdict().get("number", "1")[:9])
