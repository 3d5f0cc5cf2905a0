"""The scripted agent: a real subprocess that plays a scenario; for the demo, the tests and trying a policy
out.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.agents.board_tools import check_call
from runner.agents.contract import (
    AgentEvent,
    Command,
    Layout,
    Noise,
    Session,
    Task,
    Text,
    ToolEnd,
    ToolStart,
    TurnEnd,
    Usage,
)
from runner.agents.scripted.scenario import find_scenario

VERSION = "1"


class Scripted:
    """Speaks JSON lines with `runner/agents/scripted/player.py`; the model's name is the scenario's."""

    name = "scripted"
    version = VERSION
    secrets: tuple[str, ...] = ()
    trusted = True
    backends = ("docker", "local")

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return nothing: no provider is asked."""
        return ()

    def begin(self, task: Task, layout: Layout) -> "ScriptedDialogue":
        """Return the player with the scenario in its opening message. Raises ScenarioError."""
        scenario = find_scenario(task.scenarios, task.model)
        opening = {
            "phase": task.phase,
            "turn": task.turn,
            "run": task.run_id,
            "prompt": task.prompt,
            "answer": task.answer,
            "session": task.session_id,
            "home": layout.home,
            "repo": layout.repo,
            "version": VERSION,
            "threads": [
                {"thread_id": thread.thread_id, "path": thread.path, "text": thread.text}
                for thread in task.threads
            ],
            "scenario": scenario,
        }
        argv = (layout.python, "-I", "-S", "-B", f"{layout.player}/player.py")
        return ScriptedDialogue(Command(argv, json.dumps(opening).encode() + b"\n"))


@dataclass(frozen=True, slots=True)
class ScriptedDialogue:
    """The dialogue with one player."""

    command: Command

    def decode(self, line: str) -> tuple[AgentEvent, ...]:
        """Return what one line of the player says; anything else is noise."""
        try:
            said = json.loads(line)
            return (_meaning(said),)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            return (Noise(line[:500]),)

    def reply(self, call_id: str, result: Mapping[str, object]) -> bytes | None:
        """Return the acknowledgement that the player waits for."""
        return _line({"ack": call_id, "result": dict(result)})

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return None: the player asks nobody."""
        return None

    def steer(self, text: str) -> bytes | None:
        """Return the message; the player hears it between two steps."""
        return _line({"steer": text})

    def interrupt(self) -> bytes | None:
        """Return the wish to stop; a player that hangs does not hear it."""
        return _line({"interrupt": True})


def _line(message: Mapping[str, object]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def _meaning(said: Any) -> AgentEvent:
    if "tool" in said and "input" in said:
        return check_call(str(said["id"]), str(said["tool"]), said["input"])
    match said["type"]:
        case "session":
            return Session(str(said["session"])[:200], str(said["version"])[:50])
        case "say":
            return Text(str(said["text"]))
        case "start":
            return ToolStart(str(said["name"])[:60], str(said["summary"]))
        case "used":
            return ToolEnd(str(said["name"])[:60], str(said["summary"]), bool(said["ok"]))
        case "usage":
            return Usage(float(said["usd"]), int(said["in"]), int(said["out"]))
        case "end":
            return TurnEnd(str(said.get("error", "")))
    raise ValueError("an unknown kind of message")


AGENT = Scripted()
