"""Reads a failing check's output: failing tests, signature, and the useful part of it. Pure.

Each pattern takes one line without colours, of at most 500 characters, in linear time.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from runner.text.plain import cut_bytes, one_line, tail, without_terminal_codes

_LINE_CHARACTERS = 500
_SIGNATURE_LINES = 80  # of an output in which nothing is recognised: its end
_NOISE: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\d{4}-\d\d-\d\d[T _]\d\d[:.]\d\d[:.]\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
    (re.compile(r"\b0x[0-9A-Fa-f]+\b"), "<address>"),
    (re.compile(r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b"), "<id>"),
    (re.compile(r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b"), "<id>"),
    # The folders are chance, the file in them is not.
    (
        re.compile(r"(?:/private)?/(?:tmp|var/tmp|var/folders|run/user|dev/shm)/(?:[^\s/:'\"()]+/)*"),
        "<temp>/",
    ),
    (re.compile(r"\btmp[.\w-]{4,}"), "<temp>"),
    (re.compile(r"\b\d+(?:[.,]\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?)\b"), "<time>"),
    (re.compile(r"(?<![A-Za-z_\d])\d+(?:[.,]\d+)*(?![A-Za-z_\d])"), "#"),  # but those that belong to a name
    (re.compile(r"([=\-_.*~#·])\1{2,}"), r"\1"),  # rules are as wide as the terminal
)
_PATH = r"[^\s:()][^:()]{0,200}\.\w{1,8}"
# A line that names a failing test. Of a row the first shape that finds one counts: they say it twice.
TESTS: tuple[tuple[re.Pattern[str], ...], ...] = (
    # pytest: FAILED tests/test_cart.py::test_total - AssertionError: assert 3 == 4
    (re.compile(r"^(?:FAILED|ERROR) (?P<name>[^\s:]+\.py(?:::.+?)?)(?: - .*)?$"),),
    # unittest: FAIL: test_total (tests.test_cart.Carts.test_total)
    (re.compile(r"^(?:FAIL|ERROR): (?P<name>\S+ \(\S+\).*)$"),),
    (
        re.compile(r"^\s{0,4}● (?!Console$)(?P<name>\S.*)$"),  # jest:   ● Cart › adds the tax
        re.compile(r"^\s*FAIL\s+(?P<name>\S+ > .+)$"),  # vitest:  FAIL  src/cart.test.ts > Cart > adds
        re.compile(
            r"^\s*[✕×✗✖]\s+(?P<name>(?!\d+ problems?\b)\S.*?)(?:\s\(?[\d.]+\s?m?s\)?)?$"
        ),  # node, jest --verbose
    ),
    # go:     --- FAIL: TestCart/empty (0.00s)
    (re.compile(r"^\s*--- FAIL: (?P<name>\S+)"),),
    (re.compile(r"^FAIL\s+(?P<name>\S+ \[(?:build|setup) failed\])$"),),
    # cargo: test cart::adds ... FAILED
    (re.compile(r"^test (?P<name>\S.*) \.\.\. FAILED$"),),
    # rspec ./spec/cart_spec.rb:12 # Cart adds the tax
    (re.compile(r"^rspec (?P<name>\./\S+(?: # .*)?)$"),),
    # minitest: CartTest#test_tax [test/cart_test.rb:12]:
    (re.compile(r"^(?P<name>[A-Z]\w*(?:::\w+)*#test_\S+)(?: \[.*\])?:$"),),
    # test-unit: Failure: test_tax(CartTest): <3> expected but was <4>
    (re.compile(r"^(?:Failure|Error): (?P<name>test\w*\([\w:]+\))"),),
    # phpunit: 1) CartTest::testTax
    (re.compile(r"^\d+\) (?P<name>[A-Z][\w\\]*::\w.*)$"),),
    # prove: t/cart.t (Wstat: 256 (exited 1) Tests: 25 Failed: 1)
    (re.compile(r"^(?P<name>\S+)\s+\(Wstat: "),),
    # ctest:   3 - parse_number (Failed)
    (re.compile(r"^\s+\d+ - (?P<name>\S.{0,200}?) \((?!Disabled|Skipped)[A-Z][A-Za-z ]{0,40}\)"),),
    # TAP: not ok 3 - adds the tax
    (re.compile(r"^\s*not ok \d+(?: -)? (?P<name>(?!.*# (?:TODO|SKIP))\S.*)$"),),
)
# A line with a problem at a place of a file.
PROBLEMS = re.compile(
    "|".join(
        (
            rf"^{_PATH}\(\d+,\d+\): error \S",  # tsc
            # ruff, mypy, gcc, go vet
            rf"^(?!CMake .*Warning){_PATH}:\d+(?::\d+)?:? (?!.*\b(?:warning|note)\b:?).*\S",
            r"^\s+\d+:\d+\s+error\s+\S",  # eslint, under its file's name
            r"^error(?:\[\w+\])?: (?!could not compile|test failed|aborting|process didn't)",  # rustc
            r"^[A-Z]{1,4}\d{3,5} (?:\[\*\] )?\S",  # ruff, with a picture of the place below
        )
    )
)
FILE = re.compile(r"^(?:/|\./)?[\w.@-]+(?:/[\w.@-]+)*\.\w{1,8}$")  # eslint: the file of the lines below
# A line with the kind of error.
ERRORS = re.compile(
    r"^E\s+\S|\b(?:[A-Z]\w*(?:Error|Exception|Failure)|[a-z]\w+Error)\b|^panic: |\bpanicked at\b"
)
# Where the details of one failure begin, and where they surely end.
BEGINS = re.compile(
    r"^_{3,} .+ _{3,}$|^(?:FAIL|ERROR): |^\s{0,4}● |^\s*--- FAIL: |^---- .+ stdout ----$|^error(?:\[\w+\])?: "
    r"|^\s{1,4}\d+\) \S|^\s*FAIL\s+\S+ > |^\s+\w+_test\.go:\d+: |^panic: "
    r"|^Traceback \(most recent call last\)|^\s*not ok \d+"
)
ENDS = re.compile(r"^={5,}|^Ran \d+ tests? in |^failures:$|^Failed examples:$|^Tests:\s")
USEFUL_BYTES = 6_000
MAX_NAMES = 20
_NAME_BYTES = 200
# Of an output, its beginning and its end. A million characters take a second, in which no claim is renewed
# and no order to stop is heard.
_READ_CHARS = 400_000
_MAX_FOUND = 1_000
_UNKNOWN_BYTES = 4_000  # of an output in which nothing is recognised
_END_BYTES = 1_500  # of one in which something is
_MIN_END_BYTES = 200
_BLOCK_BYTES = 1_500
_BLOCK_LINES, _BLOCK_HEAD = 30, 8
_MAX_BLOCKS = 20
_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing command's output. `failing` counts failing tests, else problems; 0: unknown.

    `names` are the first of them, each on one line; `useful` helps to repair it, failing tests first.
    """

    failing: int
    names: tuple[str, ...]
    useful: str
    signature: str


def read(command: str, output: str) -> Failure:
    """Return the failure in the output of `command`, where its format is known; else the output's end."""
    lines = [output_line(line) for line in _window(output).split("\n")]
    tests, problems = _tests(lines), _problems(lines)
    failing = tests or problems
    errors = [line for line in lines if ERRORS.search(line)][:_MAX_ERRORS] if failing else []
    names = tuple(one_line(name, _NAME_BYTES) for name in failing[:MAX_NAMES])
    same = failure_signature(command, failing, errors, lines)
    return Failure(len(failing), names, _useful(lines, tests, problems), same)


def _window(output: str) -> str:
    if len(output) <= _READ_CHARS:
        return output
    half = _READ_CHARS // 2
    return f"{output[:half]}\n{output[-half:]}"


def _tests(lines: Sequence[str]) -> list[str]:
    names: dict[str, None] = {}
    for shapes in TESTS:
        for shape in shapes:
            named = [match["name"].strip() for line in lines if (match := shape.search(line))]
            names |= dict.fromkeys(named[:_MAX_FOUND])
            if named:
                break
    # Go names the test around a failing part as well.
    around = {name.rsplit("/", 1)[0] for name in names if "/" in name and " " not in name}
    return [name for name in names if name not in around]


def _problems(lines: Sequence[str]) -> list[str]:
    problems: dict[str, None] = {}
    file = ""
    for line in lines:
        if FILE.match(line):
            file = line
        elif PROBLEMS.search(line):
            indented = line[:1].isspace()
            problems[f"{file}: {line.strip()}" if indented and file else line.strip()] = None
    return list(problems)[:_MAX_FOUND]


def _useful(lines: Sequence[str], tests: Sequence[str], problems: Sequence[str]) -> str:
    """Return names, then details, then the end of the output, as far as they fit."""
    if not tests and not problems:
        return tail("\n".join(lines).strip("\n"), _UNKNOWN_BYTES)
    parts = [_format_list("Failing", tests), _format_list("Problems", () if tests else problems)]
    parts = [part for part in parts if part]
    left = USEFUL_BYTES - sum(len(part.encode()) + 2 for part in parts)
    for block in _blocks(lines) if tests else ():
        size = len(block.encode()) + 2
        if size > left - _END_BYTES:
            break
        parts.append(block)
        left -= size
    head = "The end of the output:\n"
    room = min(left, _END_BYTES) - len(head)
    if room >= _MIN_END_BYTES:
        parts.append(head + tail("\n".join(lines).strip("\n"), room))
    return "\n\n".join(parts)


def _format_list(title: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    rows = [f"- {one_line(name, _NAME_BYTES)}" for name in names[:MAX_NAMES]]
    more = [f"- and {len(names) - MAX_NAMES} more"] if len(names) > MAX_NAMES else []
    return cut_bytes("\n".join([f"{title} ({len(names)}):", *rows, *more]), USEFUL_BYTES - _END_BYTES)


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the details of each failure once, as the program printed them."""
    shown: set[str] = set()
    block: list[str] = []
    for line in (*lines, "====="):
        begins = bool(BEGINS.search(line))
        if block and (begins or ENDS.search(line)):
            text = _shorten(block)
            if text not in shown and len(shown) < _MAX_BLOCKS:
                shown.add(text)
                yield text
            block = []
        if begins or block:
            block.append(line)


def _shorten(block: Sequence[str]) -> str:
    """Return the beginning of a block, which names it, and its end, which mostly says why."""
    if len(block) > _BLOCK_LINES:
        block = [*block[:_BLOCK_HEAD], "…", *block[_BLOCK_HEAD - _BLOCK_LINES :]]
    text = "\n".join(block).strip("\n")
    if len(text.encode("utf-8", "replace")) <= _BLOCK_BYTES:
        return text
    half = _BLOCK_BYTES // 2
    return f"{cut_bytes(text, half)}\n{tail(text, half)}"


def output_line(line: str) -> str:
    """Return a line of output without colours and cursor moves, truncated."""
    shown = line.rsplit("\r", 1)[-1] if "\r" in line.rstrip("\r") else line  # a bar that was drawn over
    return without_terminal_codes(shown[: 4 * _LINE_CHARACTERS])[:_LINE_CHARACTERS].rstrip()


def normal(line: str) -> str:
    """Return a line without volatile parts; digits stay in names and codes."""
    for shape, stands_for in _NOISE:
        line = shape.sub(stands_for, line)
    return " ".join(line.split())


def failure_signature(command: str, names: Iterable[str], errors: Iterable[str], lines: Iterable[str]) -> str:
    """Return the SHA-256 of a failure: of its names and errors, else of the end of the output.

    Order does not count: tests in parallel fail in any.
    """
    known = sorted({normal(name) for name in names})
    said = {normal(error) for error in errors}
    if not known:
        last = [line for line in map(normal, lines) if line.strip("=-_.*~#· ")]
        said |= set(last[-_SIGNATURE_LINES:])
    return hashlib.sha256(json.dumps([command, known, sorted(said)]).encode()).hexdigest()
