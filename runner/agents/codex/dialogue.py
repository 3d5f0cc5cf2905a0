"""The protocol with one `codex app-server`: newline-separated JSON-RPC, both sides ask and answer.

Source: the schema that `codex app-server generate-json-schema` of the exact version prints, and its behaviour
as tried out.
"""

import json
from typing import Any

from runner.agents import contract
from runner.agents.codex.items import MAX_CHARS, Asking, ended_item, started_item, typed
from runner.agents.codex.settings import BOARD, PROVIDER, argv, not_offered, rpc_request
from runner.agents.json_lines import JsonLinesDialogue, json_line
from runner.text.plain import cut_bytes, one_line

_INITIALIZE, _THREAD, _TURN, _FIRST_FREE = 1, 2, 3, 4
_NOISE_BYTES = 500
_ERROR_BYTES = 1_000
_ITEMS = 100
_ANSWER_ONLY = "Answer in text. You have no tools and no files here."
# Models that can search for tools are not shown those of an MCP server, only the name of their namespace.
_ABOUT_THE_BOARD = (
    f"People see nothing of you but what you tell the tools of mcp__{BOARD}. If those are not offered to you"
    " directly, load them before you begin: call tool_search with the query"
    ' "board card plan tick progress ask note thread finish block" and the limit 20;'
    " inside of exec they are in ALL_TOOLS."
)
# Copies of other messages; pieces of text stay, since they are signs of life.
_UNWANTED = [
    "turn/diff/updated",
    "thread/tokenUsage/updated",
    "account/rateLimits/updated",
    "thread/started",
]


class CodexDialogue(JsonLinesDialogue):
    """One thread, one turn: each step is sent after the answer to the previous one."""

    def __init__(self, task: contract.Task, layout: contract.Layout, *, model: str, version: str) -> None:
        self._task, self._layout, self._model, self._version = task, layout, model, version
        self._argv = argv(task, layout, model)
        self._thread_id = self._turn_id = self._last_error = ""
        self._next_id = _FIRST_FREE
        self._unanswered = {_INITIALIZE}
        self._asking = Asking(layout.repo)
        self._ended = False

    @property
    def command(self) -> contract.Command:
        """The app server; it leaves with code 0 when its stdin ends."""
        hello = {
            "clientInfo": {"name": "cardinal", "title": "Cardinal", "version": "1"},
            "capabilities": {"optOutNotificationMethods": _UNWANTED},
        }
        env = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
        return contract.Command(self._argv, rpc_request(_INITIALIZE, "initialize", hello), env)

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return the decision, or None. Its reason follows as a message once the refusal is settled."""
        return self._asking.answer(ask_id, allowed=allowed, why=why)

    def steer(self, text: str) -> bytes | None:
        """Return the message for the running turn, or None while there is none."""
        if not self._turn_id:
            return None
        said = {"threadId": self._thread_id, "expectedTurnId": self._turn_id, "input": _text_input(text)}
        return rpc_request(self._take_id(), "turn/steer", said)

    def interrupt(self) -> bytes | None:
        """Return the wish to stop the running turn. A command that runs then dies with the server."""
        if not self._turn_id:
            return None
        turn = {"threadId": self._thread_id, "turnId": self._turn_id}
        return rpc_request(self._take_id(), "turn/interrupt", turn)

    def _take_id(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def _events(self, said: Any) -> tuple[contract.AgentEvent, ...]:
        if "method" in said:
            params = said.get("params") or {}
            if "id" in said:
                return self._requested(said["id"], str(said["method"]), params)
            return self._notified(str(said["method"]), params)
        number = said["id"]
        if number not in self._unanswered:
            return (
                contract.Noise(cut_bytes(json.dumps(said), _NOISE_BYTES)),
            )  # the answer to a message or to a stop
        self._unanswered.discard(number)
        if "error" in said:
            gone = number == _THREAD and bool(self._task.session_id)
            return (self._end(self._refusal(number, said["error"]), session_gone=gone),)
        return self._answered(number, said["result"])

    def _answered(self, number: int, result: Any) -> tuple[contract.AgentEvent, ...]:
        if number == _INITIALIZE:
            self._version = _version(result.get("userAgent"), self._version)
            self._unanswered.add(_THREAD)
            return (contract.Send(json_line({"method": "initialized"})), contract.Send(self._open_thread()))
        if number == _THREAD:
            self._thread_id = str(result["thread"]["id"])[:200]
            self._unanswered.add(_TURN)
            return (contract.Session(self._thread_id, self._version), contract.Send(self._open_turn()))
        self._turn_id = self._turn_id or str(result["turn"]["id"])
        return ()

    def _open_thread(self) -> bytes:
        # Asked for a sandbox that can write, the server declares the repository trusted, in its own home, and
        # then obeys its .codex folder: MCP servers start, rules allow commands. So the thread is read-only.
        # A resumed thread would go on with the model and the provider that it began with.
        thread: dict[str, object] = {
            "model": self._model,
            "modelProvider": PROVIDER,
            "cwd": self._layout.repo,
            "sandbox": "read-only",
            "approvalPolicy": "untrusted",
        }
        if self._task.phase is contract.Phase.CHAT:
            return rpc_request(
                _THREAD, "thread/start", thread | {"ephemeral": True, "baseInstructions": _ANSWER_ONLY}
            )
        thread["developerInstructions"] = _ABOUT_THE_BOARD
        if self._task.session_id:
            resumed = {"threadId": self._task.session_id, "excludeTurns": True}
            return rpc_request(_THREAD, "thread/resume", thread | resumed)
        return rpc_request(_THREAD, "thread/start", thread)

    def _open_turn(self) -> bytes:
        # The container is the sandbox. Under these two the server asks before every command and patch.
        network = "restricted" if self._task.tools.network == "none" else "enabled"
        outside = {"type": "externalSandbox", "networkAccess": network}
        sandbox = {"type": "readOnly"} if self._task.phase is contract.Phase.CHAT else outside
        turn = {
            "threadId": self._thread_id,
            "input": _text_input(self._task.prompt),
            "approvalPolicy": "untrusted",
            "sandboxPolicy": sandbox,
        }
        return rpc_request(_TURN, "turn/start", turn)

    def _refusal(self, number: int, error: Any) -> str:
        problem = one_line(str(error["message"]), _ERROR_BYTES)
        if number == _THREAD and self._task.session_id:
            return f"codex cannot continue the session {one_line(self._task.session_id, 80)}: {problem}"
        return f"codex refused to start: {problem}"

    def _end(self, error: str, *, session_gone: bool = False) -> contract.TurnEnd:
        self._ended, self._turn_id = True, ""
        return contract.TurnEnd(cut_bytes(error, _ERROR_BYTES), session_gone)

    def _notified(self, method: str, params: Any) -> tuple[contract.AgentEvent, ...]:
        if params.get("threadId", self._thread_id) != self._thread_id:
            return ()
        match method:
            case "item/started":
                self._asking.remember(params["item"])
                return started_item(params["item"], self._layout.repo)
            case "item/completed":
                return ended_item(params["item"], self._layout.repo)
            case "item/commandExecution/terminalInteraction":
                return typed(params)
            case "turn/started":
                self._turn_id = "" if self._ended else str(params["turn"]["id"])
                return ()
            case "turn/plan/updated":
                steps = params["plan"][:_ITEMS]
                done = tuple((one_line(str(step["step"])), step["status"] == "completed") for step in steps)
                return (contract.TodoShown(done),)
            case "serverRequest/resolved":
                return self._explain_refusal(str(params["requestId"]))
            case "error":
                return self._failed(params)
            case "turn/completed":
                return (self._end(self._problem(params["turn"])),)
        return ()

    def _explain_refusal(self, ask_id: str) -> tuple[contract.AgentEvent, ...]:
        why = self._asking.why(ask_id)
        message = self.steer(f"Cardinal refused that: {why}") if why else None
        return (contract.Send(message),) if message else ()

    def _failed(self, params: Any) -> tuple[contract.AgentEvent, ...]:
        problem = _error_text(params["error"])
        if not params.get("willRetry"):
            self._last_error = problem
        return (contract.Noise(problem),)

    def _problem(self, turn: Any) -> str:
        match turn["status"]:
            case "completed":
                return ""
            case "interrupted":
                return "codex was interrupted"
        error = turn.get("error")
        return _error_text(error) if error else self._last_error or "codex failed and did not say why"

    def _requested(self, request_id: Any, method: str, params: Any) -> tuple[contract.AgentEvent, ...]:
        permission = self._asking.permission(request_id, method, params)
        if permission is None:
            return (contract.Send(not_offered(request_id, method)),)
        if self._task.phase is contract.Phase.CHAT:
            return self._refused(permission.ask_id, "")
        if len(permission.command) > MAX_CHARS:
            return self._refused(permission.ask_id, f"it is longer than {MAX_CHARS} characters: use a file")
        return (permission,)

    def _refused(self, ask_id: str, why: str) -> tuple[contract.AgentEvent, ...]:
        answer = self._asking.answer(ask_id, allowed=False, why=why)
        return (contract.Send(answer),) if answer else ()


def _text_input(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _version(agent: object, known: str) -> str:
    """Return the version in a user agent like `cardinal/0.169.0 (Debian …)`."""
    words = str(agent or "").partition("/")[2].split()
    return one_line(words[0], 50) if words else known


def _error_text(error: Any) -> str:
    more = error.get("additionalDetails")
    return cut_bytes(": ".join(str(part) for part in (error["message"], more) if part), _ERROR_BYTES)
