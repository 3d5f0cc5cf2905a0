"""Reads a failing check's output: what failed, what it looks like, and the part of it that helps. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from runner.checks import failure_signature
from runner.checks.failure_patterns import BEGINS, ENDS, ERRORS, FILE, PROBLEMS, TESTS
from runner.text.truncate import cut, one_line, tail

USEFUL_BYTES = 6_000
MAX_NAMES = 20
_NAME_BYTES = 200
# Of an output, its beginning and its end. A million characters take a second, in which no claim is renewed
# and no order to stop is heard.
_READ_CHARS = 400_000
_MAX_FOUND = 1_000
_UNKNOWN_BYTES = 4_000  # of an output in which nothing is recognised
_END_BYTES = 1_500  # of one in which something is
_LEAST_END_BYTES = 200
_BLOCK_BYTES = 1_500
_BLOCK_LINES, _BLOCK_HEAD = 30, 8
_MAX_BLOCKS = 20
_MAX_ERRORS = 100


@dataclass(frozen=True, slots=True)
class Failure:
    """What a failing command said. `failing` counts failing tests, else problems; 0: it does not say.

    `names` are the first of them, each on one line; `useful` is what helps to repair it, failing tests first.
    """

    failing: int
    names: tuple[str, ...]
    useful: str
    signature: str


def read(command: str, output: str) -> Failure:
    """Return what the output of `command` says, as far as its shape is known; else its end."""
    lines = [failure_signature.plain(line) for line in _window(output).split("\n")]
    tests, problems = _tests(lines), _problems(lines)
    found = tests or problems
    errors = [line for line in lines if ERRORS.search(line)][:_MAX_ERRORS] if found else []
    names = tuple(one_line(name, _NAME_BYTES) for name in found[:MAX_NAMES])
    signature = failure_signature.signature(command, found, errors, lines)
    return Failure(len(found), names, _useful(lines, tests, problems), signature)


def _window(output: str) -> str:
    if len(output) <= _READ_CHARS:
        return output
    half = _READ_CHARS // 2
    return f"{output[:half]}\n{output[-half:]}"


def _tests(lines: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    for shapes in TESTS:
        for shape in shapes:
            named = [match["name"].strip() for line in lines if (match := shape.search(line))]
            found |= dict.fromkeys(named[:_MAX_FOUND])
            if named:
                break
    # Go names the test around a failing part as well.
    around = {name.rsplit("/", 1)[0] for name in found if "/" in name and " " not in name}
    return [name for name in found if name not in around]


def _problems(lines: Sequence[str]) -> list[str]:
    found: dict[str, None] = {}
    file = ""
    for line in lines:
        if FILE.match(line):
            file = line
        elif PROBLEMS.search(line):
            indented = line[:1].isspace()
            found[f"{file}: {line.strip()}" if indented and file else line.strip()] = None
    return list(found)[:_MAX_FOUND]


def _useful(lines: Sequence[str], tests: Sequence[str], problems: Sequence[str]) -> str:
    """Return names first, then details, then the end of the output, as much as fits."""
    if not tests and not problems:
        return tail("\n".join(lines).strip("\n"), _UNKNOWN_BYTES)
    parts = [_listed("Failing", tests), _listed("Problems", () if tests else problems)]
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
    if room >= _LEAST_END_BYTES:
        parts.append(head + tail("\n".join(lines).strip("\n"), room))
    return "\n\n".join(parts)


def _listed(title: str, found: Sequence[str]) -> str:
    if not found:
        return ""
    rows = [f"- {one_line(name, _NAME_BYTES)}" for name in found[:MAX_NAMES]]
    more = [f"- and {len(found) - MAX_NAMES} more"] if len(found) > MAX_NAMES else []
    return cut("\n".join([f"{title} ({len(found)}):", *rows, *more]), USEFUL_BYTES - _END_BYTES)


def _blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the details of each failure, as the program printed them; twice the same is once."""
    shown: set[str] = set()
    block: list[str] = []
    for line in (*lines, "====="):
        begins = bool(BEGINS.search(line))
        if block and (begins or ENDS.search(line)):
            text = _shortened(block)
            if text not in shown and len(shown) < _MAX_BLOCKS:
                shown.add(text)
                yield text
            block = []
        if begins or block:
            block.append(line)


def _shortened(block: Sequence[str]) -> str:
    """Return a block with its beginning, which names it, and its end, which mostly says why."""
    if len(block) > _BLOCK_LINES:
        block = [*block[:_BLOCK_HEAD], "…", *block[_BLOCK_HEAD - _BLOCK_LINES :]]
    text = "\n".join(block).strip("\n")
    if len(text.encode("utf-8", "replace")) <= _BLOCK_BYTES:
        return text
    half = _BLOCK_BYTES // 2
    return f"{cut(text, half)}\n{tail(text, half)}"
