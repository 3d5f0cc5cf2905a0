"""What Codex asks leave for, and how it is answered."""

from typing import Any

from runner.agents.codex.items import edited_paths, shell_line
from runner.agents.codex.settings import BOARD
from runner.agents.codex.wire import line
from runner.agents.contract import PermissionAsked
from runner.text.truncate import one_line

LONGEST_CHARS = 64_000  # of a command: cut, it could hide what a policy refuses
_MAX = 1_000  # questions and patches that are remembered
_ELICITATION = "mcpServer/elicitation/request"


class Asking:
    """The questions of one turn that wait, the patches that they may be about, and the reasons given."""

    def __init__(self, repo: str) -> None:
        self._repo = repo
        self._edits: dict[str, str] = {}
        self._waiting: dict[str, tuple[object, str]] = {}  # ask -> the id of its request, and its method
        self._whys: dict[str, str] = {}

    def remember(self, item: Any) -> None:
        """Keep the paths of a patch: the question about it does not hold them."""
        if item["type"] == "fileChange" and len(self._edits) < _MAX:
            self._edits[str(item["id"])] = edited_paths(item, self._repo)

    def asked(self, request_id: object, method: str, params: Any) -> PermissionAsked | None:
        """Return the question that a request is, or None when it is none, or one too many."""
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
        return line({"id": request_id, "result": {key: "accept" if allowed else "decline"}})

    def why(self, ask_id: str) -> str:
        """Return the reason of a refusal, once; empty when none was given."""
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
