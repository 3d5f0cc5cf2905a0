"""The webhook: verify a delivery, have it stored, answer 202; nothing else in the request.

GitHub gives up after 10 s and never delivers again by itself, so a 202 promises that the delivery is on disk.
Source: docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks.
"""

import asyncio
import json
import logging
import re
import threading
from collections.abc import Mapping
from concurrent.futures import wait
from datetime import datetime
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Request, Response, request
from flask.typing import ResponseReturnValue
from gidgethub import ValidationFailure
from gidgethub.sansio import validate_event
from werkzeug.exceptions import RequestEntityTooLarge

from bot.github.app_manifest import WEBHOOK_PATH
from bot.system.clock import Clock
from bot.system.secret import Secret
from bot.web.group_commit import GroupCommit, Incoming
from ledger.ids import DeliveryId
from ledger.queue.inbox import Delivery
from runner.gateway.control.asgi import Scope, Send

log = logging.getLogger(__name__)

# GitHub sends no larger one. Source: docs.github.com/webhooks/webhook-events-and-payloads.
MAX_BYTES = 25 * 1024 * 1024
TOO_LARGE = "a delivery may have at most 25 MB"
SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
EVENT = re.compile(r"[a-z0-9_]{1,64}")
DELIVERY = re.compile(r"[A-Za-z0-9-]{1,64}")

# Where a delivery names what it is about; the first one counts.
ABOUT = (
    ("projects_v2_item", "content_node_id"),
    ("issue", "node_id"),
    ("sub_issue", "node_id"),
    ("blocked_issue", "node_id"),
    ("pull_request", "node_id"),
    ("check_run", "head_sha"),
    ("check_suite", "head_sha"),
    ("workflow_run", "head_sha"),
)

STORED_S = 30.0  # longer than a writer waits for its turn; GitHub itself hangs up after 10 s


class RefusedDeliveryError(Exception):
    """A request is no delivery; the answer is `status` and `because`."""

    def __init__(self, status: int, because: str) -> None:
        self.status, self.because = status, because
        super().__init__(because)

    @property
    def answer(self) -> tuple[int, bytes]:
        """The status and the JSON of the answer."""
        return self.status, json.dumps({"error": self.because}).encode()


class Door:
    """Takes deliveries. `serve` needs no thread and no Flask: a busy board sends little else."""

    def __init__(self, commits: GroupCommit, secret: Secret, clock: Clock) -> None:
        self._commits, self._secret, self._clock = commits, secret, clock
        self._turn = threading.Lock()
        self._decided_about: list[asyncio.Future[None]] = []  # whom the loop was woken for

    def take(self, headers: Mapping[str, str], body: bytes) -> Incoming:
        """Have a delivery stored in the next group; raises RefusedDeliveryError, which is logged."""
        try:
            incoming = read_delivery(headers, body, self._secret, now=self._clock())
        except RefusedDeliveryError as refusal:
            log.warning("delivery refused status=%s reason=%s", refusal.status, refusal.because)
            raise
        self._commits.add(incoming)
        return incoming

    async def serve(self, scope: Scope, body: bytes, send: Send) -> None:
        """Answer a request whose body is small, once the delivery is on disk."""
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:
            name, text = raw.decode("latin-1"), value.decode("latin-1")
            headers[name] = f"{headers[name]},{text}" if name in headers else text
        try:
            incoming = self.take(headers, body)
        except RefusedDeliveryError as refusal:
            status, content = refusal.answer
        else:
            await self._decided(incoming)
            status, content = _answer(incoming)
        described = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": status, "headers": described})
        await send({"type": "http.response.body", "body": content})

    async def _decided(self, incoming: Incoming) -> None:
        """Wait until the delivery is stored or refused, for STORED_S at most."""
        loop = asyncio.get_running_loop()
        waits: asyncio.Future[None] = loop.create_future()
        limit = loop.call_later(STORED_S, _finish, waits)

        def note(_stored: object) -> None:
            with self._turn:
                self._decided_about.append(waits)
                is_first = len(self._decided_about) == 1
            if is_first and not loop.is_closed():  # the loop is woken once for a group
                loop.call_soon_threadsafe(self._release)

        incoming.stored.add_done_callback(note)
        await waits
        limit.cancel()

    def _release(self) -> None:
        with self._turn:
            those, self._decided_about = self._decided_about, []
        for waits in those:
            _finish(waits)

    def blueprint(self) -> Blueprint:
        """Return `POST /webhooks/github` for Flask: large deliveries wait in a thread."""
        blueprint = Blueprint("webhook", __name__)

        @blueprint.post(WEBHOOK_PATH)
        def receive() -> ResponseReturnValue:
            headers = {name.lower(): value for name, value in request.headers.items()}
            try:
                incoming = self.take(headers, _body(request))
            except RefusedDeliveryError as refusal:
                status, content = refusal.answer
            else:
                wait([incoming.stored], STORED_S)
                status, content = _answer(incoming)
            return Response(content, status, content_type="application/json")

        return blueprint


def _finish(waits: "asyncio.Future[None]") -> None:
    if not waits.done():
        waits.set_result(None)


def _answer(incoming: Incoming) -> tuple[int, bytes]:
    """Return 202 for a delivery that is on disk, and 503 for any other."""
    stored = incoming.stored
    error = stored.exception(0) if stored.done() else "the database does not answer"
    if error is not None:
        return HTTPStatus.SERVICE_UNAVAILABLE, json.dumps({"error": str(error)}).encode()
    described = {"delivery": incoming.delivery.delivery_id, "new": stored.result(0)}
    return HTTPStatus.ACCEPTED, json.dumps(described).encode()


def read_delivery(headers: Mapping[str, str], body: bytes, secret: Secret, *, now: datetime) -> Incoming:
    """Return the signed delivery that a request carries; the names of `headers` are in lower case.

    Raises RefusedDeliveryError: 401 for unsigned, 400 for unreadable ones, in this order: an unsigned body is
    not parsed.
    """
    data = _verified(headers, body, secret)
    event, delivery_id = headers["x-github-event"], headers["x-github-delivery"]
    if not isinstance(data, dict):
        raise RefusedDeliveryError(400, "the body is not a JSON object")
    if not EVENT.fullmatch(event) or not DELIVERY.fullmatch(delivery_id):
        raise RefusedDeliveryError(400, "X-GitHub-Event or X-GitHub-Delivery is not one of GitHub's")
    action = data.get("action")
    sender = data.get("sender")
    delivery = Delivery(
        delivery_id=DeliveryId(delivery_id),
        event=event,
        action=action[:64] if isinstance(action, str) else "",
        payload=body,
        received_at=now,
    )
    by_app = isinstance(sender, dict) and sender.get("type") == "Bot"
    return Incoming(delivery, by_app, headers, _about(data))


def _about(data: Mapping[str, Any]) -> str:
    """Return the id of the issue, pull request or commit; empty where there is none."""
    for name, field in ABOUT:
        part = data.get(name)
        if isinstance(part, dict) and isinstance(part.get(field), str):
            return str(part[field])
    commit = data.get("sha")  # of a status
    return commit if isinstance(commit, str) else ""


def _body(incoming: Request) -> bytes:
    """Return the body; raises RefusedDeliveryError, 413 for a too large one."""
    incoming.max_content_length = MAX_BYTES
    if (incoming.content_length or 0) > MAX_BYTES:
        raise RefusedDeliveryError(413, TOO_LARGE)
    try:
        body = incoming.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise RefusedDeliveryError(413, TOO_LARGE) from error
    if incoming.content_length is None and len(body) >= MAX_BYTES:  # in chunks: werkzeug 3.1 just stops there
        raise RefusedDeliveryError(413, TOO_LARGE)
    return body


def _verified(given: Mapping[str, str], body: bytes, secret: Secret) -> Any:
    """Return the JSON of the signed body."""
    # gidgethub would take a SHA-1, and hmac.compare_digest raises TypeError for non-ASCII text.
    signature = given.get("x-hub-signature-256", "")
    if not secret or not SIGNATURE.fullmatch(signature):
        raise RefusedDeliveryError(401, "X-Hub-Signature-256 is missing or not a SHA-256 signature")
    try:
        validate_event(body, signature=signature, secret=secret.reveal())
    except ValidationFailure as error:
        raise RefusedDeliveryError(
            401, "the signature does not match the body and the webhook secret"
        ) from error
    if "x-github-event" not in given or "x-github-delivery" not in given:
        raise RefusedDeliveryError(400, "X-GitHub-Event or X-GitHub-Delivery is missing")
    if given.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        step = "set the webhook's content type to application/json in the App's settings"
        raise RefusedDeliveryError(400, step)
    try:
        return json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise RefusedDeliveryError(400, "the body is not JSON in UTF-8") from error
