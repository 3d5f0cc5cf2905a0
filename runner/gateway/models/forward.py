"""One call on its way: sent with the real key, returned byte for byte, and metered."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import httpx2

from runner.agents.contract import Usage
from runner.errors import RunnerError
from runner.exec.deadline import COUNTS_SLEEP
from runner.gateway.control.asgi import Headers, Send, respond
from runner.gateway.control.messages import Answering, CallRefusal, GatewayMessage, Warned
from runner.gateway.control.terms import Waits
from runner.gateway.models import protocol, routes
from runner.gateway.models.limits import FailureStreaks
from runner.gateway.models.meter import Meter
from runner.gateway.models.protocol import ModelRequest, parse_event
from runner.gateway.models.routes import Route, upstream_of
from runner.gateway.models.upstream import AgentRequest, CredentialsError, Upstream, keep_response_headers
from runner.run.provider import Provider, setting_of
from runner.text.plain import one_line, redact

_WHOLE_BYTES = 32_000_000  # of an answer in one piece that is read for its usage
_ERROR_BYTES = 64_000
_RETRIED = 408
_ALIVE_S = 5.0  # between two signs of life of an answer that grows
_BAD_KEY = (401, 403)
_ESTIMATED = (
    "{name} did not report the final usage of an answer: its cost and tokens are an estimate, the most that "
    "the model can have written in that time"
)


class CutError(RunnerError):
    """The answer had begun and cannot be brought to its end: the client's connection is closed."""


class _FailedError(RunnerError):
    """The provider failed; `status` is 0 where it did not answer at all."""

    def __init__(self, status: int, detail: str) -> None:
        self.status, self.detail = status, detail
        super().__init__(detail)


@dataclass(slots=True)
class ModelCall:
    """A call under way. `left_at`: when it left; `accepted`: the provider bills it; `refused`: it does not.

    `started`: the client has the beginning of an answer; `sends`: the client is slow to read; `abandoned`: it
    is gone, and the answer is read for its figures alone.
    """

    route: Route
    provider: Provider
    request: ModelRequest
    meter: Meter | None
    headers: Headers
    query: bytes
    left_at: float | None = None
    accepted: bool = False
    refused: bool = False
    started: bool = False
    sends: bool = False
    abandoned: bool = False

    @property
    def worked_s(self) -> float | None:
        """The seconds that the provider has had for it; None where it bills nothing.

        They go on while this machine sleeps, as the provider does.
        """
        if self.left_at is None or self.refused:
            return None
        return time.clock_gettime(COUNTS_SLEEP) - self.left_at

    async def trace(self, step: str, _details: object) -> None:
        """Note when a request leaves, by the connection's steps (source: encode's httpcore, "Extensions")."""
        if step.endswith("send_request_body.started"):  # not before: nobody works on headers alone
            self.left_at = time.clock_gettime(COUNTS_SLEEP)


class Forward:
    """Forwards calls to providers, and reports their usage and failures."""

    def __init__(
        self,
        waits: Waits,
        transport: httpx2.AsyncHTTPTransport,
        say: Callable[[GatewayMessage], None],
        streaks: FailureStreaks,
    ) -> None:
        self._waits, self._transport, self._say, self._streaks = waits, transport, say, streaks
        self._estimated: set[str] = set()
        self._upstreams: dict[str, Upstream] = {}

    async def run(self, call: ModelCall, send: Send) -> None:
        """Forward a call and return its answer. Raises CutError when the answer ends in the middle."""
        try:
            await self._attempt(call, send)
        except _FailedError as failure:
            detail = self._fail(call, failure.status, failure.detail)
            if call.started:
                raise CutError(detail) from failure
            status = failure.status if failure.status in _BAD_KEY else 502
            await respond(send, status, call.route.wire.error(status, "provider", detail))

    def report_usage(self, call: ModelCall) -> None:
        """Report a call's usage, once. The first estimate for a provider is told to people."""
        cost = call.meter.release(call.worked_s) if call.meter else None
        if cost is None:
            return
        self._say(Usage(cost.usd, cost.input_tokens, cost.output_tokens, call.request.turns))
        name = call.provider.name
        if cost.estimated and name not in self._estimated:
            self._estimated.add(name)
            self._say(Warned(_ESTIMATED.format(name=name)))

    async def _attempt(self, call: ModelCall, send: Send) -> None:
        provider = call.provider
        out = await self._outgoing(call)
        try:
            async with asyncio.timeout(self._waits.connect_s + self._waits.first_byte_s) as limit:
                response = await self._transport.handle_async_request(out)
                try:
                    await self._take(call, response, send, limit)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            if call.sends:
                raise CutError("the client stopped reading") from error
            raise _FailedError(0, f"{provider.name} was silent for too long") from error
        except httpx2.LocalProtocolError as error:  # its text would hold the key
            setting = setting_of(provider)
            raise _FailedError(401, f"{setting} holds what no HTTP header may hold") from error
        except httpx2.TransportError as error:
            why = f"{type(error).__name__}: {error}"
            raise _FailedError(0, f"{provider.name} cannot be reached or hung up ({why})") from error

    async def _outgoing(self, call: ModelCall) -> httpx2.Request:
        name = call.provider.name
        incoming = AgentRequest(call.route.path, call.query, call.request, call.headers)
        try:
            if name not in self._upstreams:
                self._upstreams[name] = upstream_of(call.provider)
            outgoing = await self._upstreams[name].outgoing(incoming)
            return routes.provider_request(outgoing, self._waits, call.trace)
        except CredentialsError as error:
            raise _FailedError(401, str(error)) from error
        except ConnectionError as error:
            raise _FailedError(0, str(error)) from error
        except (httpx2.InvalidURL, ValueError) as error:
            raise _FailedError(0, f"the settings have no proper address for {name}") from error

    async def _take(
        self, call: ModelCall, response: httpx2.Response, send: Send, limit: asyncio.Timeout
    ) -> None:
        status, name = response.status_code, call.provider.name
        call.accepted, call.refused = status < 300, status >= 300
        if status in _BAD_KEY:  # the provider's own words may hold a part of the key
            raise _FailedError(status, "")
        if 300 <= status < 400:
            raise _FailedError(status, f"{name} answers with a redirect: is its URL in the settings right?")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        framing = self._upstreams[name].framing(kind)
        streamed = call.accepted and (kind == protocol.EVENT_STREAM or framing is not None)
        headers = keep_response_headers(response.headers.raw, streamed=streamed)
        if streamed and framing:
            headers = [
                (b"content-type", protocol.EVENT_STREAM.encode()),
                *(h for h in headers if h[0] != b"content-type"),
            ]
        if call.request.changed:
            headers.append((b"x-cardinal-changed", call.request.changed.encode()))
        call.started = True
        await send({"type": "http.response.start", "status": status, "headers": headers})
        passing = _Passing(call, response, send, limit, self._waits.idle_s)
        if streamed:
            self._judge_stream(call, cut=await passing.stream(self._say, framing))
        else:
            self._judge_answer(call, status, await passing.whole())
        await send({"type": "http.response.body", "body": b""})

    def _judge_stream(self, call: ModelCall, *, cut: bool) -> None:
        if call.meter is None or cut:
            self.report_usage(call)
            return
        reading, name = call.meter.reading, call.provider.name
        if reading.failure:
            self._fail(call, 200, f"{name} broke off its answer: {reading.failure}")
        elif not reading.ended:
            self._fail(call, 200, f"{name} ended its answer in the middle")
        else:
            self._succeed(call)

    def _judge_answer(self, call: ModelCall, status: int, body: bytes) -> None:
        given = parse_event(body)
        if status >= 500 or status in (_RETRIED, 429):
            self._fail(call, status, f"{call.provider.name} answered {status}: {_error_text(given)}")
        elif status >= 300 and call.route.wire.refuses_key(given):
            self._fail(call, 401, "")
        elif status >= 300 or call.meter is None:
            self.report_usage(call)
        else:
            call.route.wire.read_whole(call.meter.reading, given)
            self._succeed(call)

    def _succeed(self, call: ModelCall) -> None:
        self._streaks.count_success(call.provider.name)
        self.report_usage(call)

    def _fail(self, call: ModelCall, status: int, detail: str) -> str:
        """Count a failure, unless nobody waits for the answer; return it in words."""
        self.report_usage(call)
        detail = one_line(redact(detail, [call.provider.key]), 300)
        if call.abandoned:
            return detail
        failure = self._streaks.count_failure(call.provider.name, status, detail, setting_of(call.provider))
        self._say(failure)
        return failure.detail


@dataclass(frozen=True, slots=True)
class _Passing:
    """Transfer of one answer's bytes; each piece extends the timeout."""

    call: ModelCall
    response: httpx2.Response
    send: Send
    limit: asyncio.Timeout
    idle_s: float

    async def whole(self) -> bytes:
        """Forward an unstreamed answer and return its beginning."""
        cap_bytes = _WHOLE_BYTES if self.call.accepted else _ERROR_BYTES
        kept = bytearray()
        async for chunk in self._chunks():
            if len(kept) < cap_bytes:
                kept += chunk
            await self._pass(chunk)
        return bytes(kept)

    async def stream(
        self, say: Callable[[GatewayMessage], None], framing: Callable[[bytes], bytes] | None
    ) -> bool:
        """Forward a stream; True when it exceeded the budget and was cut, between two events.

        Growth is reported now and then; pings of a provider that hangs are no sign of life.
        """
        events, meter, wire = protocol.SseParser(), self.call.meter, self.call.route.wire
        clock = asyncio.get_running_loop().time
        reported_at, reported_bytes = clock(), 0
        async for piece in self._chunks():
            try:
                chunk = framing(piece) if framing else piece
            except ValueError as error:
                raise _FailedError(0, f"{self.call.provider.name}: {error}") from error
            if not chunk:
                continue
            if meter is not None:
                if clock() - reported_at >= _ALIVE_S and meter.reading.text_bytes > reported_bytes:
                    reported_at, reported_bytes = clock(), meter.reading.text_bytes
                    if not self.call.abandoned:
                        say(Answering())
                for payload in events.feed(chunk):
                    wire.read_event(meter.reading, payload)
                if events.border and not meter.grow():
                    said = "the budget is used up: this answer was cut where it ran over"
                    await self._pass(chunk[: events.border] + wire.cut(said))
                    say(CallRefusal("budget", said))
                    return True
            await self._pass(chunk)
        return False

    async def _chunks(self) -> AsyncIterator[bytes]:
        stream = self.response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        clock = asyncio.get_running_loop().time
        self.limit.reschedule(clock() + self.idle_s)
        async for chunk in stream:
            self.limit.reschedule(clock() + self.idle_s)
            yield chunk

    async def _pass(self, chunk: bytes) -> None:
        self.call.sends = True
        await self.send({"type": "http.response.body", "body": chunk, "more_body": True})
        self.call.sends = False


def _error_text(given: dict[str, object]) -> str:
    error = given.get("error") or given.get("message")
    message = error.get("message") if isinstance(error, dict) else error
    return one_line(str(message or "no message"), 200)
