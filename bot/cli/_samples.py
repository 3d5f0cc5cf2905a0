"""Samples of deliveries for tests: the shapes of those that a rehearsal saw, without names and texts."""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path

from bot.admin.rehearsal.mail import ListedDelivery
from bot.web.capture import SHOWN_HEADERS, redacted


def write_samples(folder: Path, deliveries: Sequence[ListedDelivery]) -> None:
    """Write one file for each kind of delivery, of the first that came."""
    folder.mkdir(parents=True, exist_ok=True)
    salt, done = secrets.token_hex(16), set[str]()
    for delivery in deliveries:
        name = f"{delivery.event}-{delivery.action}.json"
        if name in done:
            continue
        done.add(name)
        headers = {key.lower(): str(text) for key, text in delivery.headers.items()}
        document = {
            "event": delivery.event,
            "action": delivery.action,
            "headers": {key: text for key, text in headers.items() if key in SHOWN_HEADERS},
            "payload": redacted(delivery.payload, salt),
        }
        (folder / name).write_text(json.dumps(document, indent=1), encoding="utf-8")
