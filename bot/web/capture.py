"""Capture of real deliveries without personal data: their shapes, to replace assumptions.

`cardinal capture` switches it on for a bounded time. Numbers, times, states and field names stay; every other
text becomes a pseudonym, the same for the same text in this home, that shows only its length and boxes. Size
and count of captures are limited.
"""

import hashlib
import json
import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from bot.system import private_file
from bot.system.clock import Clock
from ledger.queue.inbox import Delivery

log = logging.getLogger(__name__)

REQUEST, FOLDER = "run/capture.json", "captured"
LONGEST = timedelta(hours=24)
MAX, DEFAULT_MOST = 1_000, 200
MAX_BYTES = 512 * 1024  # of one delivery as it came; larger ones are left out
MAX_BYTES_IN_ALL = 20 * 1024 * 1024
DEEPEST = 40
# Texts that stay: closed vocabularies of GitHub's, nothing that people write.
SHOWN = frozenset(
    (
        *("action", "type", "content_type", "field_type", "data_type", "state", "state_reason", "conclusion"),
        *("status", "color", "event", "author_association", "visibility", "merge_method", "mergeable_state"),
        *("repository_selection", "target_type", "side", "subject_type", "lock_reason"),
    )
)
SHOWN_HEADERS = ("content-type", "user-agent", "x-github-event", "x-github-hook-installation-target-type")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
PLAIN = re.compile(r"[A-Za-z0-9_./+-]{1,64}")


@dataclass(frozen=True, slots=True)
class CaptureRequest:
    """A request to capture. `most` bounds the count; `salt` makes the pseudonyms this home's own."""

    until: datetime
    most: int
    salt: str


_REQUEST = TypeAdapter(CaptureRequest)


def begin_capture(home: Path, now: datetime, *, lasting: timedelta, most: int) -> CaptureRequest:
    """Capture deliveries from now on, within the limits; earlier captures stay."""
    request = CaptureRequest(now + min(lasting, LONGEST), max(1, min(most, MAX)), secrets.token_hex(16))
    path = home / REQUEST
    private_file.make_folder(path.parent)
    path.touch(mode=0o600)
    path.write_bytes(_REQUEST.dump_json(request))
    return request


def end_capture(home: Path) -> None:
    """Capture no more deliveries."""
    (home / REQUEST).unlink(missing_ok=True)


def current_capture(home: Path, now: datetime) -> CaptureRequest | None:
    """Return the request in force; None without one."""
    try:
        request = _REQUEST.validate_json((home / REQUEST).read_bytes())
    except (OSError, ValueError):
        return None
    return request if now < request.until else None


def list_deliveries(home: Path) -> tuple[Path, ...]:
    """Return the captured files, oldest first."""
    return tuple(sorted((home / FOLDER).glob("*.json")))


@dataclass(frozen=True, slots=True)
class Keeper:
    """Receives new deliveries. It never fails, and does nothing without a request."""

    home: Path
    clock: Clock

    def take(self, deliveries: Sequence[tuple[Delivery, Mapping[str, str]]]) -> None:
        """Write redacted copies if a request is in force; header names are in lower case."""
        request = current_capture(self.home, self.clock())
        if request is None:
            return
        for delivery, headers in deliveries:
            if len(delivery.payload) > MAX_BYTES:
                continue
            try:
                self._write(request, delivery, headers)
            except OSError as error:
                log.warning("delivery not captured delivery=%s error=%s", delivery.delivery_id, error)

    def _write(self, request: CaptureRequest, delivery: Delivery, headers: Mapping[str, str]) -> None:
        there = list_deliveries(self.home)
        if len(there) >= request.most or sum(file.stat().st_size for file in there) >= MAX_BYTES_IN_ALL:
            return
        document = {
            "event": delivery.event,
            "action": delivery.action,
            "received_at": delivery.received_at.isoformat(timespec="seconds"),
            "headers": {name: text[:200] for name, text in headers.items() if name in SHOWN_HEADERS},
            "payload": redact_payload(json.loads(delivery.payload), request.salt),
        }
        folder = self.home / FOLDER
        private_file.make_folder(folder)
        stamp = f"{delivery.received_at:%Y%m%dT%H%M%S%f}"
        action = re.sub(r"[^a-z_]", "", delivery.action)[:40]
        path = folder / f"{stamp}-{delivery.event}-{action}.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(document, indent=1), encoding="utf-8")


def redact_payload(payload: Any, salt: str, key: str = "", depth: int = 0) -> Any:
    """Return the payload's shape: the same keys and kinds of value, with pseudonyms in place of texts."""
    if depth > DEEPEST:
        return "too deep"
    if isinstance(payload, Mapping):
        person = "login" in payload
        return {
            str(name): _number(value, salt)
            if person and name == "id"
            else redact_payload(value, salt, str(name), depth + 1)
            for name, value in payload.items()
        }
    if isinstance(payload, list):
        return [redact_payload(item, salt, key, depth + 1) for item in payload]
    return _text(payload, salt, key) if isinstance(payload, str) else payload


def _text(text: str, salt: str, key: str) -> str:
    if MOMENT.fullmatch(text) or (key in SHOWN and PLAIN.fullmatch(text)):
        return text
    if not text:
        return ""
    digest = hashlib.sha256(f"{salt}{text}".encode("utf-8", "surrogatepass")).hexdigest()[:10]
    boxes = len(re.findall(r"- \[[ xX]\]", text))
    ticked = len(re.findall(r"- \[[xX]\]", text))
    return f"text-{digest}-{len(text)}" + (f"-{ticked}of{boxes}ticked" if boxes else "")


def _number(value: Any, salt: str) -> Any:
    """Return another number for a person's id, the same one each time."""
    if not isinstance(value, int):
        return redact_payload(value, salt)
    return int(hashlib.sha256(f"{salt}{value}".encode()).hexdigest()[:8], 16)
