"""Issue that a run's agent proposed: its words, and its name."""

from bot.render.markdown.escape import close_code, cut, escape_mentions, fit_comment, line, quote

TITLE_LIMIT = 200  # GitHub refuses titles over 256 characters
BODY_LIMIT = 20_000


def title(text: str) -> str:
    """Return the issue's title: one line in which nobody is mentioned."""
    return cut(" ".join(escape_mentions(text).split()), TITLE_LIMIT) or "(no title)"


def of_program(body: str, *, by: str, via: str) -> str:
    """Return the text of an issue that a program made for an account: its own words, and whose they are.

    Nobody is mentioned in them.
    """
    words = close_code(cut(escape_mentions(body), BODY_LIMIT))
    return fit_comment((words, f"Made for {line(by, 60)} by a program (token {line(via, 80)})"))


def write(*, run_id: str, number: int | None, body: str, reason: str, repository: str = "") -> str:
    """Return the issue's text without its marker: the agent's words are quoted.

    `repository` is that of the card, where the issue is in another one.
    """
    of = f" of {repository}#{number}" if number is not None else ""
    return fit_comment((quote(body, BODY_LIMIT), f"Proposed by run {run_id}{of}: {line(reason, 500)}"))
