"""The scripted model: a provider on this machine, with the requests and answers of its lifetime."""

import gzip
import hashlib
import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import IO, Any, cast

from forge.model import anthropic, chat, gemini, responses
from forge.model.conversation import Answer, Conversation, Offer, Outcome, Tokens, Used, Words
from forge.model.playing import Faults, Playing
from forge.model.scenario import load_script
from forge.model.wire import Piece

_FOLDER = re.compile(r"(?:[Ww]orking (?:in the )?directory: |<cwd>)(/[^\s<\"]+)")
# Texts in the user's place that the agents' programs write themselves.
_PROGRAMS_OWN = ("<system-reminder>", "<environment_context>", "<user_instructions>", "# AGENTS.md")
_REMINDER = re.compile(r"((?:<system-reminder>.*?</system-reminder>\s*)+)(.*)", re.DOTALL)
_DEFERRED_TOOLS = re.compile(r"^(mcp__\w+|TodoWrite|Task\w+)$", re.MULTILINE)
_DEFERRED_SPACES = re.compile(r"^- (mcp__\w+|multi_agent\w*)", re.MULTILINE)
_COUNTS = {"count_tokens": "input_tokens", "countTokens": "totalTokens"}
_GEMINI_CALL = re.compile(r"/models/([^/:]+):(streamG|g)enerateContent$")
Entries = tuple[Words | Used | Outcome, ...]


def read(path: str, body: dict[str, Any]) -> Conversation | None:
    """Return the conversation of a request, or None for a path of no known protocol."""
    if path.endswith("/messages"):
        return _messages(body)
    if path.endswith("/responses"):
        return _responses(body)
    if path.endswith("/chat/completions"):
        return _chat(body)
    match = _GEMINI_CALL.search(path)
    return _gemini(body, match[1], stream=match[2] == "streamG") if match else None


def texts(content: Any) -> list[str]:
    """Return the texts of a message's content: a text itself, or blocks of any protocol."""
    if isinstance(content, str):
        return [content]
    collected: list[str] = []
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and isinstance(block.get("text"), str):
            collected.append(block["text"])
    return collected


def _messages(body: dict[str, Any]) -> Conversation:
    system = texts(body.get("system"))
    entries: list[Words | Used | Outcome] = []
    for message in body.get("messages", ()):
        content, role = message.get("content"), message.get("role")
        if role == "system":
            system += texts(content)
            continue
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            entries += _block(block, role, system)
    tools = body.get("tools") or []
    names = frozenset(tool["name"] for tool in tools if not tool.get("defer_loading"))
    said = "\n".join(system)
    search = "ToolSearch" if "ToolSearch" in names else ""
    deferred = frozenset(_DEFERRED_TOOLS.findall(said)) - names if search else frozenset()
    offer = Offer(names, deferred=deferred, search=search)
    return _conversation("anthropic", body, said, tuple(entries), offer)


def _block(block: dict[str, Any], role: str, system: list[str]) -> Entries:
    match block.get("type"):
        case "text" if role == "user":
            return _words(block["text"], system)
        case "tool_use":
            return (Used(block["id"], block["name"], block.get("input")),)
        case "tool_result":
            said = "\n".join(texts(block.get("content")))
            return (Outcome(block["tool_use_id"], said, bool(block.get("is_error"))),)
    return ()


def _words(text: str, system: list[str]) -> Entries:
    reminder = _REMINDER.match(text)
    if reminder and reminder[2]:  # Qwen Code sends both as one text to some models
        system.append(reminder[1])
        return (Words(reminder[2]),)
    if text.lstrip().startswith(_PROGRAMS_OWN):
        system.append(text)
        return ()
    return (Words(text),)


def _responses(body: dict[str, Any]) -> Conversation:
    system: list[str] = texts(body.get("instructions"))
    given = body.get("input")
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given or []
    entries = [entry for item in items for entry in _item(item, system)]
    names, spaces = set(), set()
    for tool in body.get("tools") or []:
        if tool.get("type") == "namespace":
            spaces.add(tool["name"])
        elif tool.get("name"):
            names.add(tool["name"])
    said = "\n".join(system)
    if names:  # without tools there is nothing to search them with
        spaces |= set(_DEFERRED_SPACES.findall(said))
    return _conversation("responses", body, said, tuple(entries), Offer(frozenset(names), frozenset(spaces)))


def _item(item: dict[str, Any], system: list[str]) -> Iterator[Words | Used | Outcome]:
    match item.get("type", "message"):
        case "message" if item.get("role") == "user":
            for text in texts(item.get("content")):
                yield from _words(text, system)
        case "message" if item.get("role") in ("system", "developer"):
            system += texts(item.get("content"))
        case "function_call":
            yield Used(item["call_id"], item["name"], _parse(item.get("arguments")))
        case "custom_tool_call":
            yield Used(item["call_id"], item["name"], item.get("input"))
        case "function_call_output" | "custom_tool_call_output":
            yield Outcome(item["call_id"], "\n".join(texts(item.get("output"))))


def _chat(body: dict[str, Any]) -> Conversation:
    system: list[str] = []
    entries: list[Words | Used | Outcome] = []
    for message in body.get("messages", ()):
        said = texts(message.get("content"))
        match message.get("role"):
            case "system" | "developer":
                system += said
            case "user":
                for text in said:
                    entries += _words(text, system)
            case "assistant":
                for call in message.get("tool_calls") or ():
                    function = call["function"]
                    entries.append(Used(call["id"], function["name"], _parse(function.get("arguments"))))
            case "tool":
                entries.append(Outcome(message["tool_call_id"], "\n".join(said)))
    tools = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    inputs = {tool["name"]: tuple((tool.get("parameters") or {}).get("properties") or ()) for tool in tools}
    counts = bool((body.get("stream_options") or {}).get("include_usage"))
    return _conversation(
        "chat",
        body,
        "\n".join(system),
        tuple(entries),
        Offer(frozenset(inputs), inputs=inputs),
        counts=counts,
    )


def _take_call(calls: list[Used], waiting: list[Used], result: Mapping[str, Any]) -> str:
    """Return the id of the call that a result of Gemini answers: the one it names, else the next of its tool.

    A session that was loaded may tell a result twice.
    """
    own = str(result.get("id") or "")
    named = [call for call in calls if own and call.call_id == own]
    used = next(iter(named or [call for call in waiting if call.name == result["name"]]), None)
    if used is None:
        raise KeyError(f"a result of {result['name']}, which was not called")
    if used in waiting:
        waiting.remove(used)
    return used.call_id


def _gemini(body: dict[str, Any], model: str, *, stream: bool) -> Conversation:
    system = texts((body.get("systemInstruction") or {}).get("parts"))
    entries: list[Words | Used | Outcome] = []
    calls, waiting = list[Used](), list[Used]()  # a result names the tool, not always the call
    for content in body.get("contents", ()):
        for part in content.get("parts") or ():
            if "functionCall" in part:
                call = part["functionCall"]
                used = Used(gemini.read_call_id(part), call["name"], call.get("args"))
                calls.append(used)
                waiting.append(used)
                entries.append(used)
            elif "functionResponse" in part:
                result = part["functionResponse"]
                call_id = _take_call(calls, waiting, result)
                said = result.get("response")
                failed = isinstance(said, dict) and "error" in said
                entries.append(Outcome(call_id, gemini.described(said), failed))
            elif content.get("role") == "user" and not part.get("thought") and part.get("text"):
                entries += _words(part["text"], system)
    names = frozenset(
        declared["name"]
        for tool in body.get("tools") or ()
        for declared in tool.get("functionDeclarations") or ()
    )
    given = {"model": model, "stream": stream}
    return _conversation("gemini", given, "\n".join(system), tuple(entries), Offer(names))


def _conversation(
    protocol: str, body: dict[str, Any], system: str, entries: Entries, offer: Offer, *, counts: bool = True
) -> Conversation:
    match = _FOLDER.search(system)
    model, stream = str(body.get("model") or ""), bool(body.get("stream"))
    return Conversation(
        protocol=protocol,
        model=model,
        stream=stream,
        system=system,
        entries=entries,
        offer=offer,
        folder=match[1] if match else "",
        counts=counts,
    )


def _parse(arguments: Any) -> Any:
    try:
        return json.loads(arguments)
    except (TypeError, ValueError):
        return arguments


PING_S = 0.5
KEYS = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_BODY_BYTES = 64 * 1024 * 1024
_WIRES = {"anthropic": anthropic, "responses": responses, "chat": chat, "gemini": gemini}


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request as received. Headers have lower-case names; `key` is the provider's key."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Return the provider's key that came with it; empty without one."""
        given = next((self.headers[name] for name in KEYS if name in self.headers), "")
        return given.removeprefix("Bearer ")


@dataclass(slots=True)
class Served:
    """One call that was answered since `at`: `tokens` is the usage that was sent so far, None without any."""

    protocol: str
    model: str
    run: str
    turn: str
    step: int
    tokens: Tokens | None = None
    complete: bool = False
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class WebServer(ThreadingHTTPServer):
    """Answers each connection in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, model: "ScriptedModel") -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.model = model

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection; that an agent hangs up in the middle is nothing to report."""
        with suppress(ConnectionError):
            super().finish_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: the model notes requests itself."""

    @property
    def _model(self) -> "ScriptedModel":
        return cast(WebServer, self.server).model

    def do_HEAD(self) -> None:
        self._note({})
        self._send(200, {})

    def do_GET(self) -> None:
        self._note({})
        if self.path.split("?")[0].endswith("/models"):
            names = ("scripted-model",)
            self._send(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in names]})
        else:
            self._send(404, anthropic.failure(404, f"there is nothing at {self.path}"))

    def do_POST(self) -> None:
        try:
            body = json.loads(self._body() or b"{}")
        except (ValueError, OSError) as error:
            return self._send(400, anthropic.failure(400, f"the body cannot be read: {error}"))
        request = self._note(body)
        path = self.path.split("?")[0]
        if counted := _COUNTS.get(re.split("[/:]", path)[-1]):
            return self._send(200, {counted: len(json.dumps(body)) // 4})
        try:
            conversation = read(path, body)
        except (AttributeError, KeyError, TypeError) as error:
            self._model.complain(f"{path}: {type(error).__name__}: {error}")
            return self._send(400, anthropic.failure(400, "the request makes no sense"))
        if conversation is None:
            return self._send(404, anthropic.failure(404, f"there is nothing at {self.path}"))
        if self._model.refuses(request):
            return self._refuse_key(conversation)
        answer, served = self._model.answer(conversation)
        if answer.delay_s and self._model.closing.wait(answer.delay_s):
            self.close_connection = True
            return None
        if answer.status:
            return self._fail(conversation, answer.status, answer.message, answer.retry_after)
        ident = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:24]
        if conversation.stream:
            return self._stream(answer, conversation, ident, served)
        return self._whole(answer, conversation, ident, served)

    def _note(self, body: Mapping[str, Any]) -> ModelRequest:
        request = ModelRequest(
            self.command, self.path, {name.lower(): text for name, text in self.headers.items()}, body
        )
        self._model.note(request)
        return request

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            raw = b"".join(self._chunks())
        else:
            raw = self.rfile.read(min(int(self.headers.get("content-length") or 0), _BODY_BYTES))
        return gzip.decompress(raw) if self.headers.get("content-encoding") == "gzip" else raw

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip() or b"0", 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _refuse_key(self, conversation: Conversation) -> None:
        if conversation.protocol == "gemini":
            self._send(400, gemini.BAD_KEY)
        else:
            self._fail(conversation, 401, "this is not the key of the scripted model")

    def _fail(
        self, conversation: Conversation, status: int, message: str, retry_after: int | None = None
    ) -> None:
        own = {"anthropic": anthropic, "gemini": gemini}
        protocol = own.get(conversation.protocol, responses)
        self._send(status, protocol.failure(status, message), retry_after)

    def _send(self, status: int, body: Mapping[str, Any], retry_after: int | None = None) -> None:
        body_bytes = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body_bytes)))
        if retry_after is not None:
            self.send_header("retry-after", str(retry_after))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body_bytes)

    def _whole(self, answer: Answer, conversation: Conversation, ident: str, served: Served) -> None:
        if answer.ending:
            self.close_connection = True
            if answer.ending != "cut":
                self._model.closing.wait()
            return
        served.tokens, served.complete = answer.tokens, True
        self._send(200, _WIRES[conversation.protocol].whole(answer, conversation, ident))

    def _stream(self, answer: Answer, conversation: Conversation, ident: str, served: Served) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("cache-control", "no-cache")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        pieces = list(_WIRES[conversation.protocol].stream(answer, conversation, ident))
        for piece in pieces[: len(pieces) // 2] if answer.ending else pieces:
            self._write(piece, served)
            if answer.pace_s and self._model.closing.wait(answer.pace_s):
                break
        if answer.ending:
            return self._break(answer.ending, conversation, ident, served)
        served.complete = True  # before the last byte: whoever has read it may look at once
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _write(self, piece: Piece, served: Served) -> None:
        body_bytes = piece.encode()
        served.tokens = piece.tokens or served.tokens
        self.wfile.write(f"{len(body_bytes):x}\r\n".encode() + body_bytes + b"\r\n")
        self.wfile.flush()

    def _break(self, ending: str, conversation: Conversation, ident: str, served: Served) -> None:
        """Leave the stream unfinished: readers notice the missing last chunk."""
        self.close_connection = True
        ping = {
            "anthropic": anthropic.PING,
            "responses": responses.PING,
            "chat": chat.ping(conversation, ident),
            "gemini": gemini.ping(conversation, ident),
        }[conversation.protocol]
        while ending != "cut" and not self._model.closing.wait(PING_S):
            if ending == "hang":
                self._write(ping, served)


STOP_S = 10


class ScriptedModel:
    """A provider on 127.0.0.1 that plays `scenario` of a folder; serves from `with` until its end.

    In a `hurry`, it passes over `sleep` steps. With a `key`, requests that were not paid with it get a 401.
    `problems` lists what an agent did not offer. Raises ScriptError when the scenario cannot be played.
    """

    def __init__(
        self,
        folder: Path,
        *,
        scenario: str = "default",
        port: int = 0,
        key: str = "",
        log: Path | None = None,
        hurry: bool = False,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.served: list[Served] = []
        self.problems: list[str] = []
        self.closing = threading.Event()
        self._key, self._hurry = key, hurry
        self._log: IO[str] | None = log.open("a", encoding="utf-8") if log else None
        self._lock = threading.Lock()
        self._playing = Playing(load_script(folder, scenario), Faults(), self.complain)
        self._server = WebServer(port, self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.1,), name="scripted-model", daemon=True
        )

    @property
    def url(self) -> str:
        """Return the root of all APIs, without a trailing slash: `/v1` or `/v1beta` follows."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> "ScriptedModel":
        """Begin to serve; connections are accepted from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop serving; streams that hang are cut."""
        self.closing.set()
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join(STOP_S)
        self._server.server_close()
        if self._log:
            self._log.close()

    def __enter__(self) -> "ScriptedModel":
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def note(self, request: ModelRequest) -> None:
        """Note a request, in the log without its keys."""
        shown = {name: "(a key)" if name in KEYS else text for name, text in request.headers.items()}
        line = {"method": request.method, "path": request.path, "headers": shown, "body": request.body}
        with self._lock:
            self.requests.append(request)
            if self._log:
                self._log.write(json.dumps(line) + "\n")
                self._log.flush()

    def refuses(self, request: ModelRequest) -> bool:
        """Return whether the request was paid with a wrong key."""
        return bool(self._key) and request.key != self._key

    def answer(self, conversation: Conversation) -> tuple[Answer, Served]:
        """Return the answer, and the record for its usage."""
        answer = self._playing.answer(conversation)
        if self._hurry:
            answer = replace(answer, delay_s=0.0)
        run, turn, step = answer.place
        served = Served(conversation.protocol, conversation.model, run, turn, step)
        with self._lock:
            self.served.append(served)
        return answer, served

    def complain(self, problem: str) -> None:
        """Note a problem of an agent; tests assert that there is none."""
        with self._lock:
            self.problems.append(problem)
        print(f"scripted model: {problem}", file=sys.stderr, flush=True)
