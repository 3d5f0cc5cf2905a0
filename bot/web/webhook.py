"""The webhook: verify a delivery, have it stored, answer 202; nothing else in the request.

GitHub gives up after 10 s and never delivers again by itself, so a 202 promises that the delivery is on disk.
Source: docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Any

from gidgethub import BadRequest, ValidationFailure
from gidgethub.sansio import Event
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from bot.system.clock import Clock
from bot.system.secret import Secret
from bot.web.group_commit import GroupCommit, Incoming, NotStoredError
from bot.web.refused_deliveries import DeliveryRefusal, RefusalCounts
from bot.web.small_request import Answer
from ledger.ids import DeliveryId
from ledger.queue.inbox import Delivery

log = logging.getLogger(__name__)

# GitHub sends no larger one. Source: docs.github.com/webhooks/webhook-events-and-payloads.
MAX_BYTES = 25 * 1024 * 1024
JSON = "application/json"
NO_JSON = "the body is not JSON in UTF-8"
NO_JSON_TYPE = "set the webhook's content type to application/json in the App's settings"
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


class RefusedDeliveryError(Exception):
    """A request is not a delivery; the answer is `because`."""

    def __init__(self, refusal: DeliveryRefusal, because: str) -> None:
        self.refusal, self.because = refusal, because
        super().__init__(because)

    @property
    def status(self) -> HTTPStatus:
        """The answer's status."""
        is_strangers = self.refusal in (DeliveryRefusal.UNSIGNED, DeliveryRefusal.SIGNATURE)
        return HTTPStatus.UNAUTHORIZED if is_strangers else HTTPStatus.BAD_REQUEST


class WebhookReceiver:
    """Receives deliveries: small ones without a thread, for a busy board sends little else."""

    def __init__(self, commits: GroupCommit, secret: Secret, clock: Clock, counts: RefusalCounts) -> None:
        self._commits, self._secret, self._clock, self._counts = commits, secret, clock, counts

    def take(self, headers: Mapping[str, str], body: bytes, answer: Answer) -> None:
        """Answer 202 once the delivery is on disk; 503 if it is not."""
        self._store(partial(read_delivery, headers, body, self._secret, now=self._clock()), answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request of any size in the same way."""
        request, loop = Request(scope, receive), asyncio.get_running_loop()
        headers, body = dict(request.headers.items()), await request.body()
        read = partial(read_delivery, headers, body, self._secret, now=self._clock())
        delivery = loop.run_in_executor(None, read)
        await asyncio.wait([delivery])
        answered: asyncio.Future[Response] = loop.create_future()

        def answer(status: HTTPStatus, document: Mapping[str, object]) -> None:
            if not answered.done():  # the server may have stopped meanwhile
                answered.set_result(JSONResponse(document, status))

        self._store(delivery.result, answer)
        await (await answered)(scope, receive, send)

    def _store(self, read: Callable[[], Incoming], answer: Answer) -> None:
        try:
            incoming = read()
        except RefusedDeliveryError as refusal:
            log.warning("delivery refused status=%s reason=%s", refusal.status, refusal.because)
            self._counts.add(refusal.refusal)
            answer(refusal.status, {"error": refusal.because})
            return
        told = partial(self._tell, incoming.delivery.delivery_id, answer)
        incoming.stored.add_done_callback(partial(asyncio.get_running_loop().call_soon_threadsafe, told))
        self._commits.add(incoming)

    def _tell(self, delivery_id: DeliveryId, answer: Answer, stored: "Future[bool]") -> None:
        try:
            answer(HTTPStatus.ACCEPTED, {"delivery": delivery_id, "new": stored.result()})
        except NotStoredError as error:
            self._counts.add(DeliveryRefusal.NOT_STORED)
            answer(HTTPStatus.SERVICE_UNAVAILABLE, {"error": str(error)})


def read_delivery(headers: Mapping[str, str], body: bytes, secret: Secret, *, now: datetime) -> Incoming:
    """Return the signed delivery that a request carries; the names of `headers` are in lower case.

    Raises RefusedDeliveryError: 401 for unsigned, 400 for unreadable ones, in this order: an unsigned body is
    not parsed.
    """
    event = _verify(headers, body, secret)
    data = event.data
    if not isinstance(data, dict):
        raise RefusedDeliveryError(DeliveryRefusal.NOT_JSON, "the body is not a JSON object")
    if not EVENT.fullmatch(event.event) or not DELIVERY.fullmatch(event.delivery_id):
        because = "X-GitHub-Event or X-GitHub-Delivery is not one of GitHub's"
        raise RefusedDeliveryError(DeliveryRefusal.HEADERS, because)
    action = data.get("action")
    sender = data.get("sender")
    delivery = Delivery(
        delivery_id=DeliveryId(event.delivery_id),
        event=event.event,
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


def _verify(headers: Mapping[str, str], body: bytes, secret: Secret) -> Event:
    """Return the signed event."""
    # gidgethub would take a SHA-1, and hmac.compare_digest raises TypeError for non-ASCII text.
    if not secret or not SIGNATURE.fullmatch(headers.get("x-hub-signature-256", "")):
        because = "X-Hub-Signature-256 is missing or not a SHA-256 signature"
        raise RefusedDeliveryError(DeliveryRefusal.UNSIGNED, because)
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        event = Event.from_http({**headers, "content-type": content_type}, body, secret=secret.reveal())
    except ValidationFailure as error:
        because = "the signature does not match the body and the webhook secret"
        raise RefusedDeliveryError(DeliveryRefusal.SIGNATURE, because) from error
    except KeyError as error:
        because = "X-GitHub-Event or X-GitHub-Delivery is missing"
        raise RefusedDeliveryError(DeliveryRefusal.HEADERS, because) from error
    except (BadRequest, RecursionError) as error:
        if content_type == JSON:
            raise RefusedDeliveryError(DeliveryRefusal.NOT_JSON, NO_JSON) from error
        raise RefusedDeliveryError(DeliveryRefusal.CONTENT_TYPE, NO_JSON_TYPE) from error
    if content_type != JSON:
        raise RefusedDeliveryError(DeliveryRefusal.CONTENT_TYPE, NO_JSON_TYPE)
    return event
