"""Steps of a scenario as calls of an agent's tools: each agent has its own names for them."""

import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from forge.model.conversation import Call, Offer, Outcome
from forge.model.place import Place
from forge.model.scenario import Step
from forge.model.threads import Reply

BOARD = (
    "plan", "tick", "progress", "note", "ask", "block", "thread", "finish", "go_to_stage", "findings",
    "attach", "create_card",
)  # fmt: skip
_UNREAD = re.compile(r"(?i)not been read|read (it|the file|file \S+)|read tool")
_RUNNING = re.compile(r"session ID (\d+)")
_REPLACE = (
    "import pathlib,sys;file=pathlib.Path(sys.argv[1]);old,new=sys.argv[2:];text=file.read_text();"
    "file.write_text(text.replace(old,new,1));sys.exit(old not in text and new not in text)"
)
Before = tuple[Outcome, ...]
Round = tuple[Call, ...] | None


class NoToolError(Exception):
    """The agent lacks the `tool` that a step needs."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        super().__init__(f"no tool {tool}")


class Toolbox:
    """The tools of one request. `folder` is where the agent works, `replies` are those of its turn."""

    def __init__(self, offer: Offer, folder: str, place: Place, replies: tuple[Reply, ...]) -> None:
        self._offer, self._folder, self._place, self._replies = offer, folder, place, replies
        self._ways: Mapping[str, Callable[[Any, Before], Round]] = {
            "edit": self._edit,
            "run": self._run,
            "commit": self._commit,
            "thread": self._threads,
            "todo": self._todo,
            "subagent": self._subagent,
        }

    def calls(self, step: Step, before: Before) -> Round:
        """Return the calls of the step's next round, after rounds with these outcomes; None when it is done.

        Raises NoToolError.
        """
        if step.kind == "parallel":
            return None if before else tuple(call for part in step.value for call in self._at_once(part))
        if step.kind in self._ways:
            return self._ways[step.kind](step.value, before)
        return None if before else (self._one(step),)

    def _one(self, step: Step) -> Call:
        value = step.value
        match step.kind:
            case "tick":
                return self.board("tick", {"done": value})
            case "progress" | "note":
                return self.board(step.kind, {"text": value})
            case "block":
                return self.board("block", {"reason": value})
            case "board":
                return self.board(value["tool"], value.get("input", {}))
            case "call":
                given, space = value.get("input", {}), value.get("namespace", "")
                return Call(value["name"], given, space, value.get("text"))
        return self.board(step.kind, dict(value))

    def _at_once(self, step: Step) -> tuple[Call, ...]:
        if step.kind == "edit":  # what needs more than one round cannot be done together with others
            return (self._shell(_edit_line(step.value)),)
        return self.calls(step, ()) or ()

    def board(self, tool: str, given: dict[str, Any]) -> Call:
        """Return the call of a board tool, under the name that it has here. Raises NoToolError."""
        for name in (f"mcp__board__{tool}", f"board_{tool}"):
            if name in self._offer.names | self._offer.deferred:
                return Call(name, given)
        if "mcp__board" in self._offer.spaces:
            return Call(tool, given, "mcp__board")
        raise NoToolError(f"board {tool}")

    def _has(self, *names: str) -> str:
        return next((name for name in names if name in self._offer.names), "")

    def _path(self, path: str) -> str:
        return f"{self._folder}/{path}" if self._folder else path

    def _shell(self, line: str) -> Call:
        match self._has("Bash", "bash", "exec_command"):
            case "exec_command":
                return Call("exec_command", {"cmd": line, "yield_time_ms": 30000})
            case "":
                raise NoToolError("shell")
            case name:
                # Claude Code refuses a line that begins with a wait in the foreground.
                command = f"sh -c {shlex.quote(line)}" if line.lstrip().startswith("sleep") else line
                return Call(name, {"command": command, "description": "Do a step"})

    def _run(self, line: str, before: Before) -> Round:
        if not before:
            return (self._shell(line),)
        running = _RUNNING.search(before[-1].text) if self._has("write_stdin") else None
        if running:  # Codex comes back before a long command is through
            given = {"session_id": int(running[1]), "chars": "", "yield_time_ms": 30000}
            return (Call("write_stdin", given),)
        return None

    def _commit(self, message: str, before: Before) -> Round:
        return self._run(f"git add -A && git commit -m {shlex.quote(message)}", before)

    def _edit(self, edit: dict[str, Any], before: Before) -> Round:
        rounds = self._replace_rounds(edit) if "find" in edit else self._write_rounds(edit, before)
        return rounds[len(before)] if len(before) < len(rounds) else None

    def _replace_rounds(self, edit: dict[str, Any]) -> list[tuple[Call, ...]]:
        path, fresh = self._path(edit["path"]), edit.get("replace", "")
        if self._has("Edit") and self._has("Read"):
            given = {"file_path": path, "old_string": edit["find"], "new_string": fresh}
            return [(Call("Read", {"file_path": path}),), (Call("Edit", given),)]
        if self._has("edit") and self._has("read"):
            given = {"filePath": path, "oldString": edit["find"], "newString": fresh}
            return [(Call("read", {"filePath": path}),), (Call("edit", given),)]
        return [(self._shell(_edit_line(edit)),)]

    def _write_rounds(self, edit: dict[str, Any], before: Before) -> list[tuple[Call, ...]]:
        path, content = self._path(edit["path"]), edit["content"]
        for writer, reader, key in (("Write", "Read", "file_path"), ("write", "read", "filePath")):
            if self._has(writer):
                write = (Call(writer, {key: path, "content": content}),)
                # A file that is there already has to be read before it may be written over.
                unread = bool(before) and _UNREAD.search(before[0].text) is not None and self._has(reader)
                return [write, (Call(reader, {key: path}),), write] if unread else [write]
        if self._has("apply_patch") and content.endswith("\n"):
            lines = "".join(f"+{line}\n" for line in content.splitlines())
            patch = f"*** Begin Patch\n*** Add File: {edit['path']}\n{lines}*** End Patch\n"
            return [(Call("apply_patch", text=patch),)]
        return [(self._shell(_edit_line(edit)),)]

    def _threads(self, given: dict[str, Any], before: Before) -> Round:
        said = {"text": given["say"], "addressed": given.get("addressed", True)}
        mine = [reply.thread_id for reply in self._replies if reply.is_of(given)]
        answers = [{"thread_id": thread_id, **said} for thread_id in mine]
        return None if before else tuple(self.board("thread", answer) for answer in answers) or None

    def _todo(self, items: list[Any], before: Before) -> Round:
        if before:
            return None
        states = [
            (str(item.get("text", "")), "completed" if item.get("done") else "pending") for item in items
        ]
        if self._has("update_plan"):
            return (Call("update_plan", {"plan": [{"step": text, "status": at} for text, at in states]}),)
        if self._has("todowrite"):
            listed = [{"content": text, "status": at, "priority": "medium"} for text, at in states]
            return (Call("todowrite", {"todos": listed}),)
        if "TodoWrite" in self._offer.names | self._offer.deferred:
            shown = [{"content": text, "status": at, "activeForm": text} for text, at in states]
            return (Call("TodoWrite", {"todos": shown}),)
        raise NoToolError("todo list")

    def _subagent(self, name: str, before: Before) -> Round:
        if before:
            return None
        head = f"Run {self._place.run}, turn sub-{name} (subagent)."
        prompt = f"{head}\n\n# {self._place.title}\n\nDo your part."
        given: dict[str, Any] = {"description": f"The part of {name}", "prompt": prompt}
        match self._has("Agent", "Task", "task"):
            case "":
                raise NoToolError("subagent")
            case "task":
                return (Call("task", {**given, "subagent_type": "general"}),)
            case tool:
                foreground = {"subagent_type": "general-purpose", "run_in_background": False}
                return (Call(tool, {**given, **foreground}),)


def _edit_line(edit: dict[str, Any]) -> str:
    """Return the edit as a line for a shell."""
    path = shlex.quote(edit["path"])
    if "find" in edit:
        old, new = shlex.quote(edit["find"]), shlex.quote(edit.get("replace", ""))
        return f"python3 -c {shlex.quote(_REPLACE)} {path} {old} {new}"
    return f'mkdir -p "$(dirname {path})" && printf %s {shlex.quote(edit["content"])} > {path}'
