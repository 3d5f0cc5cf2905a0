"""The server over streamable HTTP: whole requests and answers, nothing kept between two of them.

The name of a session is the client's to keep: it tells apart the same numbers of two sessions of one token.
Source: modelcontextprotocol.io/specification/2025-11-25/basic/transports.
"""

import json
import secrets
from itertools import count

import httpx2
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from bot.web.api.client import ApiClient
from bot.web.api.sending import ApiProblemError
from bot.web.mcp.server import make_server
from bot.web.wsgi import COUNTED
from runner.gateway.control.asgi import App, Message, Receive, Scope, Send, replay_strict_json

MAX_BYTES = 256 * 1024
SESSION = b"mcp-session-id"
MAX_SESSION = 200  # characters


async def serve_mcp(api: App, public_url: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one request of a client, with the rights of its token at the API."""
    headers = dict(scope["headers"])
    authorization = {"Authorization": headers[b"authorization"].decode("latin-1")}
    transport = httpx2.ASGITransport(_first_two_as_one(api))
    async with httpx2.AsyncClient(transport=transport, base_url=public_url, headers=authorization) as http:
        client = ApiClient(http)
        try:
            await client.call("whoami", {})
        except ApiProblemError as error:
            await _refuse(send, error)
            return
        again = await replay_strict_json(receive, send, MAX_BYTES)
        if again is None:
            return
        sent = headers.get(SESSION, b"").decode("latin-1")[:MAX_SESSION]
        session = sent or secrets.token_hex(16)
        server = make_server(client, session)
        manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_BYTES
        )
        async with manager.run():
            await manager.handle_request(scope, again, send if sent else _naming(send, session))


def _first_two_as_one(api: App) -> App:
    """Count the request that checks the token and the first call behind it as one."""
    numbers = count(1)

    async def counting(scope: Scope, receive: Receive, send: Send) -> None:
        await api({**scope, COUNTED: next(numbers) == 2}, receive, send)

    return counting


def _naming(send: Send, session: str) -> Send:
    async def named(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], (SESSION, session.encode())]
        await send(message)

    return named


async def _refuse(send: Send, error: ApiProblemError) -> None:
    body = json.dumps({"code": error.code, "detail": error.because, "remedy": error.remedy}).encode()
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    if error.status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="cardinal"'))
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
