"""A program of the Agent Client Protocol, message by message; it checks ours against the schema."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from acp import schema
from pydantic import BaseModel

from runner.agents.acp.dialogue import AcpDialogue
from runner.agents.acp.program import AcpAgent, AcpProgram
from runner.agents.contract import AgentEvent, Layout, Metering, Phase, Send, Task

LAYOUT = Layout("/workspace/repo", "/workspace/home", "", "python3", "/player", "http://127.0.0.1:4000")
REQUESTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
HELLO: dict[str, Any] = {
    "protocolVersion": 1,
    "agentInfo": {"name": "fake", "version": "1.2"},
    "agentCapabilities": {"mcpCapabilities": {"http": True}, "sessionCapabilities": {"resume": {}}},
}
ALLOW_AND_REJECT = [
    {"optionId": "a+", "name": "Always", "kind": "allow_always"},
    {"optionId": "a", "name": "Allow", "kind": "allow_once"},
    {"optionId": "r", "name": "Reject", "kind": "reject_once"},
    {"optionId": "r+", "name": "Never", "kind": "reject_always"},
]


def agent(metering: Metering = Metering.GATEWAY, **changes: Any) -> AcpAgent:
    """Return the agent of a small program."""
    usual: dict[str, Any] = {
        "name": "fake", "version": "1.2", "command": ("fake", "--model={model}"), "provider": "compatible",
        "models": {"default": "big", "small": "little"}, "env": {"URL": "{gateway}/compatible/v1"},
    }  # fmt: skip
    return AcpAgent(AcpProgram(metering=metering, **usual | changes))


class Partner:
    """Speaks for the program; `sent` are our messages, each checked against the schema."""

    def __init__(
        self,
        phase: Phase = Phase.WORK,
        *,
        session: str = "",
        prompt: str = "do it",
        metering: Metering = Metering.GATEWAY,
    ) -> None:
        task = Task(phase, "work", prompt, "r7", session, "default", False, 60, 2.0, Path("scenarios"))
        dialogue = agent(metering).begin(task, LAYOUT)
        assert isinstance(dialogue, AcpDialogue)
        self.dialogue, self.sent = dialogue, list[dict[str, Any]]()
        self.take(dialogue.command.opening)

    def take(self, data: bytes | None) -> None:
        """Take lines of ours."""
        for line in (data or b"").splitlines():
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if "method" in message:
                REQUESTS[message["method"]].model_validate(message["params"])
            elif "result" in message:
                schema.RequestPermissionResponse.model_validate(message["result"])
            self.sent.append(message)

    def raw(self, line: str) -> list[AgentEvent]:
        """Say a line; return its events but for our answers, which are taken."""
        events = self.dialogue.decode(line)
        for event in events:
            if isinstance(event, Send):
                self.take(event.data)
        return [event for event in events if not isinstance(event, Send)]

    def say(self, **message: Any) -> list[AgentEvent]:
        return self.raw(json.dumps({"jsonrpc": "2.0", **message}))

    def answer(self, result: Any, **message: Any) -> list[AgentEvent]:
        """Answer our newest request."""
        number = [it["id"] for it in self.sent if "method" in it and "id" in it][-1]
        return self.say(**{"id": number, "result": result} | message)

    def fail(self, code: int, text: str) -> list[AgentEvent]:
        return self.say(id=self.sent[-1]["id"], error={"code": code, "message": text})

    def open(self, hello: dict[str, Any] | None = None, session: str = "s1", **more: Any) -> list[AgentEvent]:
        """Play up to our prompt."""
        return [*self.answer(hello or HELLO), *self.answer({"sessionId": session, **more})]

    def update(self, kind: str, /, **update: Any) -> list[AgentEvent]:
        params = {"sessionId": "s1", "update": {"sessionUpdate": kind, **update}}
        schema.SessionNotification.model_validate(params)
        return self.say(method="session/update", params=params)

    def chunk(self, text: str, **more: Any) -> list[AgentEvent]:
        return self.update("agent_message_chunk", content={"type": "text", "text": text}, **more)

    def ask(self, number: Any = 7, options: Any = None, **call: Any) -> list[AgentEvent]:
        """Ask for permission."""
        params = {
            "sessionId": "s1",
            "options": options or ALLOW_AND_REJECT,
            "toolCall": {"toolCallId": "t1"} | call,
        }
        schema.RequestPermissionRequest.model_validate(params)
        return self.say(id=number, method="session/request_permission", params=params)


def kept(value: Any) -> Iterator[int]:
    """Yield the sizes of all that an object keeps."""
    for it in vars(value).values():
        yield len(it) if isinstance(it, list | dict | str | bytes) else 0
