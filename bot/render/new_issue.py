"""Issue that a run's agent proposed: its words, and its name."""

from bot.render.markdown.escape import cut, fit, line, quote, tame

TITLE_LIMIT = 200  # GitHub refuses titles over 256 characters
BODY_LIMIT = 20_000


def title(text: str) -> str:
    """Return the issue's title: one line in which nobody is mentioned."""
    return cut(" ".join(tame(text).split()), TITLE_LIMIT) or "(no title)"


def write(*, run_id: str, number: int | None, body: str, reason: str, repository: str = "") -> str:
    """Return the issue's text without its marker: the agent's words are quoted.

    `repository` is that of the card, where the issue is in another one.
    """
    of = f" of {repository}#{number}" if number is not None else ""
    return fit((quote(body, BODY_LIMIT), f"Proposed by run {run_id}{of}: {line(reason, 500)}"))
