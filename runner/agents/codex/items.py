"""Items of a Codex turn: text, commands, changed files, and requests for permission."""

import re
from typing import Any

from runner.agents.codex.settings import BOARD
from runner.agents.contract import AgentEvent, PermissionAsked, Text, ToolEnd, ToolStart
from runner.agents.json_lines import json_line
from runner.text.plain import cut_bytes, one_line

MAX_CHARS = 64_000  # of a command: truncated, it could hide a refused part
_MAX = 1_000  # questions and patches that are remembered
_ELICITATION = "mcpServer/elicitation/request"
_TEXT_BYTES = 64_000
_SUMMARY_BYTES = 300
_PATHS = 50
_PATHS_BYTES = 16_000
_PIECE = re.compile(
    r"""'([^']*)' | "([^"\\]*(?:\\.[^"\\]*)*)" | \\(.) | ([^\s'"\\]+) | (\s+)""", re.VERBOSE | re.DOTALL
)
_ESCAPED = re.compile(r'\\(["\\$`])')
_SHELLS = ("bash", "sh", "zsh", "dash")  # another program before `-c` is part of the request


class Asking:
    """Pending requests of one turn, the patches that they may be about, and reasons of refusals."""

    def __init__(self, repo: str) -> None:
        self._repo = repo
        self._edits: dict[str, str] = {}
        self._waiting: dict[str, tuple[object, str]] = {}  # ask -> the id of its request, and its method
        self._whys: dict[str, str] = {}

    def remember(self, item: Any) -> None:
        """Keep the paths of a patch: a request about it does not hold them."""
        if item["type"] == "fileChange" and len(self._edits) < _MAX:
            self._edits[str(item["id"])] = edited_paths(item, self._repo)

    def permission(self, request_id: object, method: str, params: Any) -> PermissionAsked | None:
        """Return the permission that a request asks for; None for another request, or one too many."""
        ask_id = str(request_id)[:100]
        wish = self._wish(ask_id, method, params)
        if wish is None or len(self._waiting) >= _MAX:
            return None
        self._waiting[ask_id] = (request_id, method)
        return wish

    def answer(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return the decision as bytes; None when nothing waits for one."""
        if ask_id not in self._waiting:
            return None
        request_id, method = self._waiting.pop(ask_id)
        if not allowed and why:
            self._whys[ask_id] = why
        key = "action" if method == _ELICITATION else "decision"
        return json_line({"id": request_id, "result": {key: "accept" if allowed else "decline"}})

    def why(self, ask_id: str) -> str:
        """Return the reason of a refusal, once; empty without one."""
        return self._whys.pop(ask_id, "")

    def _wish(self, ask_id: str, method: str, params: Any) -> PermissionAsked | None:
        match method:
            case "item/commandExecution/requestApproval" if params.get("command"):
                return PermissionAsked(ask_id, "run", "exec_command", shell_line(str(params["command"])))
            case "item/commandExecution/requestApproval":
                return PermissionAsked(ask_id, "other", one_line(str(params.get("kind")), 60), "")
            case "item/fileChange/requestApproval":
                paths = self._edits.pop(str(params["itemId"]), "")
                return PermissionAsked(ask_id, "edit", "apply_patch", paths)
            case "mcpServer/elicitation/request":
                server = one_line(str(params["serverName"]), 60)
                return PermissionAsked(ask_id, "board" if server == BOARD else "other", server, "")
        return None


def started_item(item: Any, repo: str) -> tuple[AgentEvent, ...]:
    """Return the beginning of a tool's use, if `item` is one."""
    use = _use(item, repo)
    return (ToolStart(*use),) if use else ()


def ended_item(item: Any, repo: str) -> tuple[AgentEvent, ...]:
    """Return the text or the tool's use in a finished item."""
    if item["type"] == "agentMessage":
        text = cut_bytes(str(item["text"]), _TEXT_BYTES)
        return (Text(text),) if text.strip() else ()
    use = _use(item, repo)
    return (ToolEnd(*use, ok=item.get("status", "completed") == "completed"),) if use else ()


def typed(terminal: Any) -> tuple[AgentEvent, ...]:
    """Return the text typed into a running command, which Codex does without asking; nothing for a look."""
    words = one_line(str(terminal["stdin"]), _SUMMARY_BYTES)
    return (ToolEnd("write_stdin", words, ok=True),) if words else ()


def shell_line(command: str) -> str:
    """Return the line for the shell: `touch b` of `/bin/bash -c 'touch b'`, untruncated."""
    words = _words(command)
    wrapped = len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] in ("-c", "-lc")
    return words[2] if wrapped else command


def _words(command: str) -> list[str]:
    """Return the words of a quoted command line, or none when a quote stays open.

    shlex would do, but takes minutes for a megabyte.
    """
    words, word, end = [], [], 0
    for piece in _PIECE.finditer(command):
        if piece.start() != end:
            return []
        end = piece.end()
        single, double, escaped, plain, space = piece.groups()
        if space is None:
            word.append(
                _ESCAPED.sub(r"\1", double) if double is not None else single or escaped or plain or ""
            )
        elif word:
            words.append("".join(word))
            word = []
    return [] if end != len(command) else [*words, "".join(word)] if word else words


def edited_paths(item: Any, repo: str) -> str:
    """Return the paths that a patch touches, those in the repository relative to it."""
    paths: list[str] = []
    for change in item["changes"][:_PATHS]:
        paths.append(_inside(str(change["path"]), repo))
        moved = (change.get("kind") or {}).get("move_path")
        if moved:
            paths.append(_inside(str(moved), repo))
    return one_line(", ".join(paths), _PATHS_BYTES)


def _inside(path: str, repo: str) -> str:
    return path.removeprefix(f"{repo}/")


def _use(item: Any, repo: str) -> tuple[str, str] | None:
    """Return the name of the tool and one line about its use."""
    match item["type"]:
        case "commandExecution":
            line, code = one_line(shell_line(str(item["command"])), _SUMMARY_BYTES), item.get("exitCode")
            return "exec_command", f"{line} (exit {code})" if isinstance(code, int) and code else line
        case "fileChange":
            return "apply_patch", one_line(edited_paths(item, repo), _SUMMARY_BYTES)
        case "mcpToolCall":
            error = item.get("error")
            problem = one_line(str(error["message"]), _SUMMARY_BYTES) if error else ""
            return one_line(f"{item['server']}.{item['tool']}", 60), problem
        case "webSearch":
            return "web_search", one_line(str(item.get("query")), _SUMMARY_BYTES)
        case "imageView":
            return "view_image", one_line(_inside(str(item["path"]), repo), _SUMMARY_BYTES)
        case "contextCompaction":
            return "compaction", "made its own memory shorter"
    return None
