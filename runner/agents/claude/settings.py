"""Start of Claude Code, and the lines of its stdin: isolated, quiet, and asking before any change.

Source: `claude --help` of the exact version, the names of variables in its program, and their effects in
trials. The lines have no published schema.
"""

import json
from collections.abc import Mapping
from typing import Any

from runner.agents.contract import Command, Layout, Phase, Task
from runner.agents.json_lines import json_line

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
    argv = (*_STREAM, *_ALONE, f"--model={model}", *scene)
    return Command(argv, said_by_user(task.prompt), _environment(layout, model))


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


def said_by_user(text: str) -> bytes:
    """Return a message of the user that cannot begin as a command of the program (`/clear`)."""
    shown = f"A person wrote: {text}" if text.lstrip().startswith("/") else text
    content = [{"type": "text", "text": shown}]
    return json_line({"type": "user", "message": {"role": "user", "content": content}})


def allow_reply(ask_id: str, wish: Mapping[str, Any]) -> bytes:
    """Return the permission to use a tool as requested."""
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
