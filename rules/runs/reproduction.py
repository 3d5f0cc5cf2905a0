"""The reproduction of a run in a browser, by policy, profile and card, or the reason for none."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import SplitResult, urljoin, urlsplit

from rules.policy.repository import RepositoryRules, Reproduction
from rules.registry import PROFILES
from rules.text import code

MAX_STEPS = 40
STEP_BYTES = 500
_TEXT_CHARACTERS = 100_000
_HEADING = re.compile(
    # No blank can be counted in two ways: a stranger's line must not take long.
    r"[ \t]*(?:#{1,6}[ \t]+)?(?:\*\*|__)?steps(?: to reproduce)?(?:\*\*|__)?"
    r"(?:[ \t]*:)?(?:[ \t]*(?:\*\*|__))?[ \t]*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"[ \t]*(?:[-*][ \t]+)?(?:\*\*)?address(?:\*\*)?[ \t]*:[ \t]*(?:\*\*[ \t]*)?[`<]?(\S{1,500}?)[`>]?[ \t]*",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[ \t]*(?:[0-9]{1,3}[.)]|[-*+])[ \t]++(?:\[[ xX]\][ \t]++)?(.*)")
_QUOTES = str.maketrans("“”„«»", '"""""')
_QUOTED = r'"([^"]{1,400})"'


class Verb(StrEnum):
    """The verb of a step; the browser's program knows the same words."""

    OPEN = "open"
    CLICK = "click"
    FILL = "fill"
    PRESS = "press"
    CHOOSE = "choose"
    CHECK = "check"
    UNCHECK = "uncheck"
    EXPECT = "expect"
    EXPECT_NO = "expect_no"
    EXPECT_ADDRESS = "expect_address"
    WAIT = "wait"


# What is understood of a step, tried in this order: a pattern, and an example for people.
_GRAMMAR: tuple[tuple[Verb, str, str], ...] = (
    (Verb.OPEN, r'open "?([^\s"]{1,400})"?', "open /cart"),
    (Verb.CLICK, rf"click (?:on )?{_QUOTED}", 'click "Buy"'),
    (Verb.FILL, rf'fill (?:in )?{_QUOTED} with "([^"]{{0,400}})"', 'fill "Email" with "a@example.org"'),
    (Verb.PRESS, r'press "?([A-Za-z0-9+]{1,40})"?', "press Enter"),
    (Verb.CHOOSE, rf"choose {_QUOTED} in {_QUOTED}", 'choose "Red" in "Colour"'),
    (Verb.CHECK, rf"check {_QUOTED}", 'check "I agree"'),
    (Verb.UNCHECK, rf"uncheck {_QUOTED}", 'uncheck "Newsletter"'),
    (Verb.EXPECT_NO, rf"expect no {_QUOTED}", 'expect no "Error"'),
    (Verb.EXPECT_ADDRESS, r'expect address "?([^\s"]{1,400})"?', "expect address /done"),
    (Verb.EXPECT, rf"expect {_QUOTED}", 'expect "Total 90"'),
    (Verb.WAIT, rf"wait for {_QUOTED}", 'wait for "Ready"'),
)
_WORDS = "|".join(sorted({verb.partition("_")[0] for verb in Verb}))
UNDERSTOOD = tuple(example for _, _, example in _GRAMMAR)
_PATTERNS = tuple((verb, re.compile(pattern, re.IGNORECASE)) for verb, pattern, _ in _GRAMMAR)
_BEGINS = re.compile(rf"[\W_]*(?:{_WORDS})(?![^\W_])", re.IGNORECASE)
_PASTE = """\
```yaml
repository:
  reproduction: {start: "npm run dev", address: "http://127.0.0.1:3000/"}
```"""
_EXAMPLES = "\n".join(f"{number}. `{example}`" for number, example in enumerate(UNDERSTOOD[:3], start=1))
_NO_STEPS = (
    "The card has no steps. Write a list below a line `Steps:` in the issue, or in a comment, such as\n\n"
    f"{_EXAMPLES}\n\nand ask again."
)
_STRANGERS = (
    "The card's steps are by someone without write access, so they are not played: let their comment through"
    " with `/cardinal ok`, or repeat them in a comment of your own, and ask again."
)
_GOES = (Verb.OPEN, Verb.EXPECT_ADDRESS)


@dataclass(frozen=True, slots=True)
class ReproductionStep:
    """One step: `text` as written, `first` and `second` the arguments of its verb."""

    verb: Verb
    text: str
    first: str
    second: str = ""


@dataclass(frozen=True, slots=True)
class ReproductionScript:
    """The steps of a text, or the sentence that says why they cannot be played."""

    steps: tuple[ReproductionStep, ...] = ()
    problem: str = ""


def read(text: str, app: str, *, requested: bool = True) -> ReproductionScript | None:
    """Return the steps below the first heading that announces some; None where there is none with a list.

    Unless `requested`, a list is prose, and none either, where no item begins with a verb.
    `app` is the address at which the app listens: a step can lead to no other place. The first step opens the
    page that an `Address:` line names, else `app` itself, unless it is an `open` of its own.
    """
    lines = text[:_TEXT_CHARACTERS].splitlines()
    listed = _find_list(lines)
    if not listed or not (requested or any(map(_BEGINS.match, listed))):
        return None
    if len(listed) > MAX_STEPS:
        return ReproductionScript(
            problem=f"The card has {len(listed)} steps, and at most {MAX_STEPS} are played."
        )
    short = (line for line in lines if len(line) <= STEP_BYTES + 100)
    address = next((match[1] for line in short if (match := _ADDRESS.fullmatch(line))), "")
    opened = _inside(address or app, app)
    if not opened:
        return ReproductionScript(problem=_elsewhere(f"`Address:` {code(address, 100)}", app))
    steps: list[ReproductionStep] = []
    for number, line in enumerate(listed, start=1):
        step = _step(line, app)
        if isinstance(step, str):
            return ReproductionScript(problem=f"Line {number} of the card's steps {step}")
        steps.append(step)
    if steps[0].verb is not Verb.OPEN:
        steps.insert(0, ReproductionStep(Verb.OPEN, f"open {opened}", opened))
    return ReproductionScript(tuple(steps))


def _find_list(lines: list[str]) -> list[str]:
    """Return the items of the first list that follows such a heading, blank lines left out."""
    for start, line in enumerate(lines):
        if len(line) > STEP_BYTES or not _HEADING.fullmatch(line):
            continue
        items: list[str] = []
        for below in lines[start + 1 :]:
            item = _ITEM.fullmatch(below)
            if item is None and below.strip():
                break
            if item is not None:
                items.append(item[1].strip())
        if items:
            return items
    return []


def _step(line: str, app: str) -> ReproductionStep | str:
    """Return the step, or the end of a sentence that begins with its line's number."""
    if len(line.encode("utf-8", "replace")) > STEP_BYTES:
        return f"is longer than {STEP_BYTES} bytes."
    plain = " ".join(line.translate(_QUOTES).strip("` ").removesuffix(".").split())
    for verb, pattern in _PATTERNS:
        match = pattern.fullmatch(plain)
        if match is None:
            continue
        first, second = (*match.groups(), "")[:2]
        if verb in _GOES:
            first = _inside(first, app)
            if not first:
                return f"leads elsewhere: {_elsewhere(code(plain, 100), app)}"
        return ReproductionStep(verb, plain, first, second)
    examples = ", ".join(f"`{example}`" for example in UNDERSTOOD)
    return f"is not understood: {code(line, 100)}. Understood are {examples}."


def _inside(address: str, app: str) -> str:
    """Return the address as a path with its query, empty when it is not the app's."""
    try:
        at, home = urlsplit(urljoin(app, address)), urlsplit(app)
        same = (at.scheme, _host(at), at.port) == (home.scheme, _host(home), home.port)
    except ValueError:
        return ""
    if not same or at.username is not None:
        return ""
    tail = (f"?{at.query}" if at.query else "") + (f"#{at.fragment}" if at.fragment else "")
    return f"/{at.path.lstrip('/')}{tail}"


def _host(at: SplitResult) -> str:
    host = at.hostname or ""
    return "127.0.0.1" if host == "localhost" else host


def _elsewhere(what: str, app: str) -> str:
    return f"{what} is not in the app, which is at {code(app, 100)}: write a path, as in `/cart`."


@dataclass(frozen=True, slots=True)
class Words:
    """A text of the card; `counts`: somebody with write access wrote it, or let it through."""

    text: str
    counts: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """The wanted reproduction; `absent` says why there is none, although somebody asked for it."""

    settings: Reproduction
    steps: tuple[ReproductionStep, ...] = ()
    absent: str = ""


def choose_reproduction(rules: RepositoryRules, words: Iterable[Words], *, requested: bool) -> Wanted | None:
    """Return the reproduction of a run; None where nobody wants one.

    The steps are those of the first text that has some and counts. Who `requested` a reproduction hears why
    there is none; a repository without `reproduction` is left in peace otherwise.
    """
    if rules.reproduction is None and not requested:
        return None
    settings = complete_settings(rules.reproduction or Reproduction(), rules.profile)
    if not (settings.start and settings.address):
        said = "How the app is started is not known. In `.github/cardinal.yml` of the default branch, write"
        return Wanted(settings, absent=f"{said}\n\n{_PASTE}\n\nand ask again.")
    ignored = False
    for passage in words:
        script = read(passage.text, settings.address, requested=requested)
        if script is not None and passage.counts:
            return Wanted(settings, script.steps, script.problem)
        ignored = ignored or script is not None
    if not requested and not ignored:
        return None
    return Wanted(settings, absent=_STRANGERS if ignored else _NO_STEPS)


def complete_settings(settings: Reproduction, profile: str) -> Reproduction:
    """Return the settings, completed by those of a built-in profile."""
    if profile not in PROFILES.names():
        return settings
    part = PROFILES.load(profile)
    said = {"start": settings.start or part.START, "address": settings.address or part.ADDRESS}
    return settings.model_copy(update=said)
