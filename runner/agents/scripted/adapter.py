"""The scripted agent: a real subprocess that plays a scenario, for the demo, tests and trials of a policy."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runner.agents import contract
from runner.agents.board_tools import check_call
from runner.agents.json_lines import JsonLinesDialogue, json_line
from runner.agents.scripted.scenario import find_scenario

VERSION = "1"


class Scripted:
    """Speaks JSON lines with `runner/agents/scripted/player.py`; the model's name is the scenario's."""

    name = "scripted"
    version = VERSION
    secrets: tuple[str, ...] = ()
    trusted = True
    in_image = False

    def models(self, wanted: str) -> tuple[str, ...]:
        """Return nothing: no provider is asked."""
        return ()

    def provider(self, wanted: str) -> str:
        """Return nothing: no provider is asked."""
        return ""

    def session_files(self, session_id: str) -> tuple[str, ...]:
        """Return its one file."""
        return (f"scripted-{session_id}.json",)

    def begin(self, task: contract.Task, layout: contract.Layout) -> "ScriptedDialogue":
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
        return ScriptedDialogue(contract.Command(argv, json_line(opening)))


@dataclass(frozen=True, slots=True)
class ScriptedDialogue(JsonLinesDialogue):
    """The dialogue with one player."""

    command: contract.Command

    def _events(self, said: Any) -> tuple[contract.AgentEvent, ...]:
        return (_event(said),)

    def reply(self, call_id: str, result: Mapping[str, object]) -> bytes | None:
        """Return the acknowledgement that the player waits for."""
        return json_line({"ack": call_id, "result": dict(result)})

    def permit(self, ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        """Return None: the player asks nobody."""
        return None

    def steer(self, text: str) -> bytes | None:
        """Return the message; the player hears it between two steps."""
        return json_line({"steer": text})

    def interrupt(self) -> bytes | None:
        """Return the interruption; a player that hangs ignores it."""
        return json_line({"interrupt": True})


def _event(said: Any) -> contract.AgentEvent:
    if "tool" in said and "input" in said:
        return check_call(str(said["id"]), str(said["tool"]), said["input"])
    match said["type"]:
        case "session":
            return contract.Session(str(said["session"])[:200], str(said["version"])[:50])
        case "say":
            return contract.Text(str(said["text"]))
        case "start":
            return contract.ToolStart(str(said["name"])[:60], str(said["summary"]))
        case "used":
            return contract.ToolEnd(str(said["name"])[:60], str(said["summary"]), bool(said["ok"]))
        case "usage":
            return contract.Usage(float(said["usd"]), int(said["in"]), int(said["out"]))
        case "end":
            return contract.TurnEnd(str(said.get("error", "")), said.get("session_gone") is True)
    raise ValueError("an unknown kind of message")


AGENT = Scripted()
