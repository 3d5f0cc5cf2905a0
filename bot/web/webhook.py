"""The webhook: verify a delivery, store it, wake a worker, answer 202; nothing else in the request.

GitHub gives up after 10 s and never delivers again by itself, so a 202 promises that the delivery is on disk.
Source: docs.github.com/webhooks/using-webhooks/best-practices-for-using-webhooks.
"""

import logging
import re
import threading
from collections.abc import Callable, Mapping
from datetime import datetime

from flask import Blueprint, Request, jsonify, request
from flask.typing import ResponseReturnValue
from gidgethub import BadRequest, ValidationFailure
from gidgethub.sansio import Event
from sqlalchemy import Engine
from werkzeug.exceptions import RequestEntityTooLarge

from bot.system.clock import Clock
from bot.system.secret import Secret
from ledger.ids import DeliveryId
from ledger.queue import inbox
from ledger.queue.inbox import Delivery

log = logging.getLogger(__name__)

PATH = "/webhooks/github"
# GitHub sends no larger one. Source: docs.github.com/webhooks/webhook-events-and-payloads.
MAX_BYTES = 25 * 1024 * 1024
TOO_LARGE = "a delivery has at most 25 MB"
SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
EVENT = re.compile(r"[a-z0-9_]{1,64}")
DELIVERY = re.compile(r"[A-Za-z0-9-]{1,64}")

Wake = Callable[[DeliveryId, bool], bool]
Keep = Callable[[Delivery, Mapping[str, str]], None]


class RefusedDeliveryError(Exception):
    """A request is no delivery; the answer is `status` and `because`."""

    def __init__(self, status: int, because: str) -> None:
        self.status, self.because = status, because
        super().__init__(because)


def make_door(engine: Engine, secret: Secret, wake: Wake, clock: Clock, keep: Keep) -> Blueprint:
    """Return the blueprint of `POST /webhooks/github`.

    `wake` starts a worker and may fail; it is told whether an app did what the delivery reports. `keep` gets
    each new delivery with its headers, names in lower case.
    """
    door = Blueprint("webhook", __name__)
    turn = threading.Lock()  # threads queue up for it; in SQLite they would sleep and retry

    @door.post(PATH)
    def receive() -> ResponseReturnValue:
        try:
            delivery, by_app = read_delivery(request, secret, now=clock())
        except RefusedDeliveryError as refusal:
            log.warning("delivery refused status=%s reason=%s", refusal.status, refusal.because)
            return jsonify(error=refusal.because), refusal.status
        with turn:
            new = inbox.store(engine, delivery)
        if new:
            keep(delivery, {name.lower(): text for name, text in request.headers.items()})
        woken = wake(delivery.delivery_id, by_app)  # a repeated one too: its first wake-up may be lost
        log.info(
            "delivery stored id=%s event=%s action=%s new=%s woken=%s",
            delivery.delivery_id, delivery.event, delivery.action, new, woken,
        )  # fmt: skip
        return jsonify(delivery=delivery.delivery_id, new=new), 202

    return door


def read_delivery(incoming: Request, secret: Secret, *, now: datetime) -> tuple[Delivery, bool]:
    """Return the signed delivery that the request carries, and whether an app did what it reports.

    Raises RefusedDeliveryError: 413 for too large, 401 for unsigned, 400 for unreadable ones, in this order:
    an unsigned body is not parsed.
    """
    body = _body(incoming)
    event = _verified(incoming, body, secret)
    if not isinstance(event.data, dict):
        raise RefusedDeliveryError(400, "the body is not a JSON object")
    if not EVENT.fullmatch(event.event) or not DELIVERY.fullmatch(event.delivery_id):
        raise RefusedDeliveryError(400, "X-GitHub-Event or X-GitHub-Delivery is not one of GitHub's")
    action = event.data.get("action")
    sender = event.data.get("sender")
    delivery = Delivery(
        delivery_id=DeliveryId(event.delivery_id),
        event=event.event,
        action=action[:64] if isinstance(action, str) else "",
        payload=body,
        received_at=now,
    )
    return delivery, isinstance(sender, dict) and sender.get("type") == "Bot"


def _body(incoming: Request) -> bytes:
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


def _verified(incoming: Request, body: bytes, secret: Secret) -> Event:
    headers = {name.lower(): value for name, value in incoming.headers.items()}
    # gidgethub would take a lone SHA-1, and hmac.compare_digest raises TypeError for non-ASCII text.
    if not secret or not SIGNATURE.fullmatch(headers.get("x-hub-signature-256", "")):
        raise RefusedDeliveryError(401, "X-Hub-Signature-256 is missing or is no SHA-256 signature")
    headers["content-type"] = "application/json"  # the true one is judged below, after the signature
    try:
        event = Event.from_http(headers, body, secret=secret.reveal())
    except ValidationFailure as error:
        raise RefusedDeliveryError(
            401, "the signature does not fit the body and the webhook secret"
        ) from error
    except KeyError as error:
        raise RefusedDeliveryError(400, "X-GitHub-Event or X-GitHub-Delivery is missing") from error
    except (BadRequest, RecursionError) as error:
        raise RefusedDeliveryError(400, _unreadable(incoming)) from error
    if incoming.mimetype != "application/json":
        raise RefusedDeliveryError(400, _unreadable(incoming))
    return event


def _unreadable(incoming: Request) -> str:
    if incoming.mimetype != "application/json":
        return "set the webhook's content type to application/json in the App's settings"
    return "the body is not JSON in UTF-8"
