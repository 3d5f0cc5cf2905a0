"""Tests that are deleted, reduced or disabled: checks pass more easily where less is checked."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from runner.guards import weakened_tests
from runner.guards.contract import Breach, Change, Touched, breach
from runner.run.run_spec import Guards

FINDS = (
    "Tests that are deleted, thinned out, switched off or made to hold whatever happens (what only may be "
    "that is asked about)"
)
ACTION = "ask"
_ADVICE = "leave the tests as they are and repair the code; ask people where a test itself is wrong"
_MAX_LINES = 3  # of one file, each of a kind of its own
_Count = Callable[[str], int]
_Trick = tuple[str, str, bool]  # what it does, the plain line, whether it is indented


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield files of the end state with fewer tests or assertions than their base, or with disabled ones.

    A line that stands in another file of tests now was moved, not removed. Commits on the way are ignored:
    only the end is checked.
    """
    rule = f"tests: {rules.action('tests')}"
    ends = [touched for touched in change.touched if not touched.commit]
    files = [touched for touched in ends if weakened_tests.test_kind(touched.path) != weakened_tests.NOWHERE]
    tricks = {touched.path: tuple(_tricks(touched.path, touched.lines)) for touched in ends}
    old = ends if any(tricks.values()) else []  # what went is looked through only where something came
    before = Counter(trick for touched in old for _, trick in _tricks(touched.path, enumerate(touched.gone)))
    for touched in ends:
        said = {what: number for number, what in reversed(tuple(_new_tricks(tricks[touched.path], before)))}
        for what, number in sorted(said.items(), key=lambda item: item[1])[:_MAX_LINES]:
            yield breach(touched, rule, what, _ADVICE, line=number)
    tests, asserts = (
        _count_lost(files, weakened_tests.tests_in),
        _count_lost(files, weakened_tests.assertions_in),
    )
    for touched in files:
        if touched.unread:
            what = "was not compared with its tests before: it is too large, or one of too many files"
            yield breach(touched, rule, what, _ADVICE, doubtful=True)
        elif tests[touched.path] and not touched.is_file:
            yield breach(touched, rule, f"is gone, with {_count(tests[touched.path], 'test')}", _ADVICE)
        elif tests[touched.path]:
            yield breach(
                touched, rule, f"has {_count(tests[touched.path], 'test')} less than before", _ADVICE
            )
        elif asserts[touched.path]:
            what = f"has {_count(asserts[touched.path], 'assertion')} less than before"
            yield breach(touched, rule, what, _ADVICE)


def _tricks(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, _Trick]]:
    """Yield each line that weakens checks, with its number."""
    texts = dict(lines)
    for number, what in weakened_tests.tricks(path, texts.items()):
        yield number, (what, weakened_tests.code_line(texts[number]), texts[number][:1].isspace())


def _new_tricks(there: Iterable[tuple[int, _Trick]], before: Counter[_Trick]) -> Iterator[tuple[int, str]]:
    """Yield the tricks of a file that its change's files did not have before, and use the others up.

    At the margin a line may disable a whole file, so an indented one before is not the same.
    """
    for number, (what, text, indented) in there:
        known = ((what, text, was) for was in (True, False) if indented or not was)
        moved = next((trick for trick in known if before[trick] > 0), None)
        if moved is None:
            yield number, what
        else:
            before[moved] -= 1


def _count_lost(files: list[Touched], count: _Count) -> dict[str, int]:
    """Return by path how many of a kind each file has lost, without lines that another file gained.

    A line counts as moved once, and only into a file of its language in which runners look for tests as
    surely.
    """
    gone = {touched.path: _counting(count, touched.gone) for touched in files}
    new = {touched.path: _counting(count, (text for _, text in touched.lines)) for touched in files}
    less = {path: _sum(count, gone[path]) - _sum(count, new[path]) for path in gone}
    more = {path: new[path] - gone[path] for path, number in less.items() if number < 0}
    for path, number in less.items():
        if number > 0:
            less[path] = number - _take_moved(path, gone[path] - new[path], more, count)
    return {path: max(0, number) for path, number in less.items()}


def _take_moved(path: str, lines: Counter[str], more: dict[str, Counter[str]], count: _Count) -> int:
    """Return how many of these lines other files gained, and use them up there."""
    total = 0
    for other, gained in more.items():
        same = weakened_tests.language(other) == weakened_tests.language(path)
        if same and weakened_tests.test_kind(other) >= weakened_tests.test_kind(path):
            both = lines & gained
            total += _sum(count, both)
            lines, more[other] = lines - both, gained - both
    return total


def _counting(count: _Count, texts: Iterable[str]) -> Counter[str]:
    return Counter(filter(count, map(weakened_tests.code_line, texts)))


def _sum(count: _Count, lines: Counter[str]) -> int:
    return sum(count(line) * times for line, times in lines.items())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
