"""The bridge beside a server of our own, as the supervisor has it: a child, and the dialogue with it."""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import psutil

from runner.agents.adapters.opencode import AGENT
from runner.agents.contract import AgentEvent, Layout, PermissionAsked, Phase, Task, TurnEnd
from runner.exec.child import Child
from runner.exec.stream import Closed, Line

INSIDE = [Path(__file__).parents[3] / "runner" / path for path in ("agents/opencode", "exec")]
FAKE = Path(__file__).with_name("fake_opencode.py")
LIMIT_S = 60.0
Steps = list[dict[str, object]]
React = Callable[["Bridge", AgentEvent], None]


def bash(part: str, status: str, exit_code: int | None = None) -> dict[str, object]:
    """Return the step that tells of a command."""
    state = {"status": status, "input": {"command": "make test"}, "metadata": {"exit": exit_code}}
    about = {"id": part, "type": "tool", "tool": "bash", "messageID": "m", "state": state}
    return {"event": "message.part.updated", "part": about}


def bounded(folder: Path, bounds: Mapping[str, float]) -> Path:
    """Return a folder with the bridge's files, with these bounds."""
    folder.mkdir()
    for file in (file for place in INSIDE for file in (place / "in_container").glob("*.py")):
        text = file.read_text()
        for name, wait_s in bounds.items():
            text = re.sub(rf"^{name} = .*", f"{name} = {wait_s}", text, flags=re.MULTILINE)
        (folder / file.name).write_text(text)
    return folder


class Bridge:
    """The bridge as the supervisor has it: a child, and the dialogue with it."""

    def __init__(self, folder: Path, session: str = "", **bounds: float) -> None:
        self.folder, self.heard, self.noise = folder, list[AgentEvent](), list[str]()
        layout = Layout(
            f"{folder}/repo",
            f"{folder}/home",
            "",
            sys.executable,
            str(bounded(folder / "player", bounds)),
        )
        task = Task(Phase.WORK, "work", "the prompt", "r1", session, "default", False, 9, 1.0, folder)
        self.dialogue = AGENT.begin(task, layout)
        command = self.dialogue.command
        env = {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "HOME": f"{folder}/home",
            "FAKE_SCRIPT": f"{folder}/script",
            "FAKE_RECORD": f"{folder}/record",
        }
        env |= command.env
        self.child = Child(command.argv, env=env, cwd=folder / "repo", cap_bytes=10_000_000)
        self.child.write(command.opening)

    def play(self, react: React = lambda _, __: None) -> list[AgentEvent]:
        """Hear it out, and end its input with the turn, as the supervisor does."""
        until, closed = time.monotonic() + LIMIT_S, False
        while not closed and time.monotonic() < until:
            for heard in self.child.hear(0.2):
                closed = closed or isinstance(heard, Closed)
                if isinstance(heard, Line) and heard.error:
                    self.noise.append(heard.text)
                elif isinstance(heard, Line):
                    for event in self.dialogue.decode(heard.text):
                        self.heard.append(event)
                        react(self, event)
                        if isinstance(event, TurnEnd):
                            self.child.end_input()
        assert closed, f"it did not end: {self.heard} {self.noise}"
        return self.heard

    def requests(self) -> list[tuple[str, str, dict[str, object]]]:
        return [tuple(json.loads(line)) for line in (self.folder / "record").read_text().splitlines()]

    def sent(self, ending: str) -> list[dict[str, object]]:
        return [body for method, path, body in self.requests() if method == "POST" and path.endswith(ending)]

    def servers(self) -> list[psutil.Process]:
        return psutil.Process(self.child.pid).children(recursive=True)


def end_of(heard: list[AgentEvent]) -> str:
    (end,) = [event.error for event in heard if isinstance(event, TurnEnd)]
    return end


def permit(bridge: Bridge, event: AgentEvent) -> None:
    """React by permitting what is asked for."""
    if isinstance(event, PermissionAsked):
        bridge.child.write(bridge.dialogue.permit(event.ask_id, allowed=True, why="") or b"")
