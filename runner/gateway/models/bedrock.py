"""Claude on Amazon Bedrock: the Messages protocol at another address, signed, its streams in Amazon's frames.

Source: docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html.
"""

import asyncio
import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote

from runner.gateway.models import protocol
from runner.gateway.models.protocol import parse_event
from runner.gateway.models.upstream import (
    AgentRequest,
    CredentialsError,
    Outgoing,
    Upstream,
    keep_known_betas,
)
from runner.run.provider import BedrockProvider

VERSION = "bedrock-2023-05-31"
FRAMES = "application/vnd.amazon.eventstream"
_LOOK_S = 15.0  # for the machine's own credentials
# Others are answered by "invalid beta flag": Claude Code names more than are known there. Source: the lists
# that gateways keep, as of November 2026.
BETAS = frozenset({
    "compact-2026-01-12", "computer-use-2025-01-24", "computer-use-2025-11-24", "context-1m-2025-08-07",
    "context-management-2025-06-27", "dangerous-tool-use-2026-09-03", "effort-2025-11-24",
    "fine-grained-tool-streaming-2025-05-14", "mid-conversation-output-config-2026-07-01",
    "mid-conversation-tool-changes-2026-07-01", "thinking-binding-controls-2026-08-01",
    "thinking-display-updates-2026-08-18", "tool-search-tool-2025-10-19",
})  # fmt: skip
_ERRORS = {"throttlingException": "rate_limit_error", "validationException": "invalid_request_error"}


class Bedrock(Upstream):
    """Bedrock with an access key, or the machine's own credentials where there is none."""

    def __init__(self, provider: BedrockProvider) -> None:
        self._provider = provider
        self._credentials: Any = None

    async def outgoing(self, incoming: AgentRequest) -> Outgoing:
        """Return the signed request for `invoke` or `invoke-with-response-stream`."""
        request = incoming.request
        path, body = translate(self._provider, {**request.given, **request.added}, incoming.betas)
        url = root(self._provider) + path
        try:
            async with asyncio.timeout(_LOOK_S):
                payer = await asyncio.to_thread(self._current_credentials)
        except TimeoutError as error:
            raise ConnectionError("this machine's credentials of AWS do not come") from error
        return Outgoing(url, body, sign_request(url, body, payer, self._provider.region))

    def framing(self, kind: str) -> Callable[[bytes], bytes] | None:
        """Return the converter of Amazon's frames to server-sent events."""
        return Frames().feed if kind == FRAMES else None

    def _current_credentials(self) -> Any:
        """Return credentials as they are now; the library renews a role's. Raises CredentialsError."""
        from botocore.credentials import Credentials
        from botocore.exceptions import BotoCoreError
        from botocore.session import Session

        try:
            if self._credentials is None and self._provider.key:
                self._credentials = Credentials(self._provider.access_key, self._provider.key)
            elif self._credentials is None:
                self._credentials = Session().get_credentials()
            if self._credentials is None:
                raise CredentialsError("there is no access key, and this machine has no credentials of AWS")
            return self._credentials.get_frozen_credentials()
        except BotoCoreError as error:
            raise CredentialsError(f"this machine's credentials of AWS: {type(error).__name__}") from error


class Frames:
    """Amazon's event stream, read in chunks of any size."""

    def __init__(self) -> None:
        from botocore.eventstream import EventStreamBuffer

        self._buffer = EventStreamBuffer()

    def feed(self, chunk: bytes) -> bytes:
        """Return the server-sent events that end in `chunk`. Raises ValueError for other bytes."""
        from botocore.eventstream import ParserError

        try:
            self._buffer.add_data(chunk)
            return b"".join(_event(message.headers, message.payload) for message in self._buffer)
        except ParserError as error:
            raise ValueError(f"its frames cannot be read: {type(error).__name__}") from error


def _event(headers: Mapping[str, Any], payload: bytes) -> bytes:
    given = parse_event(payload)
    kind = str(headers.get(":exception-type") or headers.get(":error-code") or "")
    if headers.get(":message-type") != "event":
        said = given.get("message") or headers.get(":error-message") or kind or "no message"
        error = {"type": _ERRORS.get(kind, "api_error"), "message": str(said)}
        return protocol.event_bytes(json.dumps({"type": "error", "error": error}).encode(), "error")
    data = base64.b64decode(str(given.get("bytes", ""))).replace(b"\r", b" ").replace(b"\n", b" ")
    return protocol.event_bytes(data, str(parse_event(data).get("type", ""))) if data else b""


def translate(provider: BedrockProvider, given: Mapping[str, Any], betas: Iterable[str]) -> tuple[str, bytes]:
    """Return path and body at Bedrock for a request of the Messages protocol. Pure."""
    body = {"anthropic_version": VERSION, **given}
    if known := keep_known_betas(betas, BETAS):
        body["anthropic_beta"] = known
    model = quote(model_id(provider, str(body.pop("model"))), safe="")
    verb = "invoke-with-response-stream" if body.pop("stream", False) else "invoke"
    return f"/model/{model}/{verb}", json.dumps(body).encode()


def model_id(provider: BedrockProvider, model: str) -> str:
    """Return Bedrock's id of a model: as it stands where it is one, else that of the inference profile."""
    whole = "anthropic." in model or model.startswith("arn:")
    return model if whole else f"{provider.profile}.anthropic.{model}"


def root(provider: BedrockProvider) -> str:
    return provider.url.rstrip("/") or f"https://bedrock-runtime.{provider.region}.amazonaws.com"


def sign_request(url: str, body: bytes, credentials: Any, region: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of a request, with its signature (AWS Signature Version 4)."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest("POST", url, {"Content-Type": "application/json"}, body)
    SigV4Auth(credentials, "bedrock", region).add_auth(request)
    return tuple((name.lower().encode(), value.encode()) for name, value in request.headers.items())
