"""Small agents, one for each protocol, that do what the model asks in a real repository."""

import base64
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import requests

from tests.forge.model import wire as model_wire
from tests.forge.model.wire import Called, Json, Message

BOARD = ("plan", "tick", "progress", "note", "ask", "block", "thread", "finish")
LIMIT_S = 60


class Agent:
    """What all have in common: files, a shell and the board; the conversation is sent back each time."""

    path = ""
    tools: tuple[str, ...] = ()

    def __init__(self, url: str, repo: Path) -> None:
        self.url, self.repo = url, repo
        self.conversation: list[Json] = []
        self.board: list[tuple[str, Json]] = []
        self.said: list[Message] = []
        self.asked_answer = ""  # what the board answers to a question at once
        self.without: tuple[str, ...] = ()
        self.read: set[str] = set()
        repo.mkdir(parents=True, exist_ok=True)

    def body(self) -> Json:
        """Return the next request."""
        raise NotImplementedError

    def parsed(self, raw: bytes) -> Message:
        """Return what a stream says."""
        raise NotImplementedError

    def prompt(self, text: str) -> None:
        """Add what the user says."""
        self.conversation.append({"role": "user", "content": text})

    def remember(self, message: Message, results: list[tuple[str, str]]) -> None:
        """Add what the model said, and what its calls led to."""
        raise NotImplementedError

    def offered(self) -> list[str]:
        """Return the names of the tools that it has, with those of the board."""
        return [name for name in self.tools if name not in self.without]

    def post(self, body: Json | None = None) -> requests.Response:
        """Send a request and return the whole answer."""
        return requests.post(self.url + self.path, json=body or self.body(), timeout=LIMIT_S)

    def post_whole(self) -> requests.Response:
        """Send a request for an answer in one piece, and return it."""
        return self.post({**self.body(), "stream": False})

    def round(self) -> Message:
        """Ask the model once and do what it wants."""
        answer = self.post()
        assert answer.status_code == 200, answer.text
        message = self.parsed(answer.content)
        self.said.append(message)
        results = [(call.call_id, self.done(call)) for call in message.calls]
        self.remember(message, results)
        return message

    def play(self, prompt: str, rounds: int = 60) -> str:
        """Play one turn; return what was said last."""
        self.prompt(prompt)
        for _ in range(rounds):
            message = self.round()
            if not message.calls:
                return message.text
        raise AssertionError("the turn has no end")

    def done(self, call: Called) -> str:
        """Return the result of a tool call."""
        name = re.sub(r"^(mcp__board__|mcp_board_|board_)", "", call.name)
        if call.space == "mcp__board" or name != call.name:
            assert name in BOARD
            self.board.append((name, call.given))
            if name == "ask" and self.asked_answer:
                return json.dumps({"ok": True, "repeated": True, "answer": self.asked_answer})
            return '{"ok": true}'
        return self.own(call)

    def own(self, call: Called) -> str:
        """Return the result of a tool that is the agent's own."""
        raise NotImplementedError

    def shell(self, line: str) -> str:
        """Run a line in the repository."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.repo.parent), "LC_ALL": "C"}
        ran = subprocess.run(
            ["bash", "-c", line], cwd=self.repo, env=environment, capture_output=True, text=True, timeout=60
        )
        return f"exit {ran.returncode}\n{ran.stdout}{ran.stderr}"

    def file_tool(self, name: str, path: str, given: Json) -> str:
        """Write, read or edit as strictly as the real agents do: a file that is there must be read first."""
        file = Path(path)
        assert file.is_absolute()
        if name in ("Read", "read"):
            self.read.add(path)
            return file.read_text() if file.is_file() else "Error: it does not exist"
        if file.is_file() and path not in self.read:
            return "File has not been read yet. Read it first before writing to it."
        self.read.add(path)
        if name in ("Write", "write"):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(given["content"])
            return "ok"
        old = str(given.get("old_string", given.get("oldString")))
        new = str(given.get("new_string", given.get("newString")))
        text = file.read_text()
        assert text.count(old) == 1, f"{old!r} is not unique"
        file.write_text(text.replace(old, new))
        return "ok"


class ClaudeLike(Agent):
    """Anthropic's Messages; the board's tools are known only after a search if `defers`."""

    path = "/v1/messages?beta=true"
    tools = ("Bash", "Write", "Edit", "Read", *(f"mcp__board__{name}" for name in BOARD))
    defers = False
    found: frozenset[str] = frozenset()

    def body(self) -> Json:
        names = [name for name in self.offered() if not (self.defers and name.startswith("mcp__"))]
        system = f"# Environment\n - Primary working directory: {self.repo}\n"
        if self.defers:
            names.append("ToolSearch")
            system += "Deferred tools:\n" + "\n".join(
                one for one in self.offered() if one.startswith("mcp__")
            )
        return {
            "model": "claude-test",
            "stream": True,
            "max_tokens": 1000,
            "system": [{"type": "text", "text": "You are an agent."}],
            "messages": [
                *self.conversation[:1],
                {"role": "system", "content": system},
                *self.conversation[1:],
            ],
            "tools": [{"name": name, "input_schema": {"type": "object"}} for name in names],
        }

    def parsed(self, raw: bytes) -> Message:
        return model_wire.anthropic(raw)

    def prompt(self, text: str) -> None:
        reminder = "<system-reminder>\n# gitStatus\nRun r9, turn plan (plan).\n</system-reminder>"
        blocks = [{"type": "text", "text": reminder}, {"type": "text", "text": text}]
        self.conversation.append({"role": "user", "content": blocks})

    def remember(self, message: Message, results: list[tuple[str, str]]) -> None:
        said: list[Json] = [{"type": "text", "text": message.text}] if message.text else []
        used = [
            {"type": "tool_use", "id": call.call_id, "name": call.name, "input": call.given}
            for call in message.calls
        ]
        self.conversation.append({"role": "assistant", "content": said + used})
        if results:
            blocks = [
                {"type": "tool_result", "tool_use_id": call_id, "content": [{"type": "text", "text": text}]}
                for call_id, text in results
            ]
            self.conversation.append({"role": "user", "content": blocks})

    def done(self, call: Called) -> str:
        if call.name == "ToolSearch":
            assert self.defers
            self.found |= set(call.given["query"].removeprefix("select:").split(","))
            return "<functions>...</functions>"
        assert not self.defers or not call.name.startswith("mcp__") or call.name in self.found
        return super().done(call)

    def own(self, call: Called) -> str:
        if call.name == "Bash":
            assert not re.match(r"\s*sleep\b", call.given["command"])
            return self.shell(call.given["command"])
        return self.file_tool(call.name, call.given["file_path"], call.given)


class CodexLike(Agent):
    """OpenAI's Responses; files are changed by patches and the shell, the board is a namespace."""

    path = "/v1/responses"
    tools = ("exec_command", "apply_patch", "update_plan")

    def body(self) -> Json:
        tools: list[Any] = [
            {"type": "custom" if name == "apply_patch" else "function", "name": name}
            for name in self.offered()
        ]
        developer = "<tools>\nDeferred tool namespaces:\n- mcp__board\n- multi_agent_v1: agents.\n</tools>"
        first = [
            {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": developer}]},
            {
                "type": "message",
                "role": "user",
                "content": [
                    {
                        "type": "input_text",
                        "text": f"<environment_context>\n<cwd>{self.repo}</cwd>\n</environment_context>",
                    }
                ],
            },
        ]
        return {
            "model": "gpt-test",
            "stream": True,
            "input": first + self.conversation,
            "tools": [*tools, {"type": "tool_search"}],
        }

    def parsed(self, raw: bytes) -> Message:
        return model_wire.responses(raw)

    def prompt(self, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        self.conversation.append({"type": "message", "role": "user", "content": content})

    def remember(self, message: Message, results: list[tuple[str, str]]) -> None:
        outputs = dict(results)
        if message.text:
            content = [{"type": "output_text", "text": message.text}]
            self.conversation.append({"type": "message", "role": "assistant", "content": content})
        for call in message.calls:  # as Codex does: each call beside its output
            kind, key, told = ("function_call", "arguments", json.dumps(call.given))
            if isinstance(call.given, str):
                kind, key, told = ("custom_tool_call", "input", call.given)
            named = {"call_id": call.call_id, "name": call.name, key: told}
            self.conversation.append({"type": kind, **named})
            output = {"call_id": call.call_id, "output": outputs[call.call_id]}
            self.conversation.append({"type": f"{kind}_output", **output})

    def own(self, call: Called) -> str:
        if call.name == "exec_command":
            return self.shell(call.given["cmd"])
        assert call.name == "apply_patch"
        begin, add, *lines, end = call.given.splitlines()
        assert (begin, end) == ("*** Begin Patch", "*** End Patch")
        file = self.repo / add.removeprefix("*** Add File: ")
        file.parent.mkdir(parents=True, exist_ok=True)
        assert all(line.startswith("+") for line in lines)
        file.write_text("".join(f"{line[1:]}\n" for line in lines))
        return "ok"


class OpenCodeLike(Agent):
    """OpenAI's Chat Completions."""

    path = "/v1/chat/completions"
    tools = ("bash", "write", "edit", "read", "todowrite", *(f"board_{name}" for name in BOARD))

    def body(self) -> Json:
        system = {"role": "system", "content": f"You are an agent.\nWorking directory: {self.repo}\n"}
        return {
            "model": "test",
            "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [system, *self.conversation],
            "tools": [{"type": "function", "function": {"name": name}} for name in self.offered()],
        }

    def parsed(self, raw: bytes) -> Message:
        return model_wire.chat(raw)

    def remember(self, message: Message, results: list[tuple[str, str]]) -> None:
        calls = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.given)},
            }
            for call in message.calls
        ]
        told = {"role": "assistant", "content": message.text}
        self.conversation.append({**told, "tool_calls": calls} if calls else told)
        for call_id, text in results:
            self.conversation.append({"role": "tool", "tool_call_id": call_id, "content": text})

    def own(self, call: Called) -> str:
        if call.name == "bash":
            return self.shell(call.given["command"])
        return self.file_tool(call.name, call.given["filePath"], call.given)


class GeminiLike(Agent):
    """Google's API; calls go back without their ids, and what the program says stands before the prompt."""

    path = "/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
    tools = (
        "run_shell_command", "write_file", "edit", "read_file", "todo_write",
        *(f"mcp_board_{name}" for name in BOARD),
    )  # fmt: skip

    def body(self) -> Json:
        declared = [{"name": name} for name in self.offered()]
        return {
            "systemInstruction": {"role": "user", "parts": [{"text": "You are an agent."}]},
            "contents": self.conversation,
            "tools": [{"functionDeclarations": declared}],
        }

    def parsed(self, raw: bytes) -> Message:
        return model_wire.gemini(raw)

    def post_whole(self) -> requests.Response:
        self.path = self.path.replace("streamG", "g")
        return self.post()

    def prompt(self, text: str) -> None:
        place = f"I'm currently working in the directory: {self.repo}"
        whole = f"<system-reminder>\n{place}\n</system-reminder>\n\n{text}"
        self.conversation.append({"role": "user", "parts": [{"text": whole}]})

    def remember(self, message: Message, results: list[tuple[str, str]]) -> None:
        told: list[Json] = [{"text": message.text}] if message.text else []
        for call in message.calls:
            signature = base64.b64encode(call.call_id.encode()).decode()
            told.append(
                {"functionCall": {"name": call.name, "args": call.given}, "thoughtSignature": signature}
            )
        self.conversation.append({"role": "model", "parts": told or [{"text": ""}]})
        if results:
            names = [call.name for call in message.calls]
            parts = [
                {"functionResponse": {"name": name, "response": {"output": text}}}
                for name, (_, text) in zip(names, results, strict=True)
            ]
            self.conversation.append({"role": "user", "parts": parts})

    def own(self, call: Called) -> str:
        if call.name == "run_shell_command":
            return self.shell(call.given["command"])
        name = {"write_file": "write", "read_file": "read"}.get(call.name, call.name)
        return self.file_tool(name, call.given["file_path"], call.given)


AGENTS = {"claude": ClaudeLike, "codex": CodexLike, "opencode": OpenCodeLike, "gemini": GeminiLike}
