"""Files that decide what the checks do: settings of tests and builds, and scripts that `validation` names."""

from collections.abc import Iterator

from runner import deciding
from runner.guard import Breach, Change, Touched, breach
from runner.order import Guards

_ADVICE = "leave it as the base branch has it, so that the checks stay what they were"


def look(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield what of the end state alters the checks; tests given to a runner are for the guard `tests`."""
    rule = f"checks: {rules.action('checks')}"
    for one in change.touched:
        if not one.commit and (what := _what(one, rules)):
            yield breach(one, rule, what, _ADVICE)


def _what(one: Touched, rules: Guards) -> str:
    if what := deciding.whole(one.path):
        return what
    if deciding.named(one.path, rules.checks):
        return "is run by the checks"
    if deciding.has_sections(one.path):
        return _sections(one)
    if deciding.by_lines(one.path) and (one.unread or any(map(deciding.decides, _texts(one)))):
        return "decides what the checks do, in lines about tests"
    return ""


def _sections(one: Touched) -> str:
    if one.whole is None:
        return "may decide what the checks do: it was not read"
    altered = deciding.altered(one.path, *one.whole)
    return f"decides what the checks do, in {', '.join(deciding.sections_named(altered))}" if altered else ""


def _texts(one: Touched) -> Iterator[str]:
    yield from one.gone
    yield from (text for _, text in one.lines)
