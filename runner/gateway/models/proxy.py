"""Proxy of an agent's model calls: checked, reserved, forwarded, counted."""

import asyncio
from collections.abc import Callable, Iterable, Mapping

import httpx2

from runner.errors import RunnerError
from runner.gateway.control import asgi
from runner.gateway.control.messages import CallRefusal, Drained, Warned
from runner.gateway.control.terms import Terms
from runner.gateway.control.uplink import Order, Uplink
from runner.gateway.models.forward import CutError, Forward, ModelCall
from runner.gateway.models.limits import FailureStreaks, RateLimiter, RunBudget
from runner.gateway.models.meter import Meter, ObservedUsage
from runner.gateway.models.prices import UnknownPriceError, price_of
from runner.gateway.models.protocol import ModelRequest, UnreadableCallError, Wire, parse_call
from runner.gateway.models.protocol import parse_request as read_call
from runner.gateway.models.request_contents import UnknownCostError, Weight, estimate_tokens
from runner.gateway.models.routes import (
    LISTS,
    Route,
    missing_extra,
    models_listed,
    payer_of,
    route_of,
    wire_of,
)
from runner.gateway.network.addresses import NetworkAccess
from runner.run.provider import BedrockProvider, Provider, how_to_pay

_RATE_REPORT_S = 5.0
_MAX_ABANDONED = 16
_STATUS = {"rate": 429, "closed": 403, "key": 403, "size": 413}  # else 400: nobody tries that again
_FINAL = ((b"x-should-retry", b"false"),)  # Anthropic's and OpenAI's own clients obey it
_LATER = ((b"retry-after", b"5"),)


class CallRefusedError(RunnerError):
    """The gateway does not make this call; `kind` and `needs_usd` as in `CallRefusal`."""

    def __init__(self, kind: str, detail: str, needs_usd: float = 0.0) -> None:
        self.kind, self.detail, self.needs_usd = kind, detail, needs_usd
        super().__init__(detail)


class Models:
    """Serves the paths below /anthropic, /openai, /compatible and /gemini."""

    def __init__(
        self,
        terms: Terms,
        providers: Mapping[str, Provider],
        uplink: Uplink,
        transport: httpx2.AsyncHTTPTransport,
        clock: Callable[[], float],
        *,
        access: NetworkAccess,
    ) -> None:
        self._reach = access
        self._terms, self._providers, self._uplink, self._clock = terms, providers, uplink, clock
        self._budget, self._experience = RunBudget(), ObservedUsage()
        self._streaks = FailureStreaks(terms.failures)
        self._pace = RateLimiter(terms.calls_per_minute, clock)
        self._forward = Forward(terms.waits, transport, uplink.say, self._streaks)
        self._room = asgi.BodyRoom(terms.request_bytes, all_bytes=2 * terms.request_bytes)
        self._rate_reported_s = -_RATE_REPORT_S
        self._estimates = False  # that dollars are one was said
        self._live: set[asyncio.Task[None]] = set()
        self._abandoned: dict[asyncio.Task[None], None] = {}  # the oldest first
        self._turned = asyncio.Event()

    def handle_order(self, order: Order) -> None:
        """Carry out an order of the supervisor about turns, money and the network."""
        if order["type"] == "shut":
            self._shut()
            return
        if order["type"] == "narrow":
            self._reach.narrow(order["network"], tuple(order["hosts"]))
            return
        if order["type"] == "open":
            self._streaks.reset()
            self._budget.left_tokens = order["tokens_left"]
        self._budget.grant(float(order["usd_left"]))
        self._wake()

    async def __call__(self, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        path, method = scope["path"], scope["method"]
        route = route_of(path, scope["query_string"]) if method == "POST" else None
        if method == "HEAD":  # Claude Code looks in this way whether there is anybody
            await asgi.respond(send, 200, b"")
        elif method == "GET" and path in LISTS:
            await asgi.respond(send, 200, models_listed(LISTS[path], self._terms.models))
        elif route is None:
            wire = wire_of(path)
            await asgi.respond(
                send, 404, wire.error(404, "route", f"the gateway has no {method} {path[:200]}")
            )
        else:
            await self._call(route, scope, receive, send)

    async def _call(self, route: Route, scope: asgi.Scope, receive: asgi.Receive, send: asgi.Send) -> None:
        held_bytes = 0
        try:
            provider = self._admit(route.wire)
            body = await self._room.read(receive)
            held_bytes = len(body)
            if route.free and isinstance(provider, BedrockProvider):  # clients estimate then
                await asgi.respond(send, 404, route.wire.error(404, "route", "Bedrock counts no tokens"))
                return
            request = self._read_request(route, body)
            # Listed contents alone, also where they cost nothing: a file's address is opened to count it.
            parts = tuple(estimate_tokens(request.given, route.wire.weigh, request.model))
            meter = None if route.free else self._meter(route.wire, provider, request, parts)
            if meter is not None:
                await self._reserve(meter, receive)
                request = meter.request
            call = ModelCall(
                route=route,
                provider=provider,
                request=request,
                meter=meter,
                headers=scope["headers"],
                query=scope["query_string"] if route.query is None else route.query,
            )
            await self._follow(call, receive, send)
        except CallRefusedError as refused:
            await self._refuse(route.wire, refused, send)
        except (asgi.OversizedBodyError, UnreadableCallError, UnknownCostError) as error:
            kind = "size" if isinstance(error, asgi.OversizedBodyError) else "request"
            await self._refuse(route.wire, CallRefusedError(kind, str(error)), send)
        except RecursionError:
            deep = CallRefusedError(
                "request", "the gateway cannot read this request: it is nested too deeply"
            )
            await self._refuse(route.wire, deep, send)
        except asgi.ClientGoneError:
            return
        finally:
            self._room.free(held_bytes)

    def _admit(self, wire: Wire) -> Provider:
        """Return the provider, if any call may be made at all."""
        name = wire.provider
        if not self._pace.allows():
            most = self._terms.calls_per_minute
            raise CallRefusedError("rate", f"more than {most} calls of models in a minute: wait a moment")
        if not self._uplink.is_open:
            raise CallRefusedError("closed", "no turn is open: models answer only a working agent")
        provider = payer_of(name, self._providers)
        if provider is None:
            raise CallRefusedError(
                "key", f"there is no key for {name}: {how_to_pay(name)}, restart Cardinal, then retry"
            )
        if self._streaks.over(provider.name):
            raise CallRefusedError("closed", self._streaks.over(provider.name))
        if missing := missing_extra(provider):
            raise CallRefusedError("key", missing)
        return provider

    def _read_request(self, route: Route, body: bytes) -> ModelRequest:
        given = parse_call(body)
        request = read_call(route.wire, given, body, model=route.model, streamed=route.streamed)
        if request.model not in self._terms.models:
            listed = ", ".join(self._terms.models) or "none"
            raise CallRefusedError(
                "model", f"the policy does not allow the model {request.model!r}, only: {listed}"
            )
        network = self._reach.network
        reached = "" if network == "full" else route.wire.network_tool(given)
        if reached:
            said = f"`network: {network}` does not let the provider fetch for the agent: {reached}"
            more = f"`tools: {{network: full}}` of the {self._reach.by} would"
            raise CallRefusedError("network", f"{said}. {more}")
        return request

    def _meter(
        self, wire: Wire, provider: Provider, request: ModelRequest, parts: Iterable[tuple[bytes, Weight]]
    ) -> Meter:
        try:
            price = price_of(provider, request.model)
        except UnknownPriceError as error:
            raise CallRefusedError("model", str(error)) from error
        if provider.name == "subscription" and not self._estimates:
            self._estimates = True
            self._uplink.say(Warned("a subscription pays: dollars are an estimate, by the price list"))
        return Meter(request, wire, price, self._budget, self._experience, parts=parts)

    async def _reserve(self, meter: Meter, receive: asgi.Receive) -> None:
        """Reserve a call's dollars. A call that fits alone waits for those under way."""
        until_s = self._clock() + self._terms.waits.first_byte_s
        while not meter.reserve():
            if not self._uplink.is_open:
                raise CallRefusedError("closed", "the turn is over")
            if self._budget.out_of_tokens:
                raise CallRefusedError("tokens", "the run's limit of tokens is used up")
            if not meter.may_fit_later():
                left = max(0.0, self._budget.left_usd)
                said = f"the budget is used up: this call does not fit in what is left, ${left:.2f}"
                raise CallRefusedError("budget", said, meter.needs_usd)
            if self._clock() >= until_s:
                raise CallRefusedError("rate", "other calls hold what is left of the budget: wait a moment")
            await self._wait_for_change(receive, until_s - self._clock())

    async def _wait_for_change(self, receive: asgi.Receive, limit_s: float) -> None:
        """Return once a call ended or an order came. Raises ClientGoneError when its client is gone."""
        turn = asyncio.ensure_future(self._turned.wait())
        gone = asyncio.ensure_future(asgi.wait_for_disconnect(receive))
        try:
            await asyncio.wait({turn, gone}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise asgi.ClientGoneError("the client is gone")
        finally:
            turn.cancel()
            gone.cancel()
            await asyncio.wait({turn, gone})

    def _wake(self) -> None:
        """Let waiting calls try again."""
        self._turned.set()
        self._turned = asyncio.Event()

    async def _follow(self, call: ModelCall, receive: asgi.Receive, send: asgi.Send) -> None:
        """Forward the call until it ends or the turn is over; read on when its client is gone."""
        work = asyncio.ensure_future(self._forward.run(call, send))
        gone = asyncio.ensure_future(asgi.wait_for_disconnect(receive))
        self._live.add(work)
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            left = gone.done() and not work.done()
            if left and call.meter is not None and call.worked_s is not None:
                await self._read_on(call, work)
        finally:
            gone.cancel()
            work.cancel()
            await asyncio.wait({work, gone})
            self._live.discard(work)
            self._forward.report_usage(call)
            self._wake()
            self._say_drained()
        if not work.cancelled():
            work.result()
        elif not left:
            if call.started:
                raise CutError("the turn is over")
            raise CallRefusedError("closed", "the turn is over")

    async def _read_on(self, call: ModelCall, work: asyncio.Task[None]) -> None:
        """Read an abandoned answer, of which the server drops the bytes, up to its end or to a limit."""
        call.abandoned = True
        if len(self._abandoned) >= _MAX_ABANDONED:
            oldest = next(iter(self._abandoned))
            del self._abandoned[oldest]
            oldest.cancel()
        self._abandoned[work] = None
        await asyncio.wait({work}, timeout=self._terms.waits.abandoned_s)
        self._abandoned.pop(work, None)

    async def _refuse(self, wire: Wire, refused: CallRefusedError, send: asgi.Send) -> None:
        now_s = self._clock()
        if refused.kind != "rate" or now_s - self._rate_reported_s >= _RATE_REPORT_S:
            self._rate_reported_s = now_s if refused.kind == "rate" else self._rate_reported_s
            self._uplink.say(CallRefusal(refused.kind, refused.detail, refused.needs_usd))
        status = _STATUS.get(refused.kind, 400)
        body = wire.error(status, refused.kind, refused.detail)
        await asgi.respond(send, status, body, _LATER if refused.kind == "rate" else _FINAL)

    def _shut(self) -> None:
        for work in self._live:
            work.cancel()
        self._wake()
        self._say_drained()

    def _say_drained(self) -> None:
        if not self._live and not self._uplink.is_open:
            self._uplink.say(Drained())
