"""A gateway between a scripted provider and a client, as a supervisor sees it."""

import contextlib
import http.client
import json
import os
import select
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from runner.gateway.control.link import Gateway
from runner.gateway.control.messages import CallRefusal, GatewayEvent
from runner.gateway.control.terms import Terms, Waits
from runner.run.provider import Provider, TokenPrice
from tests.runner.gateway.upstream import Answer, Upstream, chat, messages, provider, responses
from tests.waiting import until

KEY = "sk-test-the-real-key-0123456789"
CLAUDE, GPT = "claude-sonnet-4-0", "gpt-5"
QUICK = Waits(connect_s=2.0, first_byte_s=0.4, idle_s=0.4)
TERMS = Terms(models=(CLAUDE, GPT, "strange-1"))
LIMIT_S = 60.0
Event = TypeVar("Event")

PATHS = {
    "messages": "/anthropic/v1/messages",
    "responses": "/openai/v1/responses",
    "chat": "/openai/v1/chat/completions",
    "compatible": "/compatible/v1/chat/completions",
}


IN = {"input_tokens": 10, "output_tokens": 5}
CHAT_IN = {"prompt_tokens": 10, "completion_tokens": 5}
WORDS = ("Grüße ", "and 漢字, ", '{"a": "\\n"}', "x" * 70_000)
STREAMS: dict[str, tuple[bytes, ...]] = {
    "messages": messages(*WORDS, usage=IN),
    "responses": responses(*WORDS, usage=IN),
    "chat": chat(*WORDS, usage=CHAT_IN),
    "compatible": chat(*WORDS, usage=CHAT_IN),
}
MODEL = {"messages": CLAUDE, "responses": GPT, "chat": GPT, "compatible": GPT}


@dataclass(slots=True)
class Ears:
    """Hears a gateway and keeps what it told."""

    gateway: Gateway
    told: list[GatewayEvent] = field(default_factory=list)
    ended: bool = False

    def hear(self, wait_s: float) -> bool:
        """Take in what comes next; False when nothing did."""
        if self.ended or not select.select([self.gateway.fileno()], [], [], wait_s)[0]:
            return False
        message = b""
        with contextlib.suppress(ConnectionResetError):
            message = os.read(self.gateway.fileno(), 1 << 16)
        self.ended = not message
        self.told += self.gateway.decode(message.decode()) if message else ()
        return True

    def wait(self, kind: type[Event], count: int = 1) -> list[Event]:
        """Return the events of a kind once there are so many; fails after a while."""

        def found() -> list[Event] | None:
            self.hear(0.1)
            assert len(self.all(kind)) >= count or not self.ended, f"the gateway ended: {self.told}"
            return self.all(kind) if len(self.all(kind)) >= count else None

        return until(found, f"{count} {kind.__name__}", every_s=0)

    def all(self, kind: type[Event]) -> list[Event]:
        """Return the events of a kind so far."""
        return [one for one in self.told if isinstance(one, kind)]

    def wait_end(self) -> None:
        """Wait until the gateway is gone."""
        until(lambda: self.hear(0.1) or self.ended, "the gateway's end", every_s=0)


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client got; `whole` is False when the connection broke."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    whole: bool

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Line(http.client.HTTPConnection):
    """HTTP over a unix socket, however long its path."""

    def __init__(self, folder: Path, name: str = "models.sock") -> None:
        super().__init__("gateway", timeout=LIMIT_S)
        self._folder, self._name = folder, name

    def connect(self) -> None:
        position = os.open(self._folder, os.O_PATH)
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(LIMIT_S)
        self.sock.connect(f"/proc/self/fd/{position}/{self._name}")
        os.close(position)


@dataclass(slots=True)
class Scene:
    """The provider, the gateway before it, and what it told."""

    upstream: Upstream
    gateway: Gateway
    ears: Ears

    def open(self, usd_left: float = 5.0, tokens_left: int | None = None) -> None:
        self.gateway.open(turn="r1-work", usd_left=usd_left, tools=(), tokens_left=tokens_left)

    def post(self, path: str, body: bytes | Mapping[str, Any], **headers: str) -> Reply:
        """Call and return the answer."""
        line = self.begin(path, body, **headers)
        try:
            return finish(line)
        finally:
            line.close()

    def begin(self, path: str, body: bytes | Mapping[str, Any], **headers: str) -> Line:
        """Send a request and leave the answer to the caller."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        line = Line(self.gateway.folder)
        line.request("POST", path, raw, {name.replace("_", "-"): value for name, value in headers.items()})
        return line

    def get(self, path: str, method: str = "GET") -> Reply:
        line = Line(self.gateway.folder)
        try:
            line.request(method, path)
            return finish(line)
        finally:
            line.close()


def finish(line: Line) -> Reply:
    """Read an answer to its end."""
    answer = line.getresponse()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    try:
        return Reply(answer.status, headers, answer.read(), whole=True)
    except http.client.IncompleteRead as broken:
        return Reply(answer.status, headers, broken.partial, whole=False)


def ask(model: str = CLAUDE, *, stream: bool = True, **fields: Any) -> dict[str, Any]:
    """Return a request's body that all three protocols understand."""
    return {"model": model, "stream": stream, "tools": [{"name": "t"}], **fields}


def providers(url: str, prices: tuple[TokenPrice, ...] = ()) -> dict[str, Provider]:
    return {name: Provider(name, url, KEY, prices) for name in ("anthropic", "openai", "compatible")}


@contextlib.contextmanager
def scene(
    folder: Path,
    terms: Terms = TERMS,
    *,
    keys: bool = True,
    prices: tuple[TokenPrice, ...] = (),
    others: Callable[[str], Mapping[str, Provider]] = lambda _: {},
) -> Iterator[Scene]:
    """Run a gateway before a provider; nothing is left of either. `others` takes its address."""
    with provider() as upstream:
        payers = providers(upstream.url, prices) if keys else {}
        gateway = Gateway.spawn(folder / "gateway", terms, {**payers, **others(upstream.url)})
        try:
            new_scene = Scene(upstream, gateway, Ears(gateway))
            new_scene.open()
            yield new_scene
        finally:
            gateway.close()


def error_of(name: str, body: Any) -> tuple[str, str]:
    """Return (type or code, message) of an error, read as the provider's own clients do."""
    if name == "messages":
        assert body["type"] == "error"
        return body["error"]["type"], body["error"]["message"]
    assert set(body["error"]) == {"message", "type", "param", "code"}
    return body["error"]["code"], body["error"]["message"]


USAGE = {"input_tokens": 1000, "cache_read_input_tokens": 4000}


def assert_budget_bounds(world: Scene) -> None:
    """Let a call use up what is left, however it is paid: the answer is cut, and the next call refused."""
    world.open(usd_left=0.05)
    world.upstream.answers.append(Answer(messages("word " * 40_000, usage=USAGE, output_tokens=40_000)))
    reply = world.post(PATHS["messages"], ask(max_tokens=64_000))
    assert json.loads(world.upstream.got[0].body)["max_tokens"] < 7_000
    assert b"the budget is used up" in reply.body
    assert world.post(PATHS["messages"], ask()).status == 400
    assert {call_refusal.kind for call_refusal in world.ears.wait(CallRefusal, 2)} == {"budget"}
    assert len(world.upstream.got) == 1
