"""What a program's messages say about the use of its tools, and what it claims to have used."""

import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from runner.agents.contract import Usage
from runner.text.plain import one_line

BOARD = "board"
CUT = 1_200  # a megabyte takes long to clean
SUMMARY_BYTES = 300
NAME_BYTES = 100


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The use of a tool, as far as its updates told of it."""

    name: str
    kind: str
    summary: str

    @property
    def of_board(self) -> bool:
        return self.name.startswith((f"mcp__{BOARD}__", f"{BOARD}_"))  # the gateway reports its calls


def read_tool_use(call: Any, known: ToolUse | None, repo: str) -> ToolUse:
    """Return what is known of a use; an update holds only what is new."""
    before = known or ToolUse("", "other", "")
    kind = one_line(str(call.get("kind") or before.kind), NAME_BYTES)
    name = str((call.get("_meta") or {}).get("toolName") or before.name or kind)
    subject = command_in(call) or ", ".join(paths_in(call, repo)) or str(call.get("title") or "")
    return ToolUse(
        one_line(name[:CUT], NAME_BYTES), kind, one_line(subject[:CUT], SUMMARY_BYTES) or before.summary
    )


def command_in(call: Any) -> str:
    given = call.get("rawInput")
    command = given.get("command") if isinstance(given, dict) else None
    if isinstance(command, list):
        return shlex.join(map(str, command))
    if isinstance(command, str) and command:
        return command
    return str(call.get("title") or "") if call.get("kind") == "execute" else ""


def holds_change(call: Any) -> bool:
    return any(each.get("type") == "diff" for each in call.get("content") or ())


def paths_in(call: Any, repo: str) -> list[str]:
    parts = [*(call.get("locations") or ()), *(call.get("content") or ())]
    paths = (str(part["path"]).removeprefix(f"{repo}/") for part in parts if part.get("path"))
    return list(dict.fromkeys(paths))


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
        if usage:
            yield Usage(0.0, int(usage["inputTokens"]), int(usage["outputTokens"]))
