"""Start of Codex, and the lines of its JSON-RPC: quiet, bounded, deaf to the repository and to itself."""

import json
from collections.abc import Mapping

from runner.agents.contract import Layout, Phase, Task
from runner.agents.json_lines import json_line

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
