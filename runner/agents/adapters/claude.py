"""Claude Code: spoken to in JSON lines over its stdin and stdout, paid for through the gateway.

It starts isolated and quiet, and asks before any change. Source: `claude --help` of the exact version, the
names of variables in its program, and their effects in trials. The lines have no published schema.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ledger.model.policy_settings import EFFORTS
from runner.agents import contract
from runner.agents.contract import Command, Dialogue, Layout, Metering, Phase, Task
from runner.agents.json_lines import JsonLinesDialogue, json_line
from runner.text.plain import cut_bytes, one_line

BOARD = "mcp__board"
_TOOLS = ("Bash", "Edit", "Write", "Read", "Glob", "Grep", "NotebookEdit", "TodoWrite", "Task")
_ASKS = ["Bash", "Edit", "Write", "NotebookEdit"]  # else it runs commands that it takes for read-only
_STREAM = (
    "claude",
    "--print",
    "--verbose",
    "--input-format=stream-json",
    "--output-format=stream-json",
    "--replay-user-messages",
)
# Of the repository nothing but its files: no settings, hooks, plugins, MCP servers, skills, commands.
_ALONE = ("--setting-sources=", "--strict-mcp-config", "--disable-slash-commands")
_ANSWERING = (
    "--tools=",
    "--system-prompt=Answer in text. You have no tools and no files here.",
    "--no-session-persistence",
)
_NOT_A_KEY = "cardinal-gateway"  # the program wants one; the gateway puts the real one in its place
_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_FILE_MENTIONS": "1",  # else `@/a/file` in an issue puts the file into the prompt
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",  # a budget can be held in the middle of a stream only
    "CLAUDE_CODE_ENABLE_TODO_TOOLS": "1",
    "CLAUDE_CODE_ENABLE_TASKS": "0",  # one list at a time, instead of single changes to it
    "CLAUDE_CODE_MAX_RETRIES": "2",  # the gateway counts them and stops the run
    "ENABLE_TOOL_SEARCH": "0",
    "NO_PROXY": "127.0.0.1,localhost",
    "no_proxy": "127.0.0.1,localhost",
}
# Whatever it wants another model for (a subagent, a summary) asks for the one that the policy allows.
_PINNED = (
    "ANTHROPIC_DEFAULT_FABLE_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
)


def command(task: Task, layout: Layout, model: str) -> Command:
    """Return the program with its first prompt; it exits with code 0 when its stdin ends after a turn."""
    chat = task.phase is Phase.CHAT
    scene = _ANSWERING if chat else _working(task, layout)
    effort = (f"--effort={task.effort}",) if task.effort else ()
    argv = (*_STREAM, *_ALONE, f"--model={model}", *effort, *scene)
    return Command(argv, user_message(task.prompt), _environment(layout, model))


def _working(task: Task, layout: Layout) -> tuple[str, ...]:
    settings = {
        "attribution": {"commit": "", "pr": ""},
        "permissions": {"ask": _ASKS, "allow": [BOARD]},
    }
    board = {"mcpServers": {"board": {"type": "http", "url": f"{layout.gateway}/board"}}}
    resumed = (f"--resume={task.session_id}",) if task.session_id else ()
    return (
        f"--tools={','.join(_TOOLS)}",
        "--permission-mode=default",
        "--permission-prompt-tool=stdio",
        f"--settings={json.dumps(settings)}",
        f"--mcp-config={json.dumps(board)}",
        *resumed,
    )


def _environment(layout: Layout, model: str) -> dict[str, str]:
    return {
        **_QUIET,
        **dict.fromkeys(_PINNED, model),
        "ANTHROPIC_BASE_URL": f"{layout.gateway}/anthropic",
        "ANTHROPIC_API_KEY": _NOT_A_KEY,
        "CLAUDE_CONFIG_DIR": f"{layout.home}/claude",
        "CLAUDE_CODE_TMPDIR": f"{layout.home}/claude/tmp",
    }


def user_message(text: str) -> bytes:
    """Return a message of the user that cannot begin as a command of the program (`/clear`)."""
    shown = f"A person wrote: {text}" if text.lstrip().startswith("/") else text
    content = [{"type": "text", "text": shown}]
    return json_line({"type": "user", "message": {"role": "user", "content": content}})


def allow_reply(ask_id: str, wish: Mapping[str, Any]) -> bytes:
    return _answer(ask_id, {"behavior": "allow", "updatedInput": dict(wish)})


def deny_reply(ask_id: str, why: str) -> bytes:
    """Return the refusal; the model reads `why` as the tool's result."""
    return _answer(ask_id, {"behavior": "deny", "message": why})


def unknown_request(ask_id: str) -> bytes:
    """Return an error for a request without a meaning here, so that the program does not wait."""
    answer = {"subtype": "error", "request_id": ask_id, "error": "not known here"}
    return json_line({"type": "control_response", "response": answer})


def interruption() -> bytes:
    """Return the interruption; queued messages are dropped, or they would begin the next turn."""
    wish = {"subtype": "interrupt", "cancel_queued": True}
    return json_line({"type": "control_request", "request_id": "cardinal-stop", "request": wish})


def _answer(ask_id: str, response: Mapping[str, Any]) -> bytes:
    answer = {"subtype": "success", "request_id": ask_id, "response": response}
    return json_line({"type": "control_response", "response": answer})


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
# The most telling input of each tool; for others the first text.
_TELLING = ("command", "file_path", "notebook_path", "pattern", "description", "query", "url")
# What the program puts around a provider's words, of no use to somebody who reads them on a card.
_AROUND = re.compile(
    r"API Error: (?:\d{3} )?|(?:(?<!\s)\s++)?If it persists, check your inference gateway .*$", re.DOTALL
)
_TEXT_BYTES = 32_000
_NAME_BYTES = 100
_TODOS = 100
_KEPT = 1_000  # at most so many tools in use and asks are remembered
_SYNTHETIC = "<synthetic>"  # the model's name where the program itself speaks


class ClaudeDialogue(JsonLinesDialogue):
    """One session, one prompt, and messages from people meanwhile."""

    def __init__(self, task: contract.Task, layout: contract.Layout, command: contract.Command) -> None:
        self._task, self._layout, self._command = task, layout, command
        self._session: contract.Session | None = None
        self._asks: dict[str, Mapping[str, Any]] = {}
        self._in_use: dict[str, tuple[str, str]] = {}
        self._sent, self._replayed = 1, 0
        self._interrupted = False

    @property
    def command(self) -> contract.Command:
        return self._command

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return the decision; None when the program withdrew its request."""
        wish = self._asks.pop(ask_id, None)
        if wish is None:
            return None
        if allowed:
            return allow_reply(ask_id, wish)
        return deny_reply(ask_id, f"Cardinal does not allow this: {why}")

    def steer(self, text: str) -> bytes | None:
        """Return the message; the model reads it after the running tool, or in a turn of its own."""
        if not text.strip():
            return None
        self._sent += 1
        return user_message(text)

    def interrupt(self) -> bytes | None:
        """Return the interruption; the running tool is killed, and a result follows."""
        self._interrupted = True
        return interruption()

    def _events(self, said: Any) -> Iterator[contract.AgentEvent]:
        match said["type"]:
            case "system":
                yield from self._system_message(said)
            case "assistant":
                yield from self._assistant_message(said)
            case "user":
                yield from self._tool_results(said)
            case "control_request":
                yield self._serve_request(str(said["request_id"]), said["request"])
            case "control_cancel_request":
                self._asks.pop(str(said["request_id"]), None)
            case "result":
                yield self._end_turn(said)

    def _system_message(self, said: Any) -> Iterator[contract.AgentEvent]:
        if said["subtype"] == "init":
            version = one_line(str(said["claude_code_version"]), 50)
            session = contract.Session(one_line(str(said["session_id"]), 200), version)
            if session != self._session:  # each message of the user begins with such a line
                self._session = session
                yield session
        elif said["subtype"] == "api_retry":
            yield contract.Noise(f"attempt {said['attempt']!s:.20} failed: {said['error']!s:.100}")

    def _assistant_message(self, said: Any) -> Iterator[contract.AgentEvent]:
        message, subagent = said["message"], bool(said.get("parent_tool_use_id"))
        if said.get("error") or message.get("model") == _SYNTHETIC:
            return  # the result repeats it
        for block in message["content"]:
            if block["type"] == "tool_use":
                yield from self._begin_tool(block, by_subagent=subagent)
            elif block["type"] == "text" and not subagent and block["text"].strip():
                yield contract.Text(cut_bytes(block["text"], _TEXT_BYTES))

    def _begin_tool(self, block: Any, *, by_subagent: bool) -> Iterator[contract.AgentEvent]:
        tool, wish = one_line(block["name"], _NAME_BYTES), dict(block["input"])
        if tool_kind(tool) == "board":
            return  # the gateway reports it
        if tool == "TodoWrite":
            if not by_subagent:
                yield _todos(wish["todos"])
            return
        summary = summary_of(wish, self._layout.repo, by_subagent=by_subagent)
        if len(self._in_use) < _KEPT:
            self._in_use[str(block["id"])] = (tool, summary)
        yield contract.ToolStart(tool, summary)

    def _tool_results(self, said: Any) -> Iterator[contract.AgentEvent]:
        content = said["message"]["content"]
        blocks = content if isinstance(content, list) else [{"type": "text"}]
        if said.get("isReplay") is True:
            # Messages that wait for the same moment come back as one, with a block for each.
            self._replayed += sum(block["type"] == "text" for block in blocks)
            return
        for block in blocks:
            used = self._in_use.pop(str(block.get("tool_use_id")), None)
            if block["type"] == "tool_result" and used is not None:
                yield contract.ToolEnd(*used, ok=block.get("is_error") is not True)

    def _serve_request(self, ask_id: str, request: Any) -> contract.AgentEvent:
        if request["subtype"] != "can_use_tool":
            return contract.Send(unknown_request(ask_id))
        tool, wish = one_line(request["tool_name"], _NAME_BYTES), dict(request["input"])
        if len(self._asks) >= _KEPT:
            return contract.Send(deny_reply(ask_id, "too many wishes wait for an answer"))
        self._asks[ask_id] = wish
        return contract.PermissionAsked(
            ask_id, tool_kind(tool), tool, subject_of_wish(wish, self._layout.repo)
        )

    def _end_turn(self, result: Any) -> contract.AgentEvent:
        problem = problem_of(result, self._task.session_id)
        if not problem and self._replayed < self._sent and not self._interrupted:
            return contract.Noise("a message of a person came at the very end: the next turn is about it")
        # It greets with its session before it asks its model anything; one that it does not have, it refuses.
        refused_session = bool(problem and self._task.session_id) and self._session is None
        return contract.TurnEnd(problem, session_gone=refused_session)


def _todos(todos: Any) -> contract.TodoShown:
    shown = todos[:_TODOS]
    return contract.TodoShown(
        tuple((one_line(todo["content"]), todo["status"] == "completed") for todo in shown)
    )


def tool_kind(tool: str) -> str:
    """Return read, edit, run, board or other."""
    return "board" if tool.startswith("mcp__board__") else _KINDS.get(tool, "other")


def subject_of_wish(wish: Mapping[str, Any], repo: str) -> str:
    """Return the subject of a tool's use, untruncated: a shell line, a path in the repository, a pattern."""
    texts = {key: value for key, value in wish.items() if isinstance(value, str)}
    for key in _TELLING:
        if key in texts:
            return texts[key].removeprefix(f"{repo}/") if key.endswith("_path") else texts[key]
    return next(iter(texts.values()), "")


def summary_of(wish: Mapping[str, Any], repo: str, *, by_subagent: bool) -> str:
    """Return the subject as one short line; a subagent's is marked."""
    line = one_line(subject_of_wish(wish, repo), _SUMMARY_BYTES)
    return f"subagent: {line}" if by_subagent else line


def problem_of(result: Mapping[str, Any], session_id: str) -> str:
    """Return the problem in the last line of a turn, for people; empty without one.

    `subtype` alone says nothing: a refused model call ends as `success` with `is_error`.
    """
    if result["subtype"] == "success" and result["is_error"] is False:
        return ""
    errors = result.get("errors")
    error_text = " ".join(map(str, errors)) if isinstance(errors, list) else ""
    if "No conversation found" in error_text or "--resume requires" in error_text:
        gone = one_line(session_id, 80)
        return f"its session {gone} is not in this workspace any more, so claude cannot go on in it"
    if str(result.get("terminal_reason", "")).startswith("aborted"):
        return "it was interrupted"
    said = result.get("result")
    text = one_line(_AROUND.sub("", said if isinstance(said, str) else error_text), _ERROR_BYTES)
    status = result.get("api_error_status")
    if isinstance(status, int):
        return cut_bytes(f"the model's provider answered {status}: {text}", _ERROR_BYTES)
    return text or f"it ended with {one_line(str(result['subtype']), 80)}"


# `default` is what this version asks for by itself, the last three are what it makes of its own short names.
# All have known prices. Source: its requests as tried out, and the package genai-prices.
_MODELS = {
    "default": "claude-opus-5-5",
    "small": "claude-haiku-5-5",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}


class Claude:
    """The agent of Anthropic. Made for one exact version: flags, variables and lines change with it."""

    name = "claude"
    version = "2.1.330"
    secrets: tuple[str, ...] = ("anthropic", "subscription")
    trusted = False
    in_image = True
    metering = Metering.GATEWAY
    efforts = EFFORTS

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it and its subagents ask for; a name that is not ours stays as it is."""
        return (_MODELS.get(wanted, wanted),)

    def provider(self, wanted: str) -> str:
        return "anthropic"

    def session_files(self, session_id: str) -> tuple[str, ...]:
        """Return its lines and those of its subagents."""
        return (f"claude/projects/*/{session_id}.jsonl", f"claude/projects/*/{session_id}/*/*.jsonl")

    def begin(self, task: Task, layout: Layout) -> Dialogue:
        return ClaudeDialogue(task, layout, command(task, layout, self.models(task.model)[0]))


AGENT = Claude()
