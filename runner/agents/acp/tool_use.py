"""What a program's messages say about the use of its tools, and what it claims to have used."""

import json
import math
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.agents.board_tools import TOOLS
from runner.agents.contract import Usage
from runner.text.plain import one_line

BOARD = "board"
CUT = 1_200  # a megabyte takes long to clean
SUMMARY_BYTES = 300
NAME_BYTES = 100
MAX_COMMAND_CHARS = 64_000  # of what may be permitted: cut, it could hide a refused part
MAX_PATHS = 100  # the same
_OF_BOARD = (f"mcp__{BOARD}__", f"mcp_{BOARD}_", f"{BOARD}_")
_NAMES = "|".join(TOOLS)
_BOARD_TOOL = re.compile(rf"(?:mcp__?)?{BOARD}(?:__?|-)({_NAMES})|({_NAMES}) \({BOARD} MCP Server\)")
_COMMANDS = ("command", "cmd", "script")  # what tools call it
# What tools of kind `other` call a file, and what they would write into it.
_PATHS = frozenset({"path", "file", "file_path", "filePath", "filepath", "absolute_path"})
_TEXTS = frozenset({
    "content", "contents", "text", "file_text", "new_str", "new_string", "newString", "newText", "after",
    "replace", "patch", "diff", "edits",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The use of a tool, as far as its updates told of it. `command` is what it would run, `paths` are the
    files it names, and `changes` whether it would change any.
    """

    name: str
    kind: str
    summary: str
    command: str = ""
    paths: tuple[str, ...] = ()
    changes: bool = False

    @property
    def of_board(self) -> bool:
        return self.name.startswith(_OF_BOARD)  # the gateway reports its calls


def read_tool_use(call: Any, known: ToolUse | None, repo: str) -> ToolUse:
    """Return what is known of a use; an update holds only what is new, and a request may hold nothing.

    A program may tell a use's input as text in its content, and a title may be words of the model.
    """
    before = known or ToolUse("", "other", "")
    kind = one_line(str(call.get("kind") or before.kind), NAME_BYTES)
    given = _input_of(call)
    title = str(call.get("title") or "")
    command = _command_in(given) or before.command
    paths = tuple(_paths_in(call, given, repo)) or before.paths
    return ToolUse(
        name=one_line((_name_in(call, is_first=known is None) or before.name or kind)[:CUT], NAME_BYTES),
        kind=kind,
        summary=one_line((command or ", ".join(paths) or title)[:CUT], SUMMARY_BYTES) or before.summary,
        command=command[: MAX_COMMAND_CHARS + 1],
        paths=paths,
        changes=before.changes or _holds_change(call, given, kind),
    )


def _input_of(call: Any) -> Mapping[str, Any]:
    if isinstance(given := call.get("rawInput"), dict) and given:
        return given
    for part in call.get("content") or ():
        text = (part.get("content") or {}).get("text") if part.get("type") == "content" else None
        if isinstance(text, str) and text.startswith("{") and len(text) <= MAX_COMMAND_CHARS:
            try:
                given = json.loads(text)
            except (ValueError, RecursionError):  # not all of it has come
                continue
            if isinstance(given, dict):
                return given
    return {}


def _name_in(call: Any, *, is_first: bool) -> str:
    """Return the name of the tool, which the protocol has no place for; empty where the program has none."""
    meta = call.get("_meta") or {}
    nested = [each["toolCall"] for each in meta.values() if isinstance(each, dict) and "toolCall" in each]
    names = [each.get("toolName") for each in (meta, *nested)]
    title = str(call.get("title") or "")
    if is_first and call.get("kind", "other") == "other" and (match := _BOARD_TOOL.fullmatch(title)):
        names.append(f"{BOARD}_{match[1] or match[2]}")
    return str(next(filter(None, names), ""))


def _command_in(given: Mapping[str, Any]) -> str:
    command = next((given[name] for name in _COMMANDS if given.get(name)), "")
    return shlex.join(map(str, command)) if isinstance(command, list) else str(command)


def _holds_change(call: Any, given: Mapping[str, Any], kind: str) -> bool:
    shown = any(each.get("type") == "diff" for each in call.get("content") or ())
    return shown or (kind == "other" and bool(_PATHS & set(given)) and bool(_TEXTS & set(given)))


def _paths_in(call: Any, given: Mapping[str, Any], repo: str) -> list[str]:
    parts = [*(call.get("locations") or ()), *(call.get("content") or ())]
    paths = [
        *(part["path"] for part in parts if part.get("path")),
        *(given[key] for key in _PATHS & set(given)),
    ]
    plain = (str(path)[:CUT].removeprefix(f"{repo}/") for path in paths[: MAX_PATHS + 1])
    return list(dict.fromkeys(plain))


class Bill:
    """A program's own figures, which are totals of its session: what is new since the last ones."""

    def __init__(self) -> None:
        self._usd = 0.0

    def add_cost(self, cost: Any) -> Iterator[Usage]:
        usd = float((cost or {}).get("amount", 0.0))
        if math.isfinite(usd) and usd > self._usd and str(cost.get("currency", "USD")) == "USD":
            yield Usage(usd - self._usd, 0, 0, 0)
            self._usd = usd

    def add_tokens(self, usage: Any) -> Iterator[Usage]:
        """Yield the tokens of a prompt, 0 for what is not a number: the work was done all the same."""
        if isinstance(usage, dict) and usage:
            counts = (usage.get(name) for name in ("inputTokens", "outputTokens"))
            yield Usage(0.0, *(count if type(count) is int else 0 for count in counts))
