"""Trial of a provider's key: one call for one token, as the gateway makes it, before anything is started."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import httpx2

from runner.gateway.control.terms import Waits
from runner.gateway.models.protocol import ModelRequest, parse_event
from runner.gateway.models.routes import open_transport, provider_request, route_of, upstream_of
from runner.gateway.models.upstream import AgentRequest
from runner.run.provider import Provider, setting_of
from runner.text.plain import one_line

TRIAL_S = 20.0
_REFUSED = {401: "it does not know the key", 403: "the key may not use the model"}
_HEADERS = ((b"content-type", b"application/json"), (b"anthropic-version", b"2023-06-01"))
_BODY_BYTES = 64 * 1024
_CODE = re.compile(
    r"[a-zA-Z_]{1,40}"
)  # what providers call an error; their sentences may hold a part of the key
_CHARS = 200


@dataclass(frozen=True, slots=True)
class _Way:
    """The call of one protocol: its route, the field that limits the answer, and the least limit."""

    route: str
    limit: str
    tokens: int = 1
    words: str = "messages"


_WAYS: Mapping[str, _Way] = {
    "anthropic": _Way("/anthropic/v1/messages", "max_tokens"),
    # 16 is the least. Source: developers.openai.com/api/reference, responses, max_output_tokens
    "openai": _Way("/openai/v1/responses", "max_output_tokens", 16, "input"),
    "compatible": _Way("/compatible/v1/chat/completions", "max_tokens"),
    "gemini": _Way("/gemini/v1beta/models/{model}:generateContent", "maxOutputTokens", words="contents"),
}


@dataclass(frozen=True, slots=True)
class KeyTrial:
    """The answer to the call. `status` is 0 without one; `problem` says what is wrong, or nothing."""

    status: int
    problem: str

    @property
    def is_refused(self) -> bool:
        """Whether the provider refuses the key itself: no other call would be answered either."""
        return self.status in _REFUSED


def is_key(provider: Provider) -> bool:
    """Tell whether a key pays. A subscription's token is for Claude Code alone; clouds sign each request."""
    return provider.name in _WAYS


def try_key(provider: Provider, model: str, *, limit_s: float = TRIAL_S) -> KeyTrial:
    """Ask the provider for one token of the model, and return what became of it within `limit_s` seconds."""
    return asyncio.run(_try(provider, model, limit_s))


async def _try(provider: Provider, model: str, limit_s: float) -> KeyTrial:
    variable, name = setting_of(provider), provider.name
    unknown = f"{name} could not be asked about the key in {variable}"
    try:
        async with asyncio.timeout(limit_s):
            status, code = await _ask(provider, model)
    except TimeoutError:
        return KeyTrial(0, f"{unknown}: no answer within {limit_s:g} s")
    except (httpx2.LocalProtocolError, UnicodeEncodeError):  # their texts would hold the key
        return KeyTrial(401, f"the key in {variable} holds what no HTTP header may hold: paste it again")
    except (httpx2.TransportError, OSError) as error:
        return KeyTrial(0, f"{unknown} ({type(error).__name__}: {one_line(str(error), _CHARS)})")
    except (httpx2.InvalidURL, ValueError):
        return KeyTrial(0, f"{unknown}: the settings have no proper address for it")
    answered = f"{name} answers {status}{f' {code}' if code else ''}"
    if status in _REFUSED:
        return KeyTrial(status, f"the key in {variable} is refused: {answered}, {_REFUSED[status]}")
    return KeyTrial(
        status, "" if status == 200 else f"{answered} to a call of {model} with the key in {variable}"
    )


async def _ask(provider: Provider, model: str) -> tuple[int, str]:
    """Return the status of the answer, and what the provider calls the error."""
    way = _WAYS[provider.name]
    route = route_of(way.route.format(model=model), b"")
    if route is None:
        raise ValueError(model)
    said: dict[str, object] = {"content": "Hi"}
    given: dict[str, object] = {"model": model, way.limit: way.tokens}
    if route.wire.holder:
        said, given = {"parts": [{"text": "Hi"}]}, {route.wire.holder: {way.limit: way.tokens}}
    given[way.words] = [{"role": "user", **said}]
    request = ModelRequest(model, False, 1, given, json.dumps(given).encode(), (way.limit,))
    incoming = AgentRequest(route.path, b"", request, _HEADERS)
    outgoing = await upstream_of(provider).outgoing(incoming)
    async with open_transport() as transport:
        response = await transport.handle_async_request(provider_request(outgoing, Waits(), _pass_over))
        try:
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > _BODY_BYTES:
                    break
        finally:
            await response.aclose()
    answer = parse_event(bytes(body))
    status = 401 if route.wire.refuses_key(answer) else response.status_code
    code = _code_in(answer)
    shows_key = code in provider.key or (provider.key and provider.key in code)
    return status, "" if shows_key else code


def _code_in(answer: Mapping[str, object]) -> str:
    """Return the error's `code`, or its `type` or `status`. Source: the providers' pages on errors."""
    error = answer.get("error")
    known = [error.get(name) for name in ("code", "type", "status")] if isinstance(error, Mapping) else []
    return next((text for text in known if isinstance(text, str) and _CODE.fullmatch(text)), "")


async def _pass_over(step: str, facts: object) -> None:
    """Note nothing of the connection."""
