"""Plays a scenario as an agent would: JSON lines on stdin and stdout. Standard library only.

It starts for every turn, so it imports little: pathlib, typing, uuid and subprocess take longer than itself.
It runs in the sandbox. Its position lives in `home` and moves on only after a finished step, for a board call
after the acknowledgement. So a killed player repeats the same step, and a call under the same id.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FLOOD_CHUNK = 1 << 16
# Board tools that a step calls, each with the field of its input where that has only one.
_TOOLS = {"tick": "done", "progress": "text", "note": "text"} | dict.fromkeys(
    ("plan", "attach", "finish", "go_to_stage", "findings"), ""
)


class Wire:
    """The two pipes to the supervisor."""

    def __init__(self) -> None:
        self._rest = b""
        self.ended = False

    def say(self, message: dict[str, Any]) -> None:
        sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
        sys.stdout.buffer.flush()

    def hear(self, wait_s: float | None) -> dict[str, Any] | None:
        """Return the next message within `wait_s` (None: however long it takes), or None."""
        while b"\n" not in self._rest:
            if self.ended or not select.select([0], [], [], wait_s)[0]:
                return None
            chunk = os.read(0, 1 << 16)
            self.ended = not chunk
            self._rest += chunk
        line, self._rest = self._rest.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def pause(self, wait_s: float) -> None:
        """Wait, but exit at once when interrupted or when nobody listens any more."""
        message = self.hear(wait_s)
        if message is not None:
            self.handle_message(message)
        elif self.ended:
            sys.exit(0)

    def handle_message(self, message: dict[str, Any]) -> None:
        if message.get("interrupt"):
            self.say({"type": "end", "error": "interrupted"})
            sys.exit(0)
        if "steer" in message:
            self.say({"type": "say", "text": f"Heard: {message['steer']}"})


class PlayerState:
    """State that survives the player: session, position in each turn, next call, last answer."""

    def __init__(self, home: str, run: str, session: str) -> None:
        """Raises FileNotFoundError for a session that the home does not have."""
        known = re.fullmatch(r"[A-Za-z0-9-]{1,80}", session)
        name = session if known else os.urandom(16).hex()
        self._path = f"{home}/scripted-{name}.json"  # stages have sessions of their own
        kept = json.loads(read(self._path)) if session else {"session": name}
        if kept.get("run") != run:
            kept |= {"run": run, "cursors": {}, "answer": "", "asking": "", "used": {}}
        self.kept: dict[str, Any] = {"used": {}} | kept  # an earlier version kept none

    def keep(self) -> None:
        write(f"{self._path}.new", json.dumps(self.kept))
        os.replace(f"{self._path}.new", self._path)


class Player:
    """Plays one turn of the scenario."""

    def __init__(self, opening: dict[str, Any], wire: Wire) -> None:
        self.opening, self.wire = opening, wire
        self.repo: str = opening["repo"]
        self.place, self.called = "", 0  # the step that is played, and the calls that it made so far
        self.memory = PlayerState(opening["home"], opening["run"], opening["session"])
        # Only the first prompt of a session begins with the briefing; later ones may quote headings.
        self.memory.kept["title"] = self.memory.kept.get("title") or prompt_title(opening["prompt"])
        self.scenario = scenario_for(opening["scenario"], self.memory.kept["title"])

    def play(self) -> None:
        self.memory.keep()
        self.wire.say(
            {"type": "session", "session": self.memory.kept["session"], "version": self.opening["version"]}
        )
        if self.opening["phase"] == "answer" and self.memory.kept["asking"]:
            self.memory.kept |= {"answer": self.opening["answer"], "asking": ""}
        if self.memory.kept["used"]:
            self.report_usage()  # the last of it may not have been heard
        turn = self.opening["turn"]
        steps = self.steps(turn)
        position = self.memory.kept["cursors"].get(turn, 0)
        self.memory.keep()
        while position < len(steps) and not self.memory.kept["asking"]:
            ((kind, value),) = ((key, steps[position][key]) for key in steps[position] if key != "when")
            self.place, self.called = f"{turn}.{position}", 0
            self.step(kind, self.fill(value))
            position += 1
            self.memory.kept["cursors"][turn] = position
            self.memory.keep()
            self.wire.pause(0)
        self.wire.say({"type": "end"})

    def steps(self, turn: str) -> list[dict[str, Any]]:
        """Return a turn's steps: `repair-2` plays `repair`, `stage-2-verify` plays `verify-2` or `verify`.

        Without `redirect` steps, a redirected turn plays `plan` again. Steps for other review threads than
        those of the turn are left out.
        """
        section = turn.split("-")[0]
        if section == "stage":
            _, number, name = turn.split("-", 2)
            stages = self.scenario.get("stages", {})
            steps: list[dict[str, Any]] = stages.get(f"{name}-{number}", stages.get(name, []))
        else:
            steps = self.scenario.get(section) or (
                self.scenario.get("plan", []) if section == "redirect" else []
            )
        return [step for step in steps if "when" not in step or self.threads_with(step["when"])]

    def threads_with(self, pattern: str) -> list[dict[str, Any]]:
        """Return the review threads of the turn in whose path or text the pattern is found."""
        threads: list[dict[str, Any]] = self.opening.get("threads", [])
        return [thread for thread in threads if re.search(pattern, f"{thread['path']}\n{thread['text']}")]

    def replies(self) -> dict[str, dict[str, Any]]:
        """Return by review thread the `thread` step that answers it in this turn."""
        by_thread: dict[str, dict[str, Any]] = {}
        given = [step["thread"] for step in self.steps(self.opening["turn"]) if "thread" in step]
        for reply in sorted(given, key=lambda reply: bool(reply.get("others"))):
            threads, index = self.threads_with(reply.get("match", "")), reply.get("index")
            chosen = threads if index is None else threads[index : index + 1]
            for thread in chosen:
                if not reply.get("others") or thread["thread_id"] not in by_thread:
                    by_thread[thread["thread_id"]] = reply
        return by_thread

    def describe_addressed(self) -> str:
        """Return how many of the turn's review threads are addressed in it, as a clause."""
        done = sum(reply.get("addressed", True) for reply in self.replies().values())
        total = len(self.opening.get("threads", []))
        if not total:
            return "no comment on a line of the code was there to address"
        return f"{done} of {total} review comment{'' if total == 1 else 's'} addressed"

    def fill(self, value: Any) -> Any:
        """Put answer, prompt and title where a scenario names them in double braces."""
        if isinstance(value, str):
            title = self.memory.kept["title"]
            value = value.replace("{{slug}}", slug_of(title)).replace("{{title}}", title)
            value = value.replace("{{prompt}}", self.opening["prompt"])
            if "{{addressed}}" in value:
                value = value.replace("{{addressed}}", self.describe_addressed())
            return value.replace("{{answer}}", self.memory.kept["answer"])
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        return {key: self.fill(item) for key, item in value.items()} if isinstance(value, dict) else value

    def call(self, tool: str, **given: Any) -> dict[str, Any]:
        """Call a board tool and return the acknowledgement, however long it takes."""
        # The same after a crash, for it names the place; another in every turn, whatever was acknowledged.
        call_id = f"{self.place}.{self.called}"
        self.wire.say({"id": call_id, "tool": tool, "input": given})
        while True:
            message = self.wire.hear(None)
            if message is None:
                sys.exit(0)  # nobody will acknowledge it
            if message.get("ack") == call_id:
                break
            self.wire.handle_message(message)
        self.called += 1
        result: dict[str, Any] = message["result"]
        return result

    def report_tool(self, name: str, summary: str, ok: bool) -> None:
        self.wire.say({"type": "used", "name": name, "summary": summary, "ok": ok})

    def step(self, kind: str, value: Any) -> None:
        """Play one step: a call of the board tool of that name, or one of the methods below."""
        if kind in _TOOLS:
            self.call(kind, **(value if isinstance(value, dict) else {_TOOLS[kind]: value}))
        else:
            getattr(self, f"do_{kind}")(value)

    def do_say(self, text: str) -> None:
        self.wire.say({"type": "say", "text": text})

    def do_block(self, reason: str) -> None:
        self.await_answer(self.call("block", reason=reason))

    def do_create_card(self, given: dict[str, Any]) -> None:
        result = self.call("create_card", **given)
        if given.get("repository") and "error" not in result:
            self.await_answer(result)

    def do_ask(self, ask: dict[str, Any]) -> None:
        self.await_answer(self.call("ask", **ask))

    def await_answer(self, result: dict[str, Any]) -> None:
        """End the turn here, unless the question was asked and answered before a crash."""
        if "answer" in result:
            self.memory.kept["answer"] = result["answer"]
        else:
            self.memory.kept["asking"] = self.opening["turn"]

    def do_thread(self, given: dict[str, Any]) -> None:
        mine = [thread_id for thread_id, reply in self.replies().items() if self.fill(reply) == given]
        for thread_id in mine:
            addressed = given.get("addressed", True)
            self.call("thread", thread_id=thread_id, text=given["say"], addressed=addressed)

    def do_edit(self, edit: dict[str, Any]) -> None:
        path = os.path.join(self.repo, edit["path"])
        if edit.get("content") is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write(path, edit["content"])
            ok = True
        else:
            text, fresh = read(path), edit.get("replace", "")
            ok = edit["find"] in text or fresh in text  # the latter: it was made before a crash
            made = edit["find"] in fresh and fresh in text  # before a crash, or for an earlier review
            write(path, text if made else text.replace(edit["find"], fresh, 1))
        self.report_tool("edit", edit["path"], ok)

    def do_run(self, line: str) -> None:
        self.wire.say({"type": "start", "name": "run", "summary": line})
        self.report_tool("run", line, self.shell("/bin/sh", "-c", line))

    def do_commit(self, message: str) -> None:
        self.shell("git", "add", "-A")
        self.report_tool("commit", message, self.shell("git", "commit", "-m", message))

    def shell(self, *argv: str) -> bool:
        """Run a program in the repository, its output unread; True when it succeeded."""
        os.chdir(self.repo)
        nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        ignored = (signal.SIGPIPE, signal.SIGXFSZ)  # by Python, and nobody else
        pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=nowhere, setsigdef=ignored)
        return os.waitpid(pid, 0)[1] == 0

    def do_sleep(self, seconds: float) -> None:
        self.wire.pause(seconds)

    def do_usage(self, usage: dict[str, Any]) -> None:
        self.memory.kept["used"][self.place] = {"usd": 0.0, "in": 0, "out": 0, "turns": 1} | usage
        self.memory.keep()
        self.report_usage()

    def report_usage(self) -> None:
        """Say what the session used in this run so far."""
        used = self.memory.kept["used"].values()
        total = {key: sum(each[key] for each in used) for key in ("usd", "in", "out", "turns")}
        self.wire.say({"type": "usage"} | total)

    def do_fail(self, code: int) -> None:
        self.wire.say({"type": "say", "text": "I cannot do this."})
        sys.exit(code)

    def do_crash(self, _: bool) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
        os.abort()  # the first process of a PID namespace cannot kill itself

    def do_hang(self, _: bool) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            select.select([], [], [], 3600)

    def do_flood(self, flood: dict[str, Any]) -> None:
        left = flood["bytes"]
        chunk = b"x" * (_FLOOD_CHUNK - 1) + (b"\n" if flood.get("newline") else b"x")
        while left > 0:
            sys.stdout.buffer.write(chunk[-min(left, _FLOOD_CHUNK) :])
            left -= _FLOOD_CHUNK
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()

    def do_garbage(self, _: bool) -> None:
        sys.stdout.buffer.write(b'\xff\xfe\x00{\xc3\x28}\n[[[[\n{"type": 1}\nnull\n')
        sys.stdout.buffer.flush()


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def prompt_title(prompt: str) -> str:
    """Return the card's title from the headings that a briefing starts with; empty where there is none."""
    match = re.search(r"^## Title, by .+\n<untrusted-\w+>\n(.+)$", prompt, re.MULTILINE)
    match = match or re.search(r"^# (?:The card: )?(.+)$", prompt, re.MULTILINE)
    return match[1].strip() if match else ""


def slug_of(title: str) -> str:
    """Return the title as a file name: safe in a path and in a shell line."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].rstrip("-") or "card"


def scenario_for(scenario: dict[str, Any], title: str) -> dict[str, Any]:
    for scene in scenario.get("cards", []):
        if re.search(scene["title"], title):
            chosen: dict[str, Any] = scene["scenario"]
            return chosen
    return scenario


def chat(opening: dict[str, Any], wire: Wire) -> None:
    """Answer once: the first rule that is found in the prompt."""
    title = prompt_title(opening["prompt"])
    for rule in scenario_for(opening["scenario"], title).get("chat", []):
        if re.search(rule.get("when", ""), opening["prompt"]):
            wire.say({"type": "say", "text": rule["say"].replace("{{title}}", title)})
            wire.say(
                {
                    "type": "usage",
                    "usd": rule.get("usd", 0.0),
                    "in": len(opening["prompt"]) // 4,
                    "out": 20,
                    "turns": 1,
                }
            )
            break
    wire.say({"type": "end"})


def main() -> None:
    wire = Wire()
    opening = wire.hear(None)
    if opening is None:
        return
    if opening["phase"] == "chat":
        chat(opening, wire)
        return
    try:
        player = Player(opening, wire)
    except FileNotFoundError:
        wire.say({"type": "end", "error": "its session is not in this workspace", "session_gone": True})
    else:
        player.play()


if __name__ == "__main__":
    main()
