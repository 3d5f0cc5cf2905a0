"""Tests that are deleted, reduced or disabled: checks pass more easily where less is checked.

Everything is read line by line, with runs of spaces as one, and no pattern looks further than a few hundred
characters: a line of a megabyte takes linear time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from runner.guards.contract import Breach, Change, Touched, breach
from runner.guards.path_patterns import fold_case
from runner.run.run_spec import Guards

NOWHERE, NEAR_TESTS, TEST_FILE = 0, 1, 2  # by its name alone: how surely a runner finds tests in a file

_CODE = (
    r"(?:py|[cm]?[jt]sx?|go|rb|rs|java|kts?|cs|fs|php|swift|scala|exs?|c|cc|cpp|sh|t|lua|dart"
    r"|cljc?|hs|jl|vue|svelte)"
)
_NAMED = re.compile(
    rf"(?:.*/)?(?:tests?\.(?:py|[cm]?[jt]sx?)|(?:tests?[._-][^/]*|[^/]*[._-](?:tests?|spec))\.{_CODE}"
    r"|[^/]*tests?\.(?:java|kts?|cs|fs|swift|scala|php)|[^/]+\.(?:bats|feature))",
    re.DOTALL,
)
_IN_FOLDER = re.compile(rf"(?:.*/)?(?:tests?|__tests__|specs?|e2e|testing)/.*\.{_CODE}", re.DOTALL)
_COLLECTED = re.compile(r"(?:.*/)?(?:__tests__/.*\.[cm]?[jt]sx?|tests/[^/]*\.rs|t/[^/]*\.t)", re.DOTALL)
_LANGUAGE = re.compile(
    r".*\.(?:(?P<js>[cm]?[jt]sx?|vue|svelte)|(?P<jvm>java|kts?)|(?P<c>c|cc|cpp)|(\w+))", re.DOTALL
)
_TEST = re.compile(
    r"""
    (?:async\ )?def\ test\w*                                            # Python, Ruby's minitest
    | (?:it|test|specify|scenario)(?:\.\w{1,20}){0,2}[( ]{1,2}["'`]     # JavaScript, RSpec, ExUnit
    | (?:it|test)\.(?:each|for|prop)\b
    | func\ (?:\([^)]{0,80}\)\ ?)?(?:Test|Fuzz|Example|test)\w*\ ?\(    # Go, Swift
    | \#\[(?:\w{1,30}::)?(?:test|rstest|case)\b                         # Rust
    | @(?:Test|ParameterizedTest|RepeatedTest)\b                        # JUnit
    | \[(?:Fact|Theory|Test|TestMethod|TestCase)\b                      # .NET
    | (?:public\ )?(?:static\ )?function\ test\w*\ ?\(                  # PHPUnit
    | @test\ ["']                                                       # bats
    | (?:it|specify)\ ?\{                                               # RSpec in one line
    | (?:TYPED_)?TEST(?:_[FP])?\ ?\(                                    # GoogleTest
    | Scenario(?:\ Outline)?:                                           # Gherkin
    """,
    re.VERBOSE,
)
_ASSERTION = re.compile(
    r"""
    \bassert(?!\w)\ ?[^=\s] | \b\w{0,40}[aA]ssert\w{0,60}\ ?[!(.] | \bexpect\w{0,20}!?\ ?\(
    | \.(?:should|must)(?:_\w{1,40})?\b | \brequire\.\w{1,40}\( | \bt\.(?:Error|Fatal)f?\(
    | \bpytest\.(?:raises|warns)\( | ^Then\b | ^\[\[?\ .{1,200}\ \]\]?$ | \bverify\(
    | \bis_expected\.(?:to|not_to|to_not)\b | \b(?:EXPECT|ASSERT)_[A-Z_]{1,40}\ ?\(
    """,
    re.VERBOSE,
)
_IMPORT = re.compile(
    r"""
    (?:import|from|use|using|require)\b[^();]*;?
    | (?:import|const|let|var)\ [^=()]{1,200}=\ ?require\([^()]{1,200}\)[\w.]{0,40};?
    | (?:[a-z_.][\w.]{0,40}\ )?"[\w.~-]{1,100}(?:/[\w.~-]{1,100}){1,20}"  # Go
    """,
    re.VERBOSE,
)
_OFF = re.compile(
    r"""
    @(?:\w{1,40}\.){0,4}(?:skip\w{0,20}|xfail|expectedFailure|nottest)\b | \bmark\.(?:skip\w{0,10}|xfail)\b
    | \bpytest\.(?:skip|xfail|importorskip)\b | \bSkipTest\b | \bskipTest\( | \bcollect_ignore
    | \b__test__\ ?=\ ?False
    | \b(?:it|test|describe|context|suite)(?:\.\w{1,20}){0,2}
      \.(?:skip\w{0,5}|todo|only|failing|fails|fixme|runIf)\b
    | (?:\b(?:it|test|describe|suite)|(?<![.\w])context)(?:\.\w{1,20}){0,2}\[["'`](?:skip|todo|only)["'`]\]
    | ^(?:it|test|describe|suite)\ ?\(["'`].{1,200}?["'`],\ ?\{[^{}]{0,100}?\btodo:\ ?(?:true|["'`])
    | (?:^|\ )(?:x|f)(?:it|describe|test|context|specify)[( ]{1,2}["'`] | \bthis\.skip\(
    | \b[tb]\.Skip(?:f|Now)?\( | \#!?\[(?:ignore|cfg\((?:any\(\)|FALSE|false))
    | @(?:Ignore|Disabled\w{0,30})\b | \[(?:Ignore|Explicit)\b | \b(?:Skip|Ignore)\ ?=\ ?["@]
    | \bassume(?:True|False|That)\( | \bmarkTest(?:Skipped|Incomplete)\( | \bXCTSkip
    | ^(?:skip|pending)(?:\ ["'(]|\(|$) | ,\ :(?:skip|focus)\b | @(?:module)?tag\ :skip\b
    | \bskip:\ ?(?:true|["'])
    | ^(?:RSpec\.)?(?:it|test|describe|context|specify)\b[^{]{0,300}\bpending:\ ?(?:true|["'])
    | @Test\ ?\(.{0,200}?\benabled\ ?=\ ?false\b | \bGTEST_SKIP\b
    | \b(?:TYPED_)?TEST(?:_[FP])?\ ?\(.{0,90}?\bDISABLED_
    | ^@(?:wip|ignore)\b | ^//(?:go:build|\ \+build)\b
    | ^(?:if|elif|while)\ ?\(?(?:False|false|0)\b
    | \b(?:os\._exit|sys\.exit|process\.exit|System\.exit)\(\ ?0?\ ?\)
    | ^(?:raise\ SystemExit(?:\(0?\))?|exit\ 0)$
    """,
    re.VERBOSE,
)
_OFF_WORDS = re.compile(
    r"skip|nottest|ignore|__test__|todo|only|fail|fixme|(?:^|\s)[xf](?:it|desc|test|cont)"
    r"|\[cfg|explicit|disabled|assume|incomplete|pending|focus|enabled|@wip|build|if|while|exit",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"^(?:if|elif|unless|return if)\b.{0,200}\b(?:environ\b|getenv\b|process\.env\b|ENV\[|\bEnv\.get)"
)
_HOLLOW = re.compile(
    r"""
    \bassert!?[ (]{1,2}(?:True|true|1|not\ (?:False|0))\)?\ ?(?:$|[,;:\#]|//|or\b|\|\|)
    | \bassert_?[tT]rue\(\ ?(?:True|true|1)\ ?(?:$|[,)]|or\b|\|\|)
    | \bassert_?[fF]alse\(\ ?(?:False|false|0)\ ?(?:$|[,)]|and\b|&&)
    | \bassert_?(?:[eE]quals?|eq!?|same)\(\ ?([\w."']{1,40}),\ ?\1\ ?[,)]
    | \bassert\ ([\w."']{1,40})\ ==\ \2(?:$|[ ,])
    | \bexpect\(\ ?([\w."']{1,40})\ ?\)\.to(?:Be|Equal|StrictEqual|\.eq|\.equal|\ eq)\(?\ ?\3\ ?(?:[);\#]|$)
    | \bexpect\(\ ?(?:true|1)\ ?\)\.toBe(?:Truthy\(|Defined\() | \bexpect\((?:true)\)\.to\.be\.true
    | \b(?:assert|expect).{0,200}(?:\bor\ True\b|\|\|\ ?true\b)
    """,
    re.VERBOSE,
)
_RUNS_TESTS = (
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|playwright|cypress|rspec|minitest|phpunit|ctest|bats|nextest"
    r"|(?:go|cargo|dotnet|mix|swift|flutter)\ test|(?:npm|pnpm|yarn|bun)(?:\ run)?\ (?:t|test|check|lint)\b"
    r"|make\ (?:test|check|lint)|mvnw?|gradlew?|ruff|mypy|eslint|tsc|flake8|pylint|rubocop|clippy)\b"
)
_FORGIVEN = re.compile(
    rf"{_RUNS_TESTS}.{{0,300}}?(?:(?:\|\||;)\ ?(?:true\b|:|exit\ 0\b)|\|\|\ ?echo\b|--exit-zero)"
)
_SCRIPT = re.compile(r"(?:.*/)?(?:[^/.]+|[^/]*\.(?:sh|bash|zsh|mk|ya?ml|json|toml|ini|cfg))", re.DOTALL)
_TELLS = re.compile(
    r"PYTEST_CURRENT_TEST|JEST_WORKER_ID|VITEST_(?:WORKER|POOL)_ID"
    r"|[\"']\w{0,10}(?:pytest|unittest)[\"'] (?:not )?in sys\.modules"
)
_SPACES = re.compile(r"\s+")
_REMARKS = ("//", "/*", "*", "--", ";;")
FINDS = (
    "Tests that are deleted, thinned out, switched off or made to hold whatever happens (what only may be "
    "that is asked about)"
)
ACTION = "ask"
_ADVICE = "leave the tests as they are and repair the code; ask people where a test itself is wrong"
_MAX_LINES = 3  # of one file, each of a kind of its own
_Count = Callable[[str], int]
_Trick = tuple[str, str, bool]  # what it does, the plain line, whether it is indented


def test_kind(path: str) -> int:
    """Return how surely runners find tests in a file of that name."""
    plain = fold_case(path)
    if _NAMED.fullmatch(plain) or _COLLECTED.fullmatch(plain):
        return TEST_FILE
    return NEAR_TESTS if _IN_FOLDER.fullmatch(plain) else NOWHERE


def language(path: str) -> str:
    """Return the language of a file: its suffix, or one name for related suffixes."""
    match = _LANGUAGE.fullmatch(fold_case(path))
    return (match.lastgroup or match[match.re.groups]) if match else ""


def code_line(line: str) -> str:
    """Return a line without indentation and with single spaces; empty for a comment."""
    said = _SPACES.sub(" ", line).strip()
    remark = said.startswith(_REMARKS) or (said.startswith("#") and not said.startswith(("#[", "#![")))
    return "" if remark and not said.startswith(("//go:build", "// +build")) else said


def tests_in(line: str) -> int:
    """Return whether a test begins in a plain line, as 0 or 1."""
    return int(_TEST.match(line) is not None)


def assertions_in(line: str) -> int:
    """Return the number of assertions in a plain line; an import has none."""
    return 0 if _IMPORT.fullmatch(line) else sum(1 for _ in _ASSERTION.finditer(line))


def find_tricks(path: str, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the added lines that weaken checks, each with its effect as the end of a sentence."""
    is_test, is_script = test_kind(path) != NOWHERE, _SCRIPT.fullmatch(fold_case(path)) is not None
    for number, text in lines:
        line = code_line(text)
        if is_test and _OFF_WORDS.search(line) and _OFF.search(line):
            yield number, "switches tests off"
        elif is_test and _HOLLOW.search(line):
            yield number, "asserts what always holds"
        elif is_test and _ENVIRONMENT.search(line):
            yield number, "tests otherwise in another environment"
        elif is_script and _FORGIVEN.search(line):
            yield number, "lets failing checks pass"
        elif not is_test and _TELLS.search(line):
            yield number, "behaves otherwise while it is tested"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield files of the end state with fewer tests or assertions than their base, or with disabled ones.

    A line that stands in another file of tests now was moved, not removed. Commits on the way are ignored:
    only the end is checked.
    """
    rule = f"tests: {rules.action('tests')}"
    ends = [touched for touched in change.touched if not touched.commit]
    files = [touched for touched in ends if test_kind(touched.path) != NOWHERE]
    tricks = {touched.path: tuple(_tricks(touched.path, touched.lines)) for touched in ends}
    old = ends if any(tricks.values()) else []  # what went is looked through only where something came
    before = Counter(trick for touched in old for _, trick in _tricks(touched.path, enumerate(touched.gone)))
    for touched in ends:
        said = {what: number for number, what in reversed(tuple(_new_tricks(tricks[touched.path], before)))}
        for what, number in sorted(said.items(), key=lambda item: item[1])[:_MAX_LINES]:
            yield breach(touched, rule, what, _ADVICE, line=number)
    tests, asserts = (
        _count_lost(files, tests_in),
        _count_lost(files, assertions_in),
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
    for number, what in find_tricks(path, texts.items()):
        yield number, (what, code_line(texts[number]), texts[number][:1].isspace())


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
        same = language(other) == language(path)
        if same and test_kind(other) >= test_kind(path):
            both = lines & gained
            total += _sum(count, both)
            lines, more[other] = lines - both, gained - both
    return total


def _counting(count: _Count, texts: Iterable[str]) -> Counter[str]:
    return Counter(filter(count, map(code_line, texts)))


def _sum(count: _Count, lines: Counter[str]) -> int:
    return sum(count(line) * times for line, times in lines.items())


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
