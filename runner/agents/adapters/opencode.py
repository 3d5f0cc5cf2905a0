"""The agent OpenCode: a bridge beside its server speaks JSON lines with us, and HTTP with it."""

from collections.abc import Callable
from typing import Any

from ledger.model.policy_settings import EFFORTS
from runner.agents import contract
from runner.agents.json_lines import JsonLinesDialogue, json_line
from runner.text.plain import cut_bytes, one_line

VERSION = "1.18.33"
MODELS = {"default": "deepseek-v4-pro", "small": "deepseek-v4-flash"}
# Our name of a provider, OpenCode's own, the version of its API, and what OpenCode does not know about it.
_PROVIDERS: dict[str, tuple[str, str, dict[str, str]]] = {
    "anthropic": ("anthropic", "v1", {}),
    "openai": ("openai", "v1", {}),
    "gemini": ("google", "v1beta", {}),
    "compatible": (
        "compatible",
        "v1",
        {"npm": "@ai-sdk/openai-compatible", "name": "Cardinal's gateway"},
    ),
}
# The option of a provider's SDK that says how much a model thinks.
_EFFORTS: dict[str, Callable[[str], dict[str, object]]] = {
    "anthropic": lambda effort: {"effort": effort},
    "openai": lambda effort: {"reasoningEffort": effort},
    "gemini": lambda effort: {"thinkingConfig": {"thinkingLevel": effort}},
    "compatible": lambda effort: {"reasoningEffort": effort},
}
_WORD = "cardinal-gateway"  # where a key would be: the gateway knows the real one
_BOARD = "board"
_BOARD_MS = 20_000  # for the list of tools, which waits for tool servers to start
# Of a model that OpenCode has never heard of; it cuts its requests to them.
_UNKNOWN = {"tool_call": True, "limit": {"context": 128_000, "output": 16_000}}
_QUIET = {
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    "OPENCODE_DISABLE_EMBEDDED_WEB_UI": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_EXPERIMENTAL_DISABLE_FILEWATCHER": "1",
    "OPENCODE_PURE": "1",
    "npm_config_offline": "true",
}
# OpenCode runs what these hold or name, whatever its settings say (measured with 1.18.33).
_HIDES = (".opencode", "opencode.json", "opencode.jsonc")
_TEXT_BYTES = 60_000
_SUMMARY_BYTES = 500
_KINDS = {"edit": "edit", "bash": "run", "read": "read", "glob": "read", "grep": "read", "list": "read"}
# Every tool asks but those that only look; a container without network has nothing to fetch.
_PERMISSION = {
    "*": "ask",
    **dict.fromkeys(("read", "glob", "grep", "list", "lsp", "todowrite", "todoread", "task"), "allow"),
    f"{_BOARD}_*": "allow",
    "external_directory": "allow",  # access alone; each act there asks for itself
    **dict.fromkeys(("webfetch", "websearch", "codesearch", "question", "skill", "doom_loop"), "deny"),
}


class OpenCode:
    """The adapter of OpenCode; its models are `anthropic/NAME`, `openai/NAME`, `gemini/NAME`, or others."""

    name = "opencode"
    version = VERSION
    secrets: tuple[str, ...] = tuple(_PROVIDERS)  # which one depends on the model's prefix
    trusted = False
    in_image = True
    metering = contract.Metering.GATEWAY
    efforts = EFFORTS

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return the one model that it asks for, as its provider names it."""
        return (_model(wanted)[1],)

    def provider(self, wanted: str) -> str:
        """Return the one that the name of the model says, else the compatible one."""
        return _model(wanted)[0]

    def session_files(self, session_id: str) -> tuple[str, ...]:
        """Return its database, which all sessions of the home share."""
        return (".local/share/opencode/opencode*.db", ".local/share/opencode/opencode*.db-wal")

    def begin(self, task: contract.Task, layout: contract.Layout) -> "OpenCodeDialogue":
        return OpenCodeDialogue(task, layout)


class OpenCodeDialogue(JsonLinesDialogue):
    """The lines of `runner/agents/opencode/in_container/opencode_bridge.py`."""

    def __init__(self, task: contract.Task, layout: contract.Layout) -> None:
        provider, model = _model(task.model)
        chat = task.phase is contract.Phase.CHAT
        message: dict[str, object] = {"model": {"providerID": _PROVIDERS[provider][0], "modelID": model}}
        if chat:
            message["tools"] = {"*": False}
        self._repo = layout.repo.rstrip("/") + "/"
        self._opening = {
            "program": ["opencode"],
            "prompt": task.prompt,
            "session": task.session_id,
            "title": f"Run {task.run_id}",  # without one, OpenCode asks a model for it
            "repo": layout.repo,
            "home": layout.home,
            "hides": _HIDES,
            "message": message,
            "catalogue": provider != "compatible",  # whose models and limits the settings say whole
            "config": _config(task, layout, provider, model, chat=chat),
        }
        self._layout = layout

    @property
    def command(self) -> contract.Command:
        """The bridge. The repository's files for OpenCode are hidden: their plugins would run."""
        # The bridge has a second file beside it, so the interpreter may look there.
        argv = (self._layout.python, "-E", "-s", "-S", "-B", f"{self._layout.player}/opencode_bridge.py")
        return contract.Command(argv, json_line(self._opening), _QUIET, hides=_HIDES)

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return the answer; OpenCode shows `why` to the model and goes on."""
        return json_line({"permit": ask_id, "allowed": allowed, "why": why})

    def steer(self, text: str) -> bytes | None:
        """Return the message; the model reads it after the tool that runs."""
        return json_line({"steer": text})

    def interrupt(self) -> bytes | None:
        """Return the interruption; a running command ends with it."""
        return json_line({"interrupt": True})

    def _events(self, said: Any) -> tuple[contract.AgentEvent, ...]:
        match said["type"]:
            case "session":
                return (contract.Session(str(said["session"])[:200], str(said["version"])[:50]),)
            case "text":
                return (contract.Text(cut_bytes(str(said["text"]), _TEXT_BYTES)),)
            case "tool_start" | "tool_end":
                return self._tool(said)
            case "todo":
                items = tuple((_short(text), bool(done)) for text, done in said["items"][:100])
                return (contract.TodoShown(items),)
            case "permission":
                return (self._permission(said),)
            case "retry":
                return (contract.Noise(f"attempt {int(said['attempt'])} failed: {_short(said['message'])}"),)
            case "end":
                return (contract.TurnEnd(_short(said["error"], 1000), said.get("session_gone") is True),)
            case "alive":
                return ()
        raise ValueError("an unknown kind of line")

    def _tool(self, said: Any) -> tuple[contract.AgentEvent, ...]:
        tool = _short(said["tool"], 60)
        if tool.startswith(f"{_BOARD}_"):
            return ()  # the gateway reports them
        summary = self._summary(tool, said["input"], str(said.get("title", "")))
        if said["child"]:
            summary = f"subagent: {summary}"
        summary = _short(summary)
        if said["type"] == "tool_start":
            return (contract.ToolStart(tool, summary),)
        return (contract.ToolEnd(tool, summary, said["ok"] is True),)

    def _summary(self, tool: str, given: Any, title: str) -> str:
        shown = next((str(given[key]) for key in _SUMMARY_KEYS if given.get(key)), "")
        if tool == "invalid":
            return f"no such tool: {shown or title}"
        return shown.removeprefix(self._repo) or title or tool

    def _permission(self, said: Any) -> contract.PermissionAsked:
        permission = _short(said["permission"], 60)
        kind = _KINDS.get(permission, "board" if permission.startswith(f"{_BOARD}_") else "other")
        patterns = ", ".join(str(pattern) for pattern in said["patterns"])
        command = str(said["command"]) or patterns
        if kind == "edit":  # a patch may touch several files
            command = patterns or command.removeprefix(self._repo)
        return contract.PermissionAsked(
            str(said["id"])[:200], kind, permission, cut_bytes(command, _TEXT_BYTES)
        )


_SUMMARY_KEYS = ("command", "filePath", "path", "pattern", "description", "tool", "name", "url")


def _model(wanted: str) -> tuple[str, str]:
    wanted = MODELS.get(wanted, wanted)
    provider, slash, name = wanted.partition("/")
    return (provider, name) if slash and name and provider in _PROVIDERS else ("compatible", wanted)


def _config(
    task: contract.Task, layout: contract.Layout, provider: str, model: str, *, chat: bool
) -> dict[str, object]:
    known: dict[str, object] = {} if provider != "compatible" else dict(_UNKNOWN)
    if task.effort:
        known["options"] = _EFFORTS[provider](task.effort)
    permission = {"*": "deny"} if chat else _PERMISSION | ({"edit": "deny"} if task.read_only else {})
    board = {"type": "remote", "url": f"{layout.gateway}/board", "enabled": True, "timeout": _BOARD_MS}
    own, version, more = _PROVIDERS[provider]
    return {
        "provider": {
            own: {
                **more,
                "options": {"baseURL": f"{layout.gateway}/{provider}/{version}", "apiKey": _WORD},
                "models": {model: known},
            }
        },
        "enabled_providers": [own],
        "model": f"{own}/{model}",
        "small_model": f"{own}/{model}",
        "permission": permission,
        "mcp": {} if chat else {_BOARD: board},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
        "lsp": False,
        "formatter": False,
        "experimental": {"continue_loop_on_deny": True},
    }


def _short(text: object, cap_bytes: int = _SUMMARY_BYTES) -> str:
    return one_line(str(text)[: 4 * cap_bytes], cap_bytes)  # cut first: a megabyte takes long to clean


AGENT = OpenCode()
