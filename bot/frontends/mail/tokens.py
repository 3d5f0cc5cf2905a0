"""Addresses for replies: what one person may reply to, sealed so that nobody can make or change one.

The key is made of the App's private key, which every host of a ledger has.
"""

import base64
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from bot.system.config import Config
from ledger.errors import CardinalError
from rules.chatops.notices import Subscriber

SCHEME = "mail:"
DAYS = 30  # that a token is good for
MAX_LOCAL = 64  # characters before the `@`. Source: RFC 5321, section 4.5.3.1.1
MAX_LOOKED = 20  # addresses of one mail
_MAC_CHARS = 20  # of 5 bits
# Mail servers may change the case of an address, so it has none.
_FORM = r"(?P<topic>r[0-9]{1,18}(?:-[qp][0-9]{1,9})?)\.(?P<day>[0-9]{1,6})\.(?P<mac>[a-z2-7]{20})"


class ForgedTokenError(CardinalError):
    """No address of a mail has a token that was made for one of the people."""


@dataclass(frozen=True, slots=True)
class ReplyToken:
    """A token that was made here: for whom, about what, and whether its time is over."""

    text: str
    login: str
    address: str
    topic: str
    is_over: bool


def reply_address(config: Config, login: str, address: str, topic: str, made_at: datetime) -> str:
    """Return the address for the person's replies about the topic; empty where nobody can reply."""
    if not (config.mail_replies and topic):
        return ""
    until = (made_at + timedelta(days=DAYS)).date().toordinal()
    local, _, domain = config.mail_replies.partition("@")
    token = f"{topic}.{until}.{_mac(config, login, address, topic, until)}"
    full = f"{local}+{token}"
    return f"{full}@{domain}" if len(full) <= MAX_LOCAL else ""


def find_tokens(
    config: Config, people: Mapping[str, Subscriber], text: str, now: datetime
) -> tuple[ReplyToken, ...]:
    """Return the different tokens in the text, the addresses of a mail, that were made here."""
    local, _, domain = config.mail_replies.partition("@")
    pattern = rf"{re.escape(local)}\+{_FORM}@{re.escape(domain)}(?![\w.-])"
    looked = re.finditer(pattern, text, re.IGNORECASE | re.ASCII) if local else iter(())
    found: dict[str, ReplyToken] = {}
    for _, match in zip(range(MAX_LOOKED), looked, strict=False):
        topic, until, mac = match["topic"].lower(), int(match["day"]), match["mac"].lower()
        for login, subscriber in people.items():
            address = mail_address_of(subscriber)
            if address and hmac.compare_digest(mac, _mac(config, login, address, topic, until)):
                is_over = now.astimezone(UTC).date().toordinal() > until
                token = f"{topic}.{until}.{mac}"
                found[token] = ReplyToken(token, login, address, topic, is_over)
    return tuple(found.values())


def mail_address_of(subscriber: Subscriber) -> str:
    """Return the address of a person's mail; empty for a channel, and for other services."""
    is_mail = subscriber.address.startswith(SCHEME) and not subscriber.channel
    return subscriber.address.removeprefix(SCHEME) if is_mail else ""


def _mac(config: Config, login: str, address: str, topic: str, until: int) -> str:
    key = hmac.digest(config.private_key.reveal().strip().encode(), b"cardinal: replies by mail", "sha256")
    bound = json.dumps((login.casefold(), address.casefold(), topic, until)).encode()
    mac = hmac.digest(key, bound, "sha256")
    return base64.b32encode(mac).decode().lower()[:_MAC_CHARS]
