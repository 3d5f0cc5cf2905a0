"""The other side of the protocol with Codex: makes its messages and reads what it is sent."""

import json
import tomllib
from pathlib import Path
from typing import Any

from runner.agents.adapters.codex import AGENT
from runner.agents.contract import AgentEvent, Dialogue, Layout, Phase, Send, Task
from runner.run.run_spec import ToolSpec

LAYOUT = Layout(
    "/workspace/repo", "/workspace/home", "/workspace/out", "python3", "/player",
    "http://127.0.0.1:4000", "http://127.0.0.1:4001",
)  # fmt: skip
THREAD, TURN = "01a2-thread", "01a2-turn"


def begin(
    phase: Phase = Phase.WORK, *, session: str = "", model: str = "default", tools: ToolSpec | None = None
) -> Dialogue:
    task = Task(
        phase=phase, turn="t1", prompt="Say 'hello'; $(reboot)\n", run_id="r1", session_id=session,
        model=model, read_only=False, max_turns=5, budget_usd=1.0, scenarios=Path("/nowhere"),
        tools=tools or ToolSpec(),
    )  # fmt: skip
    return AGENT.begin(task, LAYOUT)


def hear(dialogue: Dialogue, **message: object) -> tuple[AgentEvent, ...]:
    return dialogue.decode(json.dumps(message))


def told(dialogue: Dialogue, method: str, **params: object) -> tuple[AgentEvent, ...]:
    return hear(dialogue, method=method, params={"threadId": THREAD, "turnId": TURN} | params)


def sent(events: tuple[AgentEvent, ...]) -> list[Any]:
    return [json.loads(event.data) for event in events if isinstance(event, Send)]


def greeted(dialogue: Dialogue) -> tuple[AgentEvent, ...]:
    return hear(dialogue, id=1, result={"userAgent": "cardinal/0.169.0 (Debian 12.0.0; x86_64) dumb"})


def opened(dialogue: Dialogue) -> tuple[AgentEvent, ...]:
    greeted(dialogue)
    return hear(dialogue, id=2, result={"thread": {"id": THREAD}, "model": "gpt-5.5"})


def working(phase: Phase = Phase.WORK, **choices: Any) -> Dialogue:
    dialogue = begin(phase, **choices)
    opened(dialogue)
    hear(dialogue, id=3, result={"turn": {"id": TURN, "status": "inProgress"}})
    told(dialogue, "turn/started", turn={"id": TURN})
    return dialogue


def flags(dialogue: Dialogue) -> dict[str, Any]:
    """Return the settings of the command as the TOML that Codex reads."""
    words = dialogue.command.argv
    given_ = [words[at + 1] for at, word in enumerate(words) if word == "-c" and at > 2]
    return {key: tomllib.loads(f"it = {value}")["it"] for key, _, value in (g.partition("=") for g in given_)}


def item(kind: str, **fields: object) -> dict[str, object]:
    return {"item": {"type": kind, "id": "call_1"} | fields}


def command(line: str, **fields: object) -> dict[str, object]:
    return item("commandExecution", command=line, **fields)


def patch(*paths: str, **fields: object) -> dict[str, object]:
    changes = [{"path": path, "kind": {"type": "add"}, "diff": "+x"} for path in paths]
    return item("fileChange", changes=changes, **fields)


def asks_to_run(dialogue: Dialogue, number: object, line: str) -> tuple[AgentEvent, ...]:
    params = {"threadId": THREAD, "itemId": "call_1", "kind": "command", "command": line}
    return hear(dialogue, id=number, method="item/commandExecution/requestApproval", params=params)


def asks_to_edit(dialogue: Dialogue) -> tuple[AgentEvent, ...]:
    params = {"threadId": THREAD, "itemId": "call_1", "reason": None}
    return hear(dialogue, id=7, method="item/fileChange/requestApproval", params=params)
