"""Texts of the check run on a policy file's commit."""

from bot.render.markdown.escape import cut, line
from ledger.views.policies import ProposalRow
from rules.text import code, count

NAME = "cardinal/policy"
MAX_COLUMNS = 50
SUMMARY_LIMIT = 60_000  # GitHub refuses a check run's summary over 65,535 characters


def check_title(problems: tuple[str, ...], *, earlier: bool = True) -> str:
    """Return the check's one line. `earlier`: another policy was in force before."""
    if not problems:
        return "The policy is in force"
    effect = "the last good policy stays in force" if earlier else "nothing is started"
    return f"{count(len(problems), 'problem')}: {effect}"


def check_summary(problems: tuple[str, ...], missing: tuple[str, ...] = ()) -> str:
    """Return the problems as a list, each with the place in the file that it is about; of a good policy which
    of its columns are `missing` on the board.
    """
    if problems:
        return _problems(problems)
    said = "Cardinal reads `.github/cardinal.yml` and follows it."
    if missing:
        said += f" The board has no column {', '.join(line(code(name), 80) for name in missing)}: "
        said += "add it to the board, or correct the name."
    return said


def preview_title(proposal: ProposalRow) -> str:
    """Return the one line of the check on a branch's commit, before it is merged."""
    if problems := proposal.problems:
        return f"{count(len(problems), 'problem')}: once merged, the last good policy would stay in force"
    settings = len(proposal.settings) + proposal.more_settings
    parts = (("column", len(proposal.changes)), ("setting", settings))
    changed = " and ".join(count(number, noun) for noun, number in parts if number)
    return f"Once merged, it changes {changed}" if changed else "It changes nothing"


def preview(proposal: ProposalRow) -> str:
    """Return the problems; or tables of a drag's effects, now and then, and of the settings that differ. All
    hold text of people.
    """
    if proposal.problems:
        return _problems(proposal.problems)
    if not proposal.changes and not proposal.settings:
        return "No setting differs."
    drags = [
        f"| {_cell(code(it.column))} | {it.cards} | {_effect(it.before)} | {_effect(it.after)} |"
        for it in proposal.changes[:MAX_COLUMNS]
    ]
    named = ((f"{it.column}: {it.name}" if it.column else it.name, it) for it in proposal.settings)
    rows = [
        f"| {_cell(code(name, 240))} | {_cell(code(it.before, 160))} | {_cell(code(it.after, 160))} |"
        for name, it in named
    ]
    drag_heads = ["| column | cards now | a drag does now | and once merged |", "| --- | ---: | --- | --- |"]
    heads = ["| setting | now | once merged |", "| --- | --- | --- |"]
    note = "Active runs keep the rules they started with."
    if proposal.more_settings:
        note = f"{count(proposal.more_settings, 'more setting')} would change. {note}"
    tables = [*((*drag_heads, *drags, "") if drags else ()), *((*heads, *rows, "") if rows else ())]
    return cut("\n".join([*tables, note]), SUMMARY_LIMIT)


def _problems(problems: tuple[str, ...]) -> str:
    rows = [f"- {line(problem, 500)}" for problem in problems[:100]]
    return cut("\n".join(["`.github/cardinal.yml` cannot be used:", "", *rows]), SUMMARY_LIMIT)


def _effect(consequence: str) -> str:
    return _cell(line(consequence, 300)) or "*no such column*"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
