"""Codex CLI: spoken to by the JSON-RPC of its app server, paid for through the gateway.

It starts quiet, bounded, and deaf to the repository. Source: the schema that `codex app-server
generate-json-schema` of the exact version prints, and its behaviour as tried out.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ledger.model.policy_settings import EFFORTS
from runner.agents import contract
from runner.agents.contract import (
    AgentEvent,
    Dialogue,
    Layout,
    PermissionAsked,
    Phase,
    Task,
    Text,
    ToolEnd,
    ToolStart,
)
from runner.agents.json_lines import JsonLinesDialogue, json_line
from runner.text.plain import cut_bytes, one_line

_UNKNOWN_METHOD = -32601
PROGRAM = "codex"
BOARD = "board"
PROVIDER = "cardinal"
# Codex keeps more than sessions in its home: rules that allow commands without asking, trusted projects, MCP
# servers, hooks, skills. The agent can write there, so what it left is gone before it starts again.
_START = (
    'home="$HOME/.codex"; if [ -L "$home" ]; then rm -f "$home"; fi; mkdir -p "$home" &&'
    ' find "$home" -mindepth 1 -maxdepth 1 ! -name sessions -exec rm -rf {} + ;'
    ' exec "$0" "$@"'
)
_OFF = (
    "apps", "browser_use", "browser_use_external", "computer_use", "goals", "hooks", "image_generation",
    "in_app_browser", "memories", "multi_agent", "multi_agent_v2", "plugins", "remote_plugin",
    "request_permissions_tool", "shell_snapshot", "skill_mcp_dependency_install", "sleep_tool",
    "tool_suggest", "unbounded_connection_retries", "workspace_dependencies",
)  # fmt: skip
_OFF_IN_A_CHAT = ("shell_tool", "unified_exec", "view_image")
Value = str | int | bool | list[str]


def argv(task: Task, layout: Layout, model: str) -> tuple[str, ...]:
    """Return the command line, without the prompt.

    `--strict-config` makes a version that does not know a setting fail at once instead of ignoring it.
    """
    chat = task.phase is Phase.CHAT
    settings = _provider(layout, model) | _quiet(chat=chat) | ({} if chat else _board(layout))
    if task.effort:
        settings["model_reasoning_effort"] = task.effort
    words = (word for key, value in settings.items() for word in ("-c", f"{key}={json.dumps(value)}"))
    return ("sh", "-c", _START, PROGRAM, "app-server", "--strict-config", *words)


def _provider(layout: Layout, model: str) -> dict[str, Value]:
    ours = f"model_providers.{PROVIDER}"
    return {
        "model": model,
        "model_provider": PROVIDER,
        f"{ours}.name": PROVIDER,
        f"{ours}.base_url": f"{layout.gateway}/openai/v1",
        f"{ours}.wire_api": "responses",
        f"{ours}.request_max_retries": 0,  # these are silent, and multiply the others
        f"{ours}.stream_max_retries": 5,
        f"{ours}.stream_idle_timeout_ms": 120_000,
        f"{ours}.supports_websockets": False,
    }


def _quiet(*, chat: bool) -> dict[str, Value]:
    settings: dict[str, Value] = {
        "analytics.enabled": False,
        "feedback.enabled": False,
        "check_for_update_on_startup": False,
        "history.persistence": "none",
        "agents.enabled": False,
        "allow_login_shell": False,  # a profile in its home would change what an allowed command means
        "shell_environment_policy.inherit": "all",  # there is no secret in it; git's identity and proxies are
        "shell_environment_policy.ignore_default_excludes": False,
        "project_doc_max_bytes": 0,
        "skills.include_instructions": False,
        "skills.bundled.enabled": False,
        "include_apps_instructions": False,
        "web_search": "disabled",
        "tools.experimental_request_user_input.enabled": False,
        "tools.update_plan.enabled": not chat,
    }
    off = _OFF + _OFF_IN_A_CHAT if chat else _OFF
    return settings | {f"features.{name}": False for name in off}


def _board(layout: Layout) -> dict[str, Value]:
    ours = f"mcp_servers.{BOARD}"
    return {
        f"{ours}.url": f"{layout.gateway}/board",
        f"{ours}.default_tools_approval_mode": "approve",
        f"{ours}.required": True,
        f"{ours}.startup_timeout_sec": 20,
        f"{ours}.tool_timeout_sec": 90,
    }


def rpc_request(number: int, method: str, params: Mapping[str, object]) -> bytes:
    return json_line({"id": number, "method": method, "params": params})


def not_offered(request_id: object, method: str) -> bytes:
    """Return the answer to an unsupported request of the server, which would wait otherwise."""
    problem = {"code": _UNKNOWN_METHOD, "message": f"Cardinal does not offer {method[:100]}"}
    return json_line({"id": request_id, "error": problem})


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
            self._edits[str(item["id"])] = paths_of_patch(item, self._repo)

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


def begin_item(item: Any, repo: str) -> tuple[AgentEvent, ...]:
    """Return the beginning of a tool's use, if `item` is one."""
    use = _use(item, repo)
    return (ToolStart(*use),) if use else ()


def end_item(item: Any, repo: str) -> tuple[AgentEvent, ...]:
    """Return the text or the tool's use in a finished item."""
    if item["type"] == "agentMessage":
        text = cut_bytes(str(item["text"]), _TEXT_BYTES)
        return (Text(text),) if text.strip() else ()
    use = _use(item, repo)
    return (ToolEnd(*use, ok=item.get("status", "completed") == "completed"),) if use else ()


def read_terminal_input(terminal: Any) -> tuple[AgentEvent, ...]:
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


def paths_of_patch(item: Any, repo: str) -> str:
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
            return "apply_patch", one_line(paths_of_patch(item, repo), _SUMMARY_BYTES)
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
                return self._serve_request(said["id"], str(said["method"]), params)
            return self._read_notification(str(said["method"]), params)
        number = said["id"]
        if number not in self._unanswered:
            return (
                contract.Noise(cut_bytes(json.dumps(said), _NOISE_BYTES)),
            )  # the answer to a message or to a stop
        self._unanswered.discard(number)
        if "error" in said:
            gone = number == _THREAD and bool(self._task.session_id)
            return (self._end(self._refusal(number, said["error"]), session_gone=gone),)
        return self._read_answer(number, said["result"])

    def _read_answer(self, number: int, result: Any) -> tuple[contract.AgentEvent, ...]:
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

    def _read_notification(self, method: str, params: Any) -> tuple[contract.AgentEvent, ...]:
        if params.get("threadId", self._thread_id) != self._thread_id:
            return ()
        match method:
            case "item/started":
                self._asking.remember(params["item"])
                return begin_item(params["item"], self._layout.repo)
            case "item/completed":
                return end_item(params["item"], self._layout.repo)
            case "item/commandExecution/terminalInteraction":
                return read_terminal_input(params)
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
                return self._note_failure(params)
            case "turn/completed":
                return (self._end(self._problem(params["turn"])),)
        return ()

    def _explain_refusal(self, ask_id: str) -> tuple[contract.AgentEvent, ...]:
        why = self._asking.why(ask_id)
        message = self.steer(f"Cardinal refused that: {why}") if why else None
        return (contract.Send(message),) if message else ()

    def _note_failure(self, params: Any) -> tuple[contract.AgentEvent, ...]:
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

    def _serve_request(self, request_id: Any, method: str, params: Any) -> tuple[contract.AgentEvent, ...]:
        permission = self._asking.permission(request_id, method, params)
        if permission is None:
            return (contract.Send(not_offered(request_id, method)),)
        if self._task.phase is contract.Phase.CHAT:
            return self._refuse(permission.ask_id, "")
        if len(permission.command) > MAX_CHARS:
            return self._refuse(permission.ask_id, f"it is longer than {MAX_CHARS} characters: use a file")
        return (permission,)

    def _refuse(self, ask_id: str, why: str) -> tuple[contract.AgentEvent, ...]:
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


# Both are in the list of models that this version brings along (another name makes it warn and fall back) and
# have known prices. Source: its own models.json, and the package genai-prices.
_MODELS = {"default": "gpt-5.5", "small": "gpt-5.6-luna"}


class Codex:
    """The agent of OpenAI. Made for one exact version: its app server is marked experimental."""

    name = "codex"
    version = "0.169.0"
    secrets: tuple[str, ...] = ("openai",)
    trusted = False
    in_image = True
    metering = contract.Metering.GATEWAY
    efforts = EFFORTS

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it asks for; a name that is not ours stays as it is."""
        return (_MODELS.get(wanted, wanted),)

    def provider(self, wanted: str) -> str:
        return "openai"

    def session_files(self, session_id: str) -> tuple[str, ...]:
        return (f".codex/sessions/*/*/*/rollout-*-{session_id}.jsonl",)

    def begin(self, task: Task, layout: Layout) -> Dialogue:
        """Return the protocol with `codex app-server` for this task."""
        return CodexDialogue(task, layout, model=self.models(task.model)[0], version=self.version)


AGENT = Codex()
