"""Texts of the check run on a policy file's commit."""

from bot.render.markdown.escape import cut, line
from rules.text import code, count

NAME = "cardinal/policy"
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
        rows = [f"- {line(problem, 500)}" for problem in problems[:100]]
        return cut("\n".join(["`.github/cardinal.yml` cannot be used:", "", *rows]), SUMMARY_LIMIT)
    said = "Cardinal reads `.github/cardinal.yml` and follows it."
    if missing:
        said += f" The board has no column {', '.join(line(code(name), 80) for name in missing)}: "
        said += "add what is missing to the board, or correct the name."
    return said
