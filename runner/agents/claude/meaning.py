"""What Claude Code's tools and endings mean to people: one line each. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from runner.text.truncate import cut, one_line

_ERROR_BYTES = 600
_SUMMARY_BYTES = 300
_KINDS = {
    "Bash": "run",
    "Edit": "edit",
    "MultiEdit": "edit",
    "Write": "edit",
    "NotebookEdit": "edit",
    "Read": "read",
    "Glob": "read",
    "Grep": "read",
}
# The input that tells most about a use of each tool; for others it is the first text.
_TELLING = ("command", "file_path", "notebook_path", "pattern", "description", "query", "url")
# What the program puts around a provider's words, of no use to somebody who reads them on a card.
_AROUND = re.compile(r"API Error: (?:\d{3} )?|\s*If it persists, check your inference gateway .*$", re.DOTALL)


def kind_of(tool: str) -> str:
    """Return read, edit, run, board or other."""
    return "board" if tool.startswith("mcp__board__") else _KINDS.get(tool, "other")


def subject_of(wish: Mapping[str, Any], repo: str) -> str:
    """Return what a tool is used on, whole: a shell line, a path (within the repository where it is), a
    pattern.
    """
    texts = {key: value for key, value in wish.items() if isinstance(value, str)}
    for key in _TELLING:
        if key in texts:
            return texts[key].removeprefix(f"{repo}/") if key.endswith("_path") else texts[key]
    return next(iter(texts.values()), "")


def summary_of(wish: Mapping[str, Any], repo: str, *, by_subagent: bool) -> str:
    """Return the same as one short line, which names a subagent's work as such."""
    line = one_line(subject_of(wish, repo), _SUMMARY_BYTES)
    return f"subagent: {line}" if by_subagent else line


def problem_of(result: Mapping[str, Any], session_id: str) -> str:
    """Return what went wrong by the last line of a turn, as a person reads it; empty when nothing did.

    `subtype` alone says nothing: a refused model call ends as `success` with `is_error`.
    """
    if result["subtype"] == "success" and result["is_error"] is False:
        return ""
    errors = result.get("errors")
    told = " ".join(map(str, errors)) if isinstance(errors, list) else ""
    if "No conversation found" in told or "--resume requires" in told:
        gone = one_line(session_id, 80)
        return f"its session {gone} is not in this workspace any more, so claude cannot go on in it"
    if str(result.get("terminal_reason", "")).startswith("aborted"):
        return "it was interrupted"
    said = result.get("result")
    text = one_line(_AROUND.sub("", said if isinstance(said, str) else told), _ERROR_BYTES)
    status = result.get("api_error_status")
    if isinstance(status, int):
        return cut(f"the model's provider answered {status}: {text}", _ERROR_BYTES)
    return text or f"it ended with {one_line(str(result['subtype']), 80)}"
