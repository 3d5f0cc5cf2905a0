"""The reply to a review thread: the agent's words and the commit that answers it."""

from bot.render.markdown.escape import fit, line, quote


def write(text: str, *, run_id: str, head: str, by: str) -> str:
    """Return the reply; `head` is the commit on the branch that holds the change."""
    commit = f" in {head[:12]}" if head else ""
    return fit((quote(text, 6_000) or "Done.", f"_{line(by, 40)}, run {run_id}{commit}_"))
