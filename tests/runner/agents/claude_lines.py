"""Lines in the shape of Claude Code's, and a dialogue to hear them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runner import agents
from runner.agents.contract import AgentEvent, Dialogue, Layout, Phase, Task

CLAUDE = agents.load("claude")
LAYOUT = Layout(
    "/workspace/repo", "/workspace/home", "/workspace/out", "python3", "/player", "http://127.0.0.1:4000"
)
CHILD = "toolu_parent"
DONE = {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", "session_id": "s1"}


def begun(
    phase: Phase = Phase.WORK, *, prompt: str = "Do it", session: str = "", model: str = "default"
) -> Dialogue:
    task = Task(
        phase=phase, turn="work", prompt=prompt, run_id="r1", session_id=session, model=model,
        read_only=False, max_turns=9, budget_usd=1.0, scenarios=Path("/nowhere"),
    )  # fmt: skip
    return CLAUDE.begin(task, LAYOUT)


def hear(dialogue: Dialogue, *lines: Mapping[str, Any]) -> list[AgentEvent]:
    return [event for line in lines for event in dialogue.decode(json.dumps(line))]


def spoke(*blocks: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "model": "claude-opus-5-5", "content": list(blocks)}
    return {"type": "assistant", "message": message, "parent_tool_use_id": None} | more


def using(tool: str, given: Mapping[str, Any], use: str = "t1", **more: Any) -> dict[str, Any]:
    return spoke({"type": "tool_use", "id": use, "name": tool, "input": given}, **more)


def used(use: str = "t1", **more: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": use, "content": "…"} | more
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def echoed(*texts: str) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in texts]
    return {"type": "user", "message": {"role": "user", "content": blocks}, "isReplay": True}


def asking(tool: str, given: Mapping[str, Any], ask: str = "a1") -> dict[str, Any]:
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": given, "tool_use_id": "t1"}
    return {"type": "control_request", "request_id": ask, "request": request}


def written(message: bytes | None) -> Any:
    assert message is not None
    assert message.endswith(b"\n")
    assert message.count(b"\n") == 1
    return json.loads(message)


def failed(**more: Any) -> dict[str, Any]:
    return {**DONE, "is_error": True, **more}
