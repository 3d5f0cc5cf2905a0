"""Answers of the model: the next steps of the scenario, up to the next use of a tool."""

import dataclasses
import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge.model.conversation import Answer, Call, Conversation, Offer, Outcome, Tokens, Used, Words
from forge.model.place import Place, Thread, call_id, place_of, slug_of, title_of
from forge.model.scenario import AGENT_ONLY, FAULTS, Script, Step

_CHOICE = ("index", "match", "others")  # what of a `thread` step says which threads it answers


@dataclass(frozen=True, slots=True)
class Reply:
    """The `thread` step that answers a thread, by what it says of which."""

    thread_id: str
    chosen_by: Mapping[str, Any]
    addressed: bool

    def is_of(self, given: Mapping[str, Any]) -> bool:
        """Return whether that is the step."""
        return self.chosen_by == _choice(given)


def fits(step: Step, threads: Sequence[Thread]) -> bool:
    """Return whether the step is for this turn: one with `when` needs a thread in which that is found."""
    pattern = step.extras.get("when")
    return pattern is None or bool(_find(pattern, threads))


def replies(steps: Sequence[Step], threads: Sequence[Thread]) -> tuple[Reply, ...]:
    """Return the reply of each thread that is answered; `others` have those that no other step answers."""
    by_thread: dict[str, Reply] = {}
    given = [step.value for step in steps if step.kind == "thread"]
    for value in sorted(given, key=lambda value: bool(value.get("others"))):
        index = value.get("index")
        chosen = _find(value.get("match", ""), threads) if index is None else threads[index : index + 1]
        for thread in chosen:
            if not value.get("others") or thread.thread_id not in by_thread:
                reply = Reply(thread.thread_id, _choice(value), value.get("addressed", True))
                by_thread[thread.thread_id] = reply
    return tuple(by_thread.values())


def _choice(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: given[name] for name in _CHOICE if name in given}


def _find(pattern: str, threads: Sequence[Thread]) -> Sequence[Thread]:
    return [thread for thread in threads if re.search(pattern, f"{thread.path}\n{thread.text}")]


BOARD = (
    "plan", "tick", "progress", "note", "ask", "block", "thread", "finish", "go_to_stage", "findings",
    "attach", "create_card",
)  # fmt: skip
# A tool that writes a file, the one that reads it, and what both call its path.
_WRITERS = (
    ("Write", "Read", "file_path"), ("write", "read", "filePath"), ("write_file", "read_file", "file_path"),
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
        spelt = re.compile(rf"(mcp__?)?board(__?|-){tool}")
        for name in self._offer.names | self._offer.deferred:
            if spelt.fullmatch(name):
                return Call(name, given)
        if "mcp__board" in self._offer.spaces:
            return Call(tool, given, "mcp__board")
        raise NoToolError(f"board {tool}")

    def _has(self, *names: str) -> str:
        return next((name for name in names if name in self._offer.names), "")

    def _takes_path(self, tool: str) -> bool:
        return "path" in self._offer.inputs.get(tool, ())

    def _path(self, path: str) -> str:
        return f"{self._folder}/{path}" if self._folder else path

    def _shell(self, line: str) -> Call:
        match self._has("Bash", "bash", "run_shell_command", "shell", "exec_command"):
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
        if self._has("Edit") and self._has("Read") and not self._takes_path("Edit"):
            given = {"file_path": path, "old_string": edit["find"], "new_string": fresh}
            return [(Call("Read", {"file_path": path}),), (Call("Edit", given),)]
        if self._has("edit") and self._has("read"):
            given = {"filePath": path, "oldString": edit["find"], "newString": fresh}
            return [(Call("read", {"filePath": path}),), (Call("edit", given),)]
        if self._has("edit") and self._has("read_file"):
            given = {"file_path": path, "old_string": edit["find"], "new_string": fresh}
            return [(Call("read_file", {"file_path": path}),), (Call("edit", given),)]
        return [(self._shell(_edit_line(edit)),)]

    def _write_rounds(self, edit: dict[str, Any], before: Before) -> list[tuple[Call, ...]]:
        path, content = self._path(edit["path"]), edit["content"]
        for writer, reader, usual in _WRITERS:
            if self._has(writer):
                key = "path" if self._takes_path(writer) else usual
                write = (Call(writer, {key: path, "content": content}),)
                # A file that is there already has to be read before it may be written over.
                unread = bool(before) and _UNREAD.search(before[0].text) is not None and self._has(reader)
                return [write, (Call(reader, {key: path}),), write] if unread else [write]
        if "file_text" in self._offer.inputs.get("create", ()):  # Copilot's, which writes over nothing
            create = (Call("create", {"path": path, "file_text": content}),)
            there = bool(before) and "exists" in before[0].text
            return [create, (self._shell(_edit_line(edit)),)] if there else [create]
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
        if self._has("todo_write"):
            numbered = enumerate(states, start=1)
            listed = [{"id": str(n), "content": text, "status": at} for n, (text, at) in numbered]
            return (Call("todo_write", {"todos": listed}),)
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
        match self._has("Agent", "Task", "task", "agent"):
            case "":
                raise NoToolError("subagent")
            case "task" if "agent_type" in self._offer.inputs.get("task", ()):  # Copilot's
                waited = {"agent_type": "general-purpose", "name": name, "mode": "sync"}
                return (Call("task", {**given, **waited}),)
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


_CHAT_HEADING = re.compile(r"^# The card", re.MULTILINE)
_ABOUT_TITLES = re.compile(r"(?i)title generator|generate a [\w, ]*title|conversation topic|summarize this")


class Faults:
    """Counts how often each fault was served: the only thing that the model remembers."""

    def __init__(self) -> None:
        self._lock, self._served = threading.Lock(), Counter[tuple[str, int]]()

    def strikes(self, mark: str, index: int, step: Step) -> bool:
        """Return whether the fault is to be served once more; without `times` it always is."""
        with self._lock:
            self._served[mark, index] += 1
            limit = step.extras.get("times")
            return limit is None or self._served[mark, index] <= limit


class Playing:
    """Answers one request from the script. `complain` gets what an agent did not offer."""

    def __init__(self, script: Script, faults: Faults, complain: Callable[[str], None]) -> None:
        self._script, self._faults, self._complain = script, faults, complain

    def answer(self, conversation: Conversation) -> Answer:
        """Return the answer; the same for the same request, except for faults with `times`."""
        place = place_of(conversation)
        if _is_aside(conversation, place):
            return Answer("A scripted title", tokens=Tokens(20, 5))
        if place is None or place.phase == "chat":
            return self._chat(conversation, place)
        script = self._script.for_card(place.title)
        steps = tuple(step for step in script.steps(place.turn) if fits(step, place.threads))
        return _Turn(steps, place, conversation, self._faults, self._complain).answer()

    def _chat(self, conversation: Conversation, place: Place | None) -> Answer:
        texts = [entry.text for entry in conversation.entries if isinstance(entry, Words)]
        prompt = place.prompt if place else (texts[-1] if texts else "")
        title = title_of(prompt)
        for rule in self._script.for_card(title).chat:
            if re.search(rule.when, prompt):
                return Answer(rule.say.replace("{{title}}", title))
        return Answer("I have nothing to say to that.")


def _is_aside(conversation: Conversation, place: Place | None) -> bool:
    """Whether an agent's program asks for its own use, as for a title: without tools, and not as a chat."""
    if conversation.offer.names or conversation.offer.spaces:
        return False
    texts = [entry.text for entry in conversation.entries if isinstance(entry, Words)]
    if _ABOUT_TITLES.search("\n".join([conversation.system, *texts[:1]])):
        return True
    chats = place is not None or any(_CHAT_HEADING.search(text) for text in texts)
    return not chats


@dataclasses.dataclass
class _Turn:
    """One turn of the script: collects the steps that come before the next use of a tool."""

    steps: tuple[Step, ...]
    place: Place
    conversation: Conversation
    faults: Faults
    complain: Callable[[str], None]

    def __post_init__(self) -> None:
        self.replies = replies(self.steps, self.place.threads)
        self.tools = Toolbox(self.conversation.offer, self.conversation.folder, self.place, self.replies)
        self.texts = [f"Heard: {text}" for text in self.place.steered]
        self.extras: dict[str, Any] = {}

    def answer(self) -> Answer:
        try:
            return self._answer()
        except NoToolError as error:
            self.complain(f"{self.place.run} {self.place.turn}: {error}")
            return self._close_turn(f"There is no tool for this: {error}.", len(self.steps))

    def _answer(self) -> Answer:
        index = self.place.step
        if index >= 0 and self._waits(index):
            return self._close_turn("I wait for the answer.", index)
        if 0 <= index < len(self.steps):
            calls = self.tools.calls(self._fill_step(self.steps[index]), self.place.outcomes)
            if calls:
                return self._make_calls(calls, index, len(self.place.outcomes))
        for index in range(self._start(), len(self.steps)):
            step = self._fill_step(self.steps[index])
            if step.kind in AGENT_ONLY:
                self.complain(f"{self.place.run} {self.place.turn}: only the scripted agent can {step.kind}")
                return self._close_turn("I cannot do this.", index)
            if self._take_note(step, index):
                if self.extras.get("status"):
                    return self._with(index)
                continue
            calls = self.tools.calls(step, ())
            if calls:
                return self._make_calls(calls, index, 0)
        return self._close_turn("That is all.", len(self.steps))

    def _waits(self, index: int) -> bool:
        """Whether the newest call asked people, and no answer is there."""
        asking = index < len(self.steps) and _asks(self.steps[index])
        answered = self.place.answered_inside or (self.place.fresh and self.place.phase == "answer")
        return asking and not answered

    def _start(self) -> int:
        """Return the step to go on with: behind the newest, and behind a question that was answered."""
        after = self.place.step + 1
        parked = 0 <= self.place.step < len(self.steps) and _asks(self.steps[self.place.step])
        # The agent may have been stopped before its memory held the question.
        if self.place.phase == "answer" and self.place.fresh and not parked:
            asking = [n for n in range(after, len(self.steps)) if _asks(self.steps[n])]
            return asking[0] + 1 if asking else after
        return after

    def _take_note(self, step: Step, index: int) -> bool:
        """Take in a step that needs no tool; False for others."""
        value = step.value
        match step.kind:
            case "say":
                self.texts.append(value)
            case "long":
                self.texts.append(("words " * (value // 6 + 1))[:value])
            case "sleep":
                self.extras["delay_s"] = self.extras.get("delay_s", 0.0) + value
            case "slow":
                self.extras["pace_s"] = value
            case "usage":
                self.extras["tokens"] = _tokens(value)
            case kind if kind in FAULTS:
                if self.faults.strikes(self.place.mark, index, step):
                    self._break(step)
            case _:
                return False
        return True

    def _break(self, step: Step) -> None:
        if step.kind != "status":
            self.extras["ending"] = step.kind
            return
        message = step.extras.get("message", f"scripted failure {step.value}")
        self.extras |= {
            "status": step.value,
            "message": message,
            "retry_after": step.extras.get("retry_after"),
        }

    def _make_calls(self, calls: tuple[Call, ...], index: int, number: int) -> Answer:
        mark = self.place.mark
        search = self._search(calls)
        if search is not None:
            # Its id counts for no step: the step itself is still to be done.
            return self._with(index, (dataclasses.replace(search, call_id=f"call_{mark}x{index}s{number}"),))
        named = tuple(
            dataclasses.replace(call, call_id=call_id(mark, index, number, which))
            for which, call in enumerate(calls)
        )
        return self._with(index, named)

    def _search(self, calls: tuple[Call, ...]) -> Call | None:
        """Return the call that makes deferred tools known, when one is needed that was not searched yet."""
        offer = self.conversation.offer
        searched = " ".join(
            str(entry.given)
            for entry in self.conversation.entries
            if isinstance(entry, Used) and entry.name == offer.search
        )
        wanted = {call.name for call in calls if call.name in offer.deferred and call.name not in searched}
        if not wanted:
            return None
        wanted |= {name for name in offer.deferred if name.removeprefix("mcp__board__") in BOARD}
        query = "select:" + ",".join(sorted(wanted))
        return Call(offer.search, {"query": query, "max_results": len(wanted)})

    def _close_turn(self, text: str, index: int) -> Answer:
        self.texts = self.texts or [text]
        return self._with(index)

    def _with(self, index: int, calls: tuple[Call, ...] = ()) -> Answer:
        place = (self.place.run, self.place.turn, index)
        return Answer(text="\n\n".join(self.texts), calls=calls, place=place, **self.extras)

    def _fill_step(self, step: Step) -> Step:
        return dataclasses.replace(step, value=_fill(step.value, self._words()))

    def _words(self) -> Mapping[str, str]:
        place, total = self.place, len(self.place.threads)
        done = sum(reply.addressed for reply in self.replies)
        addressed = f"{done} of {total} review comment{'' if total == 1 else 's'} addressed"
        addressed = addressed if total else "no comment on a line of the code was there to address"
        return {
            "slug": slug_of(place.title), "title": place.title, "prompt": place.prompt,
            "answer": place.answer, "addressed": addressed,
        }  # fmt: skip


def _fill(value: Any, words: Mapping[str, str]) -> Any:
    """Put words where a scenario names them in double braces."""
    if isinstance(value, str):
        for name, text in words.items():
            value = value.replace(f"{{{{{name}}}}}", text)
        return value
    if isinstance(value, Step):
        return dataclasses.replace(value, value=_fill(value.value, words))
    if isinstance(value, list | tuple):
        return type(value)(_fill(item, words) for item in value)
    return {key: _fill(item, words) for key, item in value.items()} if isinstance(value, dict) else value


def _tokens(given: dict[str, Any]) -> Tokens:
    usual = Tokens()
    return Tokens(
        given.get("in", usual.fresh),
        given.get("out", usual.out),
        given.get("cache_read", 0),
        given.get("cache_write", 0),
    )


def _asks(step: Step) -> bool:
    return step.kind in ("ask", "block") or (
        step.kind == "create_card" and bool(step.value.get("repository"))
    )
