"""Replies by mail: whose they are, by their token, and the words that the person wrote.

Everything in a mail may be forged but the token; the sender's address is believed as little as the rest.
"""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from email import message_from_bytes
from email.message import Message
from email.policy import compat32
from html import unescape

import nh3

from bot.frontends import PersonReply, UnreadMessageError
from bot.frontends.mail.sending import MARKER
from bot.frontends.mail.tokens import ForgedTokenError, find_token
from bot.system.config import Config
from ledger.model.reply_text import written_words
from rules.chatops.notices import Subscriber
from runner.text.untrusted import without_invisible

MAX_BYTES = 256 * 1024  # of a whole mail, attachments and all
MAX_PARTS = 100
_RECEIVERS = ("to", "cc", "delivered-to", "x-original-to", "envelope-to")
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_BULK = ("bulk", "junk", "list", "auto_reply")
_ROBOTS = ("list-id", "x-autoreply", "x-autorespond", "x-loop")
_BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "hr", "pre"}  # each begins a line
_UNSEEN = {"style", "script", "title", "blockquote"}
_TAG = re.compile(r"<[^<>]{1,20}>")
_SENDER = re.compile(r"<([^<>\s]{3,320})>\s*$|^\s*([^<>\s]{3,320})\s*$")
_RULES = "-_="  # begin and end a line that a mail program draws above a quote
TOO_LARGE = "it is too large: write again without attachments, or on GitHub"
ATTACHED = "attachments are not taken: write again without any, or on GitHub"
FOREIGN = (
    "it came from another address than yours. Do not forward these mails: a reply to one acts in your name"
)
OVER = "the mail that you replied to is too old: reply on GitHub"
EMPTY = "it has no words of its own above the quoted text: write above the line that says so"


def read(config: Config, people: Mapping[str, Subscriber], raw: bytes, now: datetime) -> PersonReply:
    """Return the reply in a mail. Raises UnreadMessageError for what no person wrote in reply to a notice."""
    if raw[:MAX_BYTES].lower().count(b"content-type") > MAX_PARTS:  # nested, they would take minutes to read
        raise UnreadMessageError("it has too many parts")
    mail = message_from_bytes(raw[:MAX_BYTES], policy=compat32)
    if because := _robot(mail):
        raise UnreadMessageError(because)
    try:
        token = find_token(config, people, "\n".join(_headers(mail, *_RECEIVERS)), now)
    except ForgedTokenError as error:
        raise UnreadMessageError("no address of it was made for a person here") from error
    sent = "\n".join(_headers(mail, "message-id")) or hashlib.sha256(raw).hexdigest()
    key = hashlib.sha256(f"mail {token.text} {sent}".encode("utf-8", "surrogatepass")).hexdigest()
    words, refusal = "", ""
    senders = _headers(mail, "from")
    match = _SENDER.search(senders[0]) if len(senders) == 1 else None
    if match is None or (match[1] or match[2]).casefold() != token.address.casefold():
        refusal = FOREIGN
    elif token.is_over:
        refusal = OVER
    elif len(raw) > MAX_BYTES:
        refusal = TOO_LARGE
    elif any(map(_is_attachment, mail.walk())):
        refusal = ATTACHED
    else:
        words = own_text(mail, config)
        refusal = "" if words else EMPTY
    return PersonReply(token.login, token.topic, words, key, refusal)


def _robot(mail: Message) -> str:
    """Return the sign that a program sent the mail, so that none ever answers another; else nothing."""
    automatic = "".join(_headers(mail, "auto-submitted")).partition(";")[0].strip().lower()
    if automatic not in ("", "no"):
        return "it was sent by a program"
    if any(header.strip().lower() in _BULK for header in _headers(mail, "precedence")):
        return "it was sent to many"
    if any(header.strip() == "<>" for header in _headers(mail, "return-path")):
        return "it is about a mail that could not be delivered"
    if mail.get_content_type() == "multipart/report" or _headers(mail, *_ROBOTS):
        return "it was sent by a program"
    return ""


def _headers(mail: Message, *names: str) -> list[str]:
    """Return the values of these headers; one with raw bytes is a Header, which str() reads."""
    return [str(value)[:8_000] for name in names for value in mail.get_all(name, [])]


def _is_attachment(part: Message) -> bool:
    """Tell whether it is a file that the person sent, not a picture of their signature or a seal."""
    if part.is_multipart() or part.get_content_type() in _SIGNATURES:
        return part.get_content_type() == "message/rfc822"
    embedded = part.get_content_maintype() == "image" and part.get("content-id") is not None
    return not embedded and (
        part.get_content_disposition() == "attachment" or part.get_content_maintype() != "text"
    )


def own_text(mail: Message, config: Config) -> str:
    """Return what the person wrote, as text: no quoted mail, no signature."""
    text = _first(mail, "text/plain") or _text_of_html(_first(mail, "text/html"))
    above = _above_the_quote(without_invisible(text).partition(MARKER)[0], config)
    lines = written_words(above).split("\n")
    while lines and _is_drawn(lines[-1].strip()):
        lines.pop()
    return "\n".join(lines).strip()


def _is_drawn(line: str) -> bool:
    """Tell whether a line is blank, or drawn by a mail program, with words in its middle or without."""
    return not (line[:2] + line[-2:]).strip(_RULES)


def _first(mail: Message, kind: str) -> str:
    """Return the first part of that type that says something."""
    texts = (_decode(part) for part in mail.walk() if part.get_content_type() == kind)
    return next((text for text in texts if text.strip()), "")


def _decode(part: Message) -> str:
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    try:
        return raw.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:  # a character set that nobody knows
        return raw.decode("utf-8", "replace")


def _text_of_html(html: str) -> str:
    """Return the words of HTML, without what it quotes; nothing of it is loaded."""
    safe = nh3.clean(html, tags=_BLOCKS, clean_content_tags=_UNSEEN, attributes={})
    return unescape(_TAG.sub("\n", re.sub(r"\s+", " ", safe)))


def _above_the_quote(text: str, config: Config) -> str:
    """Return the text before the line that names the sender of the quoted mail, in whatever language."""
    local, _, domain = map(re.escape, config.mail_replies.partition("@"))
    ours = rf"{re.escape(config.mail_from)}|{local}(?:\+[\w.-]{{1,60}})?@{domain}"
    named = re.search(ours, text, re.IGNORECASE)
    if named is None:
        return text
    before, _, line = text[: named.start()].rpartition("\n")
    # Where the name begins the line, a mail program has cut the line in two.
    return before if line.strip(" <>") else before.rpartition("\n")[0]
