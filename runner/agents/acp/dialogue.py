"""The Agent Client Protocol, version 1: one process, one session, one prompt.

JSON-RPC 2.0, a message a line. Source: agentclientprotocol.com/protocol/overview and its JSON schema. What a
program claims about its cost counts only where nothing else meters it.
"""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from runner.agents import contract
from runner.agents.acp.tool_use import (
    BOARD,
    CUT,
    MAX_COMMAND_CHARS,
    MAX_PATHS,
    NAME_BYTES,
    SUMMARY_BYTES,
    Bill,
    ToolUse,
    read_tool_use,
)
from runner.agents.json_lines import MALFORMED, JsonLinesDialogue, json_line
from runner.text.plain import cut_bytes, one_line

PROTOCOL = 1
_UNKNOWN_METHOD, _BAD_PARAMS, _AUTH_REQUIRED = -32601, -32602, -32000
_BAD_REQUEST = 400  # of HTTP: some programs pass their provider's on
_TEXT_BYTES = 60_000
_ERROR_BYTES = 1_000
_ID_BYTES = 200
_NOISE_BYTES = 500
_ITEMS = 100
_RESUMES = 20  # prompts after the first, in one turn
_COMPLETE = ("completed", "failed")
_MAY_RESUME = ("end_turn", "cancelled")
_KEPT = 200  # at most so many tools in use and questions are remembered
_KINDS = {
    "read": "read", "search": "read", "edit": "edit", "delete": "edit", "move": "edit", "execute": "run",
}  # fmt: skip


class AcpStep(StrEnum):
    """What the program answers next, in words for people."""

    INITIALIZE = "initialize"
    SESSION = "the opening of a session"
    MODEL = "the choice of a model"
    PROMPT = "the prompt"
    OVER = ""  # nothing more


_AGAIN = "retry; if that happens again, the operator can find out why with `cardinal agents --try`"
_ENDS = {
    "end_turn": "",
    "cancelled": "it was interrupted",
    "refusal": "its model refused to continue: change the card's text, then retry",
    "max_tokens": "its model's answer was longer than the model may write: split the card, then retry",
    "max_turn_requests": "it made all the model calls that it may make in a turn: split the card, then retry",
}
_INIT = {
    "protocolVersion": PROTOCOL,
    "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    "clientInfo": {"name": "cardinal", "title": "Cardinal", "version": "1"},
}


def _message(**fields: object) -> bytes:
    return json_line({"jsonrpc": "2.0", **fields})


def _request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    return _message(id=number, method=method, params=params)


class AcpDialogue(JsonLinesDialogue):
    """Each step is sent after the answer to the one before; anything out of turn is noise.

    `command` starts the program; `meters` says whether its own figures are the run's usage.
    """

    def __init__(
        self,
        task: contract.Task,
        layout: contract.Layout,
        command: contract.Command,
        *,
        model: str,
        meters: bool = False,
    ) -> None:
        self._task, self._layout, self._model = task, layout, model
        self._command = dataclasses.replace(command, opening=_request(1, "initialize", _INIT))
        self._waiting, self._number = AcpStep.INITIALIZE, 1  # the step whose answer comes next
        self._refused = list[str]()  # since the program did anything by itself
        self._words, self._told = list[str](), list[str]()  # people's, for the next prompt; and those in it
        self._resumed, self._interrupted, self._worked = 0, False, False  # `_worked`: since the last prompt
        self._capabilities: Mapping[str, Any] = {}
        self._session_id = self._version = ""
        self._said, self._said_bytes, self._said_in = list[str](), 0, ""
        self._tools: dict[str, ToolUse] = {}
        self._asks: dict[str, tuple[Any, Mapping[str, str]]] = {}
        self._bill = Bill() if meters else None

    @property
    def command(self) -> contract.Command:
        return self._command

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return the choice for this once; None when nothing waits for it. The protocol takes no reason."""
        if ask_id not in self._asks:
            return None
        number, options = self._asks.pop(ask_id)
        if not allowed:
            self._refused.append(one_line(why, SUMMARY_BYTES))
        return _choice(number, options.get("allow_once" if allowed else "reject_once"))

    def steer(self, text: str) -> bytes | None:
        """Return None: version 1 takes nothing while it answers a prompt, and is told in the next one."""
        if text in self._told:
            self._told.remove(text)
            return b""  # it was sent meanwhile
        fresh = bool(text.strip()) and text not in self._words and len(self._words) < _ITEMS
        if self._waiting == AcpStep.PROMPT and fresh:
            self._words.append(text)
        return None

    def interrupt(self) -> bytes | None:
        """Return the wish to stop, with the answers that the protocol demands; None before a session."""
        self._interrupted = True
        if not self._session_id:
            return None
        answers = [_choice(number, None) for number, _ in self._asks.values()]
        self._asks.clear()
        return b"".join((_message(method="session/cancel", params={"sessionId": self._session_id}), *answers))

    def _events(self, said: Any) -> Iterator[contract.AgentEvent]:
        if "method" not in said:
            yield from self._take_answer(said)
        elif "id" in said:
            yield from self._serve_request(said["id"], str(said["method"]), said.get("params"))
        elif said["method"] == "session/update" and self._waiting == AcpStep.PROMPT:
            # What comes before the prompt repeats an older session, and belongs to older turns.
            params = said["params"]
            if params["sessionId"] == self._session_id:
                yield from self._read_update(params["update"])

    def _take_answer(self, said: Any) -> Iterable[contract.AgentEvent]:
        if not self._waiting or type(said["id"]) is not int or said["id"] != self._number:
            return (contract.Noise(cut_bytes(json.dumps(said), _NOISE_BYTES)),)
        step = self._waiting
        try:
            if "error" in said:
                return (*self._flush(), self._fail(said["error"]))
            return tuple(self._read_answer(said["result"]))
        except MALFORMED:  # nothing else would come, and the turn would wait for ever
            return (self._end(f"it answered {step} with what the protocol does not know: {_AGAIN}"),)

    def _read_answer(self, result: Any) -> Iterator[contract.AgentEvent]:
        result = result or {}
        match self._waiting:
            case AcpStep.INITIALIZE:
                yield self._greet(result)
            case AcpStep.SESSION:
                self._session_id = str(result.get("sessionId") or self._task.session_id)[:_ID_BYTES]
                if not self._session_id:
                    yield self._end(
                        f"it opened a session without a name, so it cannot be spoken to: {_AGAIN}"
                    )
                    return
                yield contract.Session(self._session_id, self._version)
                yield self._choose_model(result)
            case AcpStep.MODEL:
                yield self._prompt(self._task.prompt)
            case AcpStep.PROMPT:
                yield from self._flush()
                if self._bill is not None:
                    yield from self._bill.add_tokens(result.get("usage"))
                reason = str(result.get("stopReason") or "")
                if reason in _MAY_RESUME and (more := self._what_more()):
                    yield self._prompt(more)
                    return
                yield self._end(
                    _ENDS.get(reason, f"it stopped and gave the reason {one_line(reason, 80)!r}: {_AGAIN}")
                )

    def _greet(self, result: Any) -> contract.AgentEvent:
        if result.get("protocolVersion") != PROTOCOL:
            version = one_line(str(result.get("protocolVersion")), 20)
            return self._end(
                f"it speaks version {version} of the Agent Client Protocol and Cardinal speaks {PROTOCOL}:"
                " install the program's version from the list of agents, then retry"
            )
        self._capabilities = dict(result.get("agentCapabilities") or {})
        self._version = one_line(str((result.get("agentInfo") or {}).get("version", "")), 50)
        params: dict[str, object] = {"cwd": self._layout.repo, "mcpServers": self._servers()}
        if not self._task.session_id:
            return self._ask(AcpStep.SESSION, "session/new", params)
        resumes = (self._capabilities.get("sessionCapabilities") or {}).get("resume") is not None
        if not resumes and self._capabilities.get("loadSession") is not True:
            return self._end("it cannot continue a session", session_gone=True)
        method = "session/resume" if resumes else "session/load"
        return self._ask(AcpStep.SESSION, method, {"sessionId": self._task.session_id, **params})

    def _servers(self) -> list[dict[str, object]]:
        """Return the board as the program can reach it: by HTTP, else by a child that passes it on."""
        if self._task.phase is contract.Phase.CHAT:
            return []
        if (self._capabilities.get("mcpCapabilities") or {}).get("http") is True:
            url = f"{self._layout.gateway}/board"
            return [{"type": "http", "name": BOARD, "url": url, "headers": []}]
        relay = ["-I", "-S", "-B", f"{self._layout.player}/board.py", "--mcp"]
        gateway = [{"name": "CARDINAL_GATEWAY", "value": self._layout.gateway}]
        return [{"name": BOARD, "command": self._layout.python, "args": relay, "env": gateway}]

    def _choose_model(self, result: Any) -> contract.AgentEvent:
        """Return the choice of the model, if it is offered by this very name, else the prompt.

        The name is in the program's start, too: a program offers its own list, and takes others there.
        """
        for option in result.get("configOptions") or ():
            if option.get("category") != "model" or option.get("currentValue") == self._model:
                continue
            groups = [each.get("options") or [each] for each in option.get("options") or ()]
            if any(each.get("value") == self._model for group in groups for each in group):
                choice = {"sessionId": self._session_id, "configId": option["id"], "value": self._model}
                return self._ask(AcpStep.MODEL, "session/set_config_option", choice)
        return self._prompt(self._task.prompt)

    def _prompt(self, words: str) -> contract.AgentEvent:
        self._worked = False
        text = {"type": "text", "text": _plain_prompt(words)}
        return self._ask(AcpStep.PROMPT, "session/prompt", {"sessionId": self._session_id, "prompt": [text]})

    def _what_more(self) -> str:
        """Return what the program is told in another prompt: people's words, and what was refused and why.

        Some programs end their turn with a refusal, and none hears its reason. Empty when there is nothing.
        """
        if self._interrupted or self._resumed >= _RESUMES:
            return ""
        why = "; ".join(dict.fromkeys(self._refused))
        parts = [f"Cardinal refused that: {why}. Continue without it."] if self._refused else []
        parts += self._words
        self._told, self._words, self._refused = self._words, [], []
        self._resumed += 1
        return "\n\n".join(parts)

    def _ask(self, step: AcpStep, method: str, params: Mapping[str, object]) -> contract.Send:
        self._waiting, self._number = step, self._number + 1
        return contract.Send(_request(self._number, method, params))

    def _fail(self, error: Any) -> contract.AgentEvent:
        step, code = self._waiting, error.get("code")
        details = error.get("data")
        parts = (error.get("message"), json.dumps(details) if details else "")
        problem = one_line(": ".join(str(part)[:CUT] for part in parts if part), _ERROR_BYTES)
        if code == _AUTH_REQUIRED:
            return self._end(
                f"it wants a login first ({problem}): give Cardinal the key of its provider, and the program"
                " any word as its key, in the `env` of the agent's file, then retry"
            )
        # A provider may refuse what a program has kept of a session: a result, say, without its call.
        torn = step == AcpStep.PROMPT and code == _BAD_REQUEST and not self._worked and not self._resumed
        if (step == AcpStep.SESSION or torn) and self._task.session_id:
            gone = one_line(self._task.session_id, 80)
            return self._end(f"it cannot continue the session {gone}: {problem}", session_gone=True)
        if step == AcpStep.PROMPT and self._worked and not self._interrupted and self._resumed < _RESUMES:
            self._resumed += 1  # some give up at once when an answer of their model breaks off
            return self._prompt(f"Your model's answer failed: {problem or 'no reason was given'}. Continue.")
        return self._end(problem or f"it failed and did not say why: {_AGAIN}")

    def _end(self, error: str, *, session_gone: bool = False) -> contract.TurnEnd:
        self._waiting = AcpStep.OVER
        return contract.TurnEnd(cut_bytes(error, _ERROR_BYTES), session_gone)

    def _read_update(self, update: Any) -> Iterator[contract.AgentEvent]:
        match update["sessionUpdate"]:
            case "agent_message_chunk":
                yield from self._say(update)
            case "tool_call" | "tool_call_update":
                yield from self._flush()
                yield from self._use_tool(update)
            case "plan":
                yield from self._flush()
                entries = update["entries"][:_ITEMS]
                items = tuple(
                    (one_line(str(e["content"])[:CUT], SUMMARY_BYTES), e["status"] == "completed")
                    for e in entries
                )
                yield contract.TodoShown(items)
            case "usage_update" if self._bill is not None:
                yield from self._bill.add_cost(update.get("cost"))

    def _say(self, chunk: Any) -> Iterator[contract.AgentEvent]:
        """Collect a message: it comes in pieces, and a call of the board in it must be whole."""
        content, message_id = chunk["content"], str(chunk.get("messageId") or "")[:_ID_BYTES]
        text = str(content["text"]) if content["type"] == "text" else ""
        if not text:
            return
        if message_id != self._said_in:
            yield from self._flush()
            self._said_in = message_id
        if self._said_bytes + len(text) > _TEXT_BYTES:
            yield from self._flush()
        self._said.append(cut_bytes(text, _TEXT_BYTES))
        self._said_bytes += len(text)

    def _flush(self) -> Iterator[contract.AgentEvent]:
        text = "".join(self._said)
        self._said, self._said_bytes = [], 0
        if text.strip():
            yield contract.Text(cut_bytes(text, _TEXT_BYTES))

    def _use_tool(self, update: Any) -> Iterator[contract.AgentEvent]:
        # What an older prompt used is told as complete at once, by some only after the session is open.
        self._worked |= update["sessionUpdate"] != "tool_call" or update.get("status") not in _COMPLETE
        tool_id = str(update["toolCallId"])[:_ID_BYTES]
        known = self._tools.get(tool_id)
        tool, status = read_tool_use(update, known, self._layout.repo), update.get("status")
        if status in _COMPLETE:
            self._tools.pop(tool_id, None)
            if not tool.of_board:
                yield contract.ToolEnd(tool.name, tool.summary, ok=status == "completed")
        elif known is not None or len(self._tools) < _KEPT:
            self._tools[tool_id] = tool
            if known is None:
                self._refused = []
            if known is None and not tool.of_board:
                yield contract.ToolStart(tool.name, tool.summary)

    def _serve_request(self, number: Any, method: str, params: Any) -> Iterable[contract.AgentEvent]:
        """Return the answer to a request of the program, or the question that it is; it waits for either."""
        ask_id = json.dumps(number)
        if len(ask_id) > _ID_BYTES:
            return (contract.Noise(f"a request whose id has {len(ask_id)} characters"),)
        if method != "session/request_permission":
            return (_refuse(number, _UNKNOWN_METHOD, f"Cardinal does not offer {method[:NAME_BYTES]}"),)
        if ask_id in self._asks or len(self._asks) >= _KEPT:
            return (_refuse(number, _BAD_PARAMS, "too many requests wait for an answer, or two by one id"),)
        try:
            options = {str(each["kind"]): str(each["optionId"]) for each in params["options"]}
            wish = self._wish(ask_id, params["toolCall"])
        except MALFORMED:
            return (_refuse(number, _BAD_PARAMS, "the request is not what the protocol says"),)
        ours = self._waiting == AcpStep.PROMPT and params.get("sessionId") == self._session_id
        if wish is None or not ours or "allow_once" not in options:
            return (contract.Send(_choice(number, options.get("reject_once"))),)
        self._asks[ask_id] = (number, options)
        return (wish,)

    def _wish(self, ask_id: str, call: Any) -> contract.PermissionAsked | None:
        """Return the permission that is asked for; None for one that nobody gives here.

        Whatever holds a change is an edit, and whatever else holds a command a command, also when the program
        calls it reading.
        """
        tool = read_tool_use(call, self._tools.get(str(call["toolCallId"])[:_ID_BYTES]), self._layout.repo)
        paths = ", ".join(tool.paths)
        # Before the request, a title may be the tool's name alone.
        command = tool.command or (str(call.get("title") or "") if call.get("kind") == "execute" else "")
        kind = "board" if tool.of_board else _KINDS.get(tool.kind, "other")
        subject = command or paths or str(call.get("title") or tool.summary)
        if kind == "edit" or tool.changes:
            kind, subject = "edit", paths or subject
        elif command:
            kind = "run"
        elif kind == "run":
            return None  # a command that is not told cannot be judged
        if tool.kind == "switch_mode":
            return None  # another mode may stop asking
        if len(subject) > MAX_COMMAND_CHARS or len(tool.paths) > MAX_PATHS:
            return None  # people could not read all of it
        return contract.PermissionAsked(ask_id, kind, tool.name, subject)


def _choice(number: Any, option: str | None) -> bytes:
    outcome = {"outcome": "selected", "optionId": option} if option else {"outcome": "cancelled"}
    return _message(id=number, result={"outcome": outcome})


def _plain_prompt(text: str) -> str:
    """Return a prompt that cannot begin as a command of the program (`/clear`)."""
    return f"A person wrote: {text}" if text.lstrip().startswith("/") else text


def _refuse(number: Any, code: int, message: str) -> contract.Send:
    return contract.Send(_message(id=number, error={"code": code, "message": message}))
