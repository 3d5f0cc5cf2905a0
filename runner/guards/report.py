"""Findings of the guards in words, for the agent and for people. Pure."""

from collections.abc import Iterable, Sequence

from ledger.events.guard import Violation
from runner.text.plain import one_line

_SHOWN = 5
_FOR_AGENTS = 30
_PATH_BYTES = 200
_RULE_BYTES = 300


def violation_sentence(violation: Violation) -> str:
    """Return one finding on one line: place, problem and rule."""
    line = f":{violation.line}" if violation.line else ""
    commit = f" in commit {violation.commit[:8]}" if violation.commit else ""
    path = one_line(violation.path, _PATH_BYTES)
    return f"{path!r}{line}{commit} {violation.what} (rule {one_line(violation.rule, _RULE_BYTES)!r})"


def list_violations(violations: Sequence[Violation], more: int = 0, shown: int = _SHOWN) -> str:
    """Return the first findings, each once in whatever commits, and the number of others."""
    rows = tuple(dict.fromkeys(map(violation_sentence, violations)))
    rest = len(rows) - shown + more if len(rows) > shown else more
    return "; ".join(rows[:shown]) + (f" and {rest} more" if rest > 0 else "")


def guard_question(violations: Sequence[Violation], more: int) -> str:
    listed = list_violations(violations, more)
    return f"The guardrails of the repository's policy ask about this change: {listed}. Publish that too?"


def refusal_text(violations: Iterable[Violation], fork: str) -> str:
    """Return the findings to undo, for the agent, and how to rewrite its commits, which begin at `fork`."""
    rows = list(
        dict.fromkeys(f"- {violation_sentence(violation)}: {violation.advice}" for violation in violations)
    )
    more = [f"- and {len(rows) - _FOR_AGENTS} more of the kind"] if len(rows) > _FOR_AGENTS else []
    text = "\n".join((*rows[:_FOR_AGENTS], *more))
    return (
        "The repository's guardrails refuse this change, and it is not published as it is:\n\n"
        f"{text}\n\n"
        "All your commits that are not on GitHub yet are checked, so a later commit that removes a file "
        f"is not enough: rewrite them. `git reset --soft {fork}` begins there; undo the above, and commit "
        "again. Look through the index before you commit. Do not hide what is refused in another place."
    )


def failure_reason(violations: Sequence[Violation], more: int) -> str:
    """Return why the run failed that did not undo the findings."""
    advice = violations[0].advice if violations else ""
    return (
        f"the guardrails refuse the change: {list_violations(violations, more)}. To undo it: {advice}."
        " A later commit is not enough, since every commit is checked: rewrite the commits"
        " (`git reset --soft`, then commit again)"
    )
