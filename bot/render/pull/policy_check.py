"""Texts of the check run on a policy file's commit."""

from collections.abc import Sequence

from bot.render.markdown.escape import cut, line
from ledger.events.policy import ColumnChange
from rules.text import code, count

NAME = "cardinal/policy"
MAX_COLUMNS = 50
SUMMARY_LIMIT = 60_000  # GitHub refuses a check run's summary over 65,535 characters


def title(problems: tuple[str, ...], *, earlier: bool = True) -> str:
    """Return the check's one line. `earlier`: another policy was in force before."""
    if not problems:
        return "The policy is in force"
    effect = "the last good policy stays in force" if earlier else "nothing is started"
    return f"{count(len(problems), 'problem')}: {effect}"


def summary(problems: tuple[str, ...], missing: tuple[str, ...] = ()) -> str:
    """Return the problems as a list, each with the place in the file that it is about; of a good policy which
    of its columns are `missing` on the board.
    """
    if problems:
        return _problems(problems)
    said = "Cardinal reads `.github/cardinal.yml` and follows it."
    if missing:
        said += f" The board has no column {', '.join(line(code(name), 80) for name in missing)}: "
        said += "add what is missing to the board, or correct the name."
    return said


def preview_title(problems: tuple[str, ...], changes: Sequence[ColumnChange]) -> str:
    """Return the one line of the check on a branch's commit, before it is merged."""
    if problems:
        return f"{count(len(problems), 'problem')}: once merged, the last good policy would stay in force"
    return f"Once merged, it changes {count(len(changes), 'column')}" if changes else "It changes no column"


def preview(problems: tuple[str, ...], changes: Sequence[ColumnChange]) -> str:
    """Return the problems, or a table of what a drag does now and would do; both hold text of people."""
    if problems:
        return _problems(problems)
    if not changes:
        return "A drag into any column does what it does now. Limits, commands or other settings may differ."
    rows = [
        f"| {_cell(code(it.column))} | {it.cards} | {_effect(it.before)} | {_effect(it.after)} |"
        for it in changes[:MAX_COLUMNS]
    ]
    heads = ["| column | cards now | a drag does now | and once merged |", "| --- | ---: | --- | --- |"]
    note = "Runs at work keep the rules with which they began."
    return cut("\n".join([*heads, *rows, "", note]), SUMMARY_LIMIT)


def _problems(problems: tuple[str, ...]) -> str:
    rows = [f"- {line(problem, 500)}" for problem in problems[:100]]
    return cut("\n".join(["`.github/cardinal.yml` cannot be used:", "", *rows]), SUMMARY_LIMIT)


def _effect(consequence: str) -> str:
    return _cell(line(consequence, 300)) or "*no such column*"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
