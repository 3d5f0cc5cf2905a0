"""No pattern of the product takes for ever: each is matched against text that is made to be slow for it.

A pattern is applied as the source applies it (`fullmatch`, `match` or a search). Text of 2,000 characters is
matched in microseconds; what takes longer is measured at four times its length, and must grow so.
"""

import ast
import contextlib
import importlib
import pkgutil
import re
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from re import _constants as ops
from re import _parser as parser
from time import process_time
from typing import Any

import pytest

from tests.house.source import sources, with_words

PACKAGES = ("bot", "rules", "runner", "ledger")
LENGTH = 2_000
QUICK_S = 0.002  # for that length; what is quicker is not measured again
GROWTH = 8.0  # of the time, where a text is four times as long: 4 is linear, 16 is quadratic
LIMIT_S = 0.1
ENDS = ("", "\0!", "\n", "x")
USUAL = (*" \n\ta1.-*`[(<\"'#/_=|\\~:@", "<!--", "](", "a ", " 1 +", "<a\n", "/.")
SEARCHES = frozenset(("search", "sub", "subn", "split", "findall", "finditer"))
KNOWN = SEARCHES | {"match", "fullmatch"}
Found = Iterator[tuple[str, re.Pattern[Any]]]


class TooSlowError(Exception):
    """A match that was given up."""


def patterns_in(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns of a module's constant, also those in tables and dataclasses."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth < 4 and isinstance(value, Mapping):
        for row in value.values():
            yield from patterns_in(row, depth + 1)
    elif depth < 4 and isinstance(value, tuple | list | set | frozenset):
        for row in value:
            yield from patterns_in(row, depth + 1)
    elif depth < 4 and is_dataclass(value) and not isinstance(value, type):
        for row in fields(value):
            yield from patterns_in(getattr(value, row.name, None), depth + 1)


def of_modules() -> Found:
    """Yield the name and the pattern of every constant, but of modules that act when they are imported."""
    for package in map(importlib.import_module, PACKAGES):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.endswith("__main__") or ".in_container" in info.name:
                continue
            for name, value in list(vars(importlib.import_module(info.name)).items()):
                yield from ((f"{info.name}.{name}", pattern) for pattern in patterns_in(value))


def uses() -> tuple[dict[str, set[str]], list[tuple[str, str, str]]]:
    """Return the methods that each constant is used with, and the patterns that are written into calls.

    Methods are those of the constant's own module, as `module.NAME`, and those of others, as `.NAME`.
    """
    methods: dict[str, set[str]] = defaultdict(set)
    written = []
    for source in with_words(sources(*PACKAGES), [rf"\.({'|'.join(KNOWN)})\b"]):
        module = source.path.removesuffix(".py").replace("/", ".")
        for node in source.nodes():
            if isinstance(node, ast.Attribute):
                owner = node.value
                name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
                methods[f"{module}.{name}" if isinstance(owner, ast.Name) else f".{name}"].add(node.attr)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first, owner = node.args[0], node.func.value
                is_re = isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr != "compile"
                if is_re and isinstance(first, ast.Constant):
                    written.append((f"{source.path}:{node.lineno}", str(first.value), node.func.attr))
    return methods, written


def one_of(part: Any) -> str:
    """Return a character of a class."""
    kinds = {ops.CATEGORY_DIGIT: "1", ops.CATEGORY_SPACE: " ", ops.CATEGORY_WORD: "a"}
    wanted = re.compile(as_class(part)) if part and part[0][0] is ops.NEGATE else None
    if wanted is not None:
        return next((char for char in "a -1.x!~é[(<\n\t" if wanted.match(char)), "\u2603")
    for op, value in part:
        if op is ops.LITERAL:
            return chr(value)
        if op is ops.RANGE:
            return chr(value[0])
        if op is ops.CATEGORY:
            return kinds.get(value, "-")
    return "a"


def as_class(part: Any) -> str:
    inside = ""
    names = {
        ops.CATEGORY_DIGIT: r"\d",
        ops.CATEGORY_SPACE: r"\s",
        ops.CATEGORY_WORD: r"\w",
        ops.CATEGORY_NOT_DIGIT: r"\D",
        ops.CATEGORY_NOT_SPACE: r"\S",
        ops.CATEGORY_NOT_WORD: r"\W",
    }
    for op, value in part:
        if op is ops.NEGATE:
            inside = "^" + inside
        elif op is ops.LITERAL:
            inside += re.escape(chr(value))
        elif op is ops.RANGE:
            inside += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        elif op is ops.CATEGORY:
            inside += names.get(value, "")
    return f"[{inside}]"


REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


def sample(parsed: Iterable[Any], choice: int) -> str:
    """Return a text that fits the parsed pattern, with this branch of each choice."""
    said = ""
    for op, value in parsed:
        if op is ops.LITERAL:
            said += chr(value)
        elif op is ops.NOT_LITERAL:
            said += "b" if value == ord("a") else "a"
        elif op is ops.ANY:
            said += "a"
        elif op is ops.IN:
            said += one_of(value)
        elif op in REPEATS:
            said += sample(value[2], choice) * min(value[0], 50)
        elif op is ops.SUBPATTERN:
            said += sample(value[3], choice)
        elif op is ops.ATOMIC_GROUP:
            said += sample(value, choice)
        elif op is ops.BRANCH:
            said += sample(value[1][choice % len(value[1])], choice)
    return said


def pumps(parsed: Iterable[Any], choice: int, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield, for each repeat without an end, a text that leads to it and one that it takes."""
    for op, value in parsed:
        if op in REPEATS:
            body = sample(value[2], choice)
            if value[1] is ops.MAXREPEAT or value[1] >= 100:
                yield before, body or "a"
            yield from pumps(value[2], choice, before)
        elif op in (ops.SUBPATTERN, ops.ATOMIC_GROUP, ops.ASSERT, ops.ASSERT_NOT):
            inner = value[3] if op is ops.SUBPATTERN else value[1] if op is not ops.ATOMIC_GROUP else value
            yield from pumps(inner, choice, before)
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield from pumps(branch, choice, before)
        before += sample([(op, value)], choice)


def seconds(call: Callable[[Any], object], text: Any) -> float:
    """Return the processor seconds of a match; LIMIT_S where it takes longer, on a busy machine too."""
    began = process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
        call(text)
    except TooSlowError:
        return LIMIT_S
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return process_time() - began


def slowest(pattern: re.Pattern[Any], methods: set[str]) -> str:
    """Return the text and method for which the time grows faster than the text; empty where there is none."""
    parsed = parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE)
    tries = {pump for choice in range(3) for pump in pumps(parsed, choice)}
    if not tries:  # without a repeat it ends wherever it begins
        return ""
    tries |= {("", each) for each in USUAL}
    for choice in range(3):
        whole = sample(parsed, choice)[:200] or "a"
        tries |= {("", whole), ("", whole[:-1] or "a"), ("", whole[: len(whole) // 2] or "a")}
    for method in sorted({"findall" if method in SEARCHES else method for method in methods}):
        call = getattr(pattern, method)
        for before, again in sorted(tries):
            for end in ENDS:
                if why := _grows(pattern, call, before, again, end):
                    return f"{method} of {before[:40]!r} + {again[:40]!r} * n + {end!r}: {why}"
    return ""


def _grows(pattern: re.Pattern[Any], call: Callable[[Any], object], before: str, again: str, end: str) -> str:
    def made(length: int) -> Any:
        text = before + again * (length // len(again)) + end
        return text.encode("utf-8", "replace") if isinstance(pattern.pattern, bytes) else text

    if seconds(call, made(LENGTH)) < QUICK_S:
        return ""
    for _ in range(3):  # a busy machine may slow down one look, not all
        times = [seconds(call, made(length * LENGTH)) for length in (1, 4)]
        if times[0] >= LIMIT_S:
            return "it does not end"
        if times[0] < QUICK_S or times[1] < min(LIMIT_S, GROWTH * times[0]):
            return ""
    return ", ".join(f"{taken * 1000:.1f} ms" for taken in times)


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, give_up)
    yield
    signal.signal(signal.SIGPROF, before)


def test_each_pattern_is_linear_in_its_text() -> None:
    methods, written = uses()
    tried: dict[tuple[Any, int, frozenset[str]], str] = {}
    everything = {"fullmatch", "search"}
    for name, pattern in of_modules():
        used = (methods[name] | methods[f".{name.rpartition('.')[2]}"]) & KNOWN or everything
        tried.setdefault((pattern.pattern, pattern.flags, frozenset(used)), name)
    for place, text, method in written:
        with contextlib.suppress(re.error):
            used = {method} if method in KNOWN else everything
            tried.setdefault((text, re.compile(text).flags, frozenset(used)), place)
    assert len(tried) > 200
    slow = {}
    for (text, flags, methods_of), name in tried.items():
        if why := slowest(re.compile(text, flags), set(methods_of)):
            slow[name] = why
    assert slow == {}, "\n".join(f"{name}: {why}" for name, why in slow.items())


@pytest.mark.parametrize("text", [r"(?:a+)+\Z", r"[ \t]+$", r"(\w+: [^\n]*\n?)+\Z", r"\[([^]]*)\]\("])
def test_a_pattern_that_goes_back_is_found(text: str) -> None:
    assert slowest(re.compile(text), {"search"})


@pytest.mark.parametrize("text", [r"(?:a++)++\Z", r"(?<![ \t])[ \t]++$", r"\[([^][]*+)\]\("])
def test_one_that_never_goes_back_is_not(text: str) -> None:
    assert slowest(re.compile(text), {"search"}) == ""
