"""Files that decide the results of checks: settings of tests and builds, scripts named by `validation`."""

from collections.abc import Iterator

from runner.guards import ci_files
from runner.guards.contract import Breach, Change, Touched, breach
from runner.run.run_spec import Guards

FINDS = (
    "Files that decide what the checks do: build and test settings, `conftest.py`, scripts that "
    "`validation` names, this file"
)
ACTION = "ask"
_ADVICE = "leave it as the default branch has it, so that the checks stay what they were"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield the changes of the end state that alter the checks; test files belong to the guard `tests`."""
    rule = f"checks: {rules.action('checks')}"
    for touched in change.touched:
        if not touched.commit and (what := _what(touched, rules)):
            yield breach(touched, rule, what, _ADVICE)


def _what(touched: Touched, rules: Guards) -> str:
    if what := ci_files.why_decisive(touched.path, is_link=touched.is_link):
        return what
    if ci_files.is_named(touched.path, rules.checks):
        return "is run by the checks"
    if ci_files.has_sections(touched.path):
        return _sections(touched)
    lines = (*touched.gone, *(text for _, text in touched.lines))
    if ci_files.by_lines(touched.path) and (touched.unread or any(map(ci_files.decides, lines))):
        return "decides what the checks do, in lines about tests"
    return ""


def _sections(touched: Touched) -> str:
    if touched.whole is None:
        return "may decide what the checks do: it was not read"
    altered = ci_files.find_altered_sections(touched.path, *touched.whole)
    return f"decides what the checks do, in {', '.join(ci_files.sections_named(altered))}" if altered else ""
