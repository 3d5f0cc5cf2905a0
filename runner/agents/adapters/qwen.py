"""Qwen Code, by the Agent Client Protocol; its models are those of a provider with Chat Completions.

Source: `qwen --help`, its bundle, and what it opened and called under strace (0.24.4).
"""

import json

from runner.agents.acp.program import NO_KEY, AcpAgent, AcpProgram

# Read before the repository's and the home's, and stronger than both.
_SETTINGS = {
    "disableAllHooks": True,
    "telemetry": {"enabled": False},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "gitCoAuthor": False, "checkpointing": {"enabled": False}},
    "memory": {
        "enableManagedAutoMemory": False,  # it asks the model for more after each turn
        "enableManagedAutoDream": False,
        "enableTeamMemory": False,
        "enableAutoSkill": False,
    },
    "context": {"fileName": "no-such-file.md"},  # else QWEN.md and AGENTS.md, besides what Cardinal says
    "skills": {"disabledLevels": ["project", "user", "extension", "bundled"]},
    # Else it runs what it takes for reading (`ls`, `git log`) without a question.
    "permissions": {"ask": ["run_shell_command", "edit", "write_file", "notebook_edit"]},
    "security": {"auth": {"selectedType": "openai"}},
    # Without its own search it shows the board's tools at once.
    "tools": {"toolSearch": {"enabled": False}, "todoWrite": {"enabled": True}},
}
_NO_TOOLS = (
    "ask_user_question", "cron_create", "cron_delete", "cron_list", "create_goal", "enter_plan_mode",
    "enter_worktree", "exit_plan_mode", "exit_worktree", "get_goal", "list_agents", "loop_wakeup", "monitor",
    "read_mcp_resource", "record_artifact", "report_findings", "send_message", "skill", "update_goal",
    "web_fetch", "web_search", "workflow", "zoom_image",
)  # fmt: skip

AGENT = AcpAgent(
    AcpProgram(
        name="qwen",
        version="0.24.4",
        argv=(
            "qwen",
            "--acp",
            "--auth-type=openai",
            "--approval-mode=default",  # `auto` lets a model decide what may run
            "--model={model}",
            "--extensions=none",
            f"--exclude-tools={','.join(_NO_TOOLS)}",
            "--allowed-tools=mcp__board",
        ),
        chat_argv=("--core-tools=none", "--exclude-tools=agent,task_stop"),
        provider="compatible",
        # With known prices, which Alibaba's own models lack: `CARDINAL_PRICES` gives those.
        models={"default": "deepseek-v4-pro", "small": "deepseek-v4-flash"},
        env={
            "OPENAI_BASE_URL": "{gateway}/compatible/v1",
            "OPENAI_API_KEY": NO_KEY,
            "OPENAI_MODEL": "{model}",
            "QWEN_CODE_SYSTEM_SETTINGS_PATH": "{files}/settings.json",
            "QWEN_CODE_LEGACY_MCP_BLOCKING": "1",  # else the first prompt goes out before the board is known
            "QWEN_CODE_NO_RELAUNCH": "true",
            "QWEN_CODE_DISABLE_CRON": "1",
            "QWEN_CODE_DISABLE_WORKFLOWS": "1",
            "QWEN_CODE_DISABLE_ARTIFACT": "1",
            "QWEN_DISABLE_AUTO_TITLE": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        },
        files={"settings.json": json.dumps(_SETTINGS)},
        clears={".qwen": ("projects/*/chats/*.jsonl",), ".env": (), ".agents": ()},
        sessions=(".qwen/projects/*/chats/{session}.jsonl",),
        hides=(".qwen", ".env", ".mcp.json", ".agents", ".qwenignore", ".aiignore", ".agentignore"),
    )
)
