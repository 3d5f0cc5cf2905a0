"""What the check run on a policy file's commit says."""

from bot.texts.safe import cut, line

SUMMARY_LIMIT = 60_000  # GitHub refuses a check run's summary over 65,535 characters


def title(problems: tuple[str, ...]) -> str:
    """Return the check's one line."""
    if not problems:
        return "The policy is in force"
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    return f"{count}: the last good policy stays in force"


def summary(problems: tuple[str, ...]) -> str:
    """Return the problems as a list, each with the place in the file that it is about."""
    if not problems:
        return "Cardinal reads `.github/cardinal.yml` and follows it."
    rows = [f"- {line(problem, 500)}" for problem in problems[:100]]
    return cut("\n".join(["`.github/cardinal.yml` cannot be used:", "", *rows]), SUMMARY_LIMIT)
