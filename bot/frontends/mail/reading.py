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
from bot.frontends.mail.sending import MARKER, NAME
from bot.frontends.mail.tokens import ForgedTokenError, ReplyToken, find_tokens
from bot.system.config import Config
from ledger.model.reply_text import extract_written_words
from rules.chatops.notices import Subscriber
from runner.text.untrusted import without_invisible

MAX_BYTES = 256 * 1024  # of a whole mail, attachments and all
MAX_PARTS = 100
# The first say for whom this copy is; a mail to several addresses comes once for each.
_RECEIVERS = (("x-original-to",), ("delivered-to",), ("envelope-to",), ("to", "cc"))
_SIGNATURES = ("application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature")
_PROGRAMS = ("message/delivery-status", "message/disposition-notification", "multipart/report")
_BULK = ("bulk", "junk", "list", "auto_reply")
# Autocrypt is of people. Sources: RFC 3834, and [MS-OXCMAIL] 2.1.3.2.20 of X-Auto-Response-Suppress.
_ROBOTS = re.compile(
    r"list-id|x-loop|x-failed-recipients|x-(?:\w+-)?auto-?(?:re|gen|submit).*", re.IGNORECASE
)
_BLOCKS = {"p", "div", "br", "li", "tr", "h1", "h2", "h3", "hr", "pre"}  # each begins a line
_UNSEEN = {"style", "script", "title", "blockquote"}
_TAG = re.compile(r"<[^<>]{1,20}>")
_SENDER = re.compile(r"(?:<([^<>\s]{3,320})>|^\s*([^<>\s]{3,320}))\s*(?:\([^()]*\)\s*)?$")
# "Am 30.11.26 um 10:00 schrieb Cardinal:" and "Von: Cardinal", where a mail program leaves out the address.
_QUOTING = re.compile(rf"\b{NAME}\b.{{0,40}}[:：]\s*$")
_FROM_US = re.compile(rf"^[^\s:][^:\n]{{0,20}}:[*\s]{{1,3}}{NAME}\s*$", re.MULTILINE)
_RULES = "-_="  # begin and end a line that a mail program draws above a quote
TOO_LARGE = "it is too large: write again without attachments, or on GitHub"
ATTACHED = "attachments are not taken: write again without any, or on GitHub"
FOREIGN = (
    "it came from another address than yours. Do not forward these mails: a reply to one acts in your name"
)
OVER = "the mail that you replied to is too old: reply on GitHub"
BROKEN = "it is malformed: write again as plain text, or on GitHub"
SEVERAL = "it went to several addresses for replies: write one mail to each"
EMPTY = "it has no words of its own above the quoted text: write above the line that says so"


def read(config: Config, people: Mapping[str, Subscriber], raw: bytes, now: datetime) -> PersonReply:
    """Return the reply in a mail. Raises UnreadMessageError for what no person wrote in reply to a notice."""
    if raw[:MAX_BYTES].lower().count(b"content-type") > MAX_PARTS:  # nested, they would take minutes to read
        raise UnreadMessageError("it has too many parts")
    mail = message_from_bytes(raw[:MAX_BYTES], policy=compat32)
    if because := _robot(mail):
        raise UnreadMessageError(because)
    try:
        token, *others = _tokens(mail, config, people, now)
    except ForgedTokenError as error:
        raise UnreadMessageError("no address of it was made for a person here") from error
    sent = "\n".join(_headers(mail, "message-id")) or hashlib.sha256(raw).hexdigest()
    key = hashlib.sha256(f"mail {token.text} {sent}".encode("utf-8", "surrogatepass")).hexdigest()
    senders = _headers(mail, "from")
    match = _SENDER.search(senders[0]) if len(senders) == 1 else None
    words = ""
    if match is None or (match[1] or match[2]).casefold() != token.address.casefold():
        refusal = FOREIGN
    elif others:
        refusal = SEVERAL
    elif token.is_over:
        refusal = OVER
    elif len(raw) > MAX_BYTES:
        refusal = TOO_LARGE
    else:
        words, refusal = _read_parts(mail, config)
    return PersonReply(token.login, token.topic, words, key, refusal)


def _read_parts(mail: Message, config: Config) -> tuple[str, str]:
    """Return the words of a mail, or why they are not taken."""
    try:
        if any(map(_is_attachment, mail.walk())):
            return "", ATTACHED
        words = own_text(mail, config)
        return words, "" if words else EMPTY
    except (LookupError, TypeError, ValueError):  # so the email package ends on some parameters
        return "", BROKEN


def _tokens(
    mail: Message, config: Config, people: Mapping[str, Subscriber], now: datetime
) -> tuple[ReplyToken, ...]:
    """Return the tokens of the address that this copy went to. Raises ForgedTokenError."""
    for names in _RECEIVERS:
        if found := find_tokens(config, people, "\n".join(_headers(mail, *names)), now):
            return found
    raise ForgedTokenError


def _robot(mail: Message) -> str:
    """Return the sign that a program sent the mail, so that none ever answers another; else nothing."""
    automatic = "".join(_headers(mail, "auto-submitted")).strip().lower()
    if automatic and not re.match(r"no\b(?![-\w])", automatic):
        return "it was sent by a program"
    if any(header.strip().lower() in _BULK for header in _headers(mail, "precedence")):
        return "it was sent to many"
    if any(header.strip() == "<>" for header in _headers(mail, "return-path")):
        return "it is about a mail that could not be delivered"
    if mail.get_content_type() in _PROGRAMS or any(map(_ROBOTS.fullmatch, mail.keys())):
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
    above = _above_the_quote(without_invisible(_body(mail)).partition(MARKER)[0], config)
    lines = extract_written_words(above).split("\n")
    while lines and (_is_drawn(lines[-1].strip()) or _QUOTING.search(lines[-1])):
        lines.pop()
    return "\n".join(lines).strip()


def _is_drawn(line: str) -> bool:
    """Tell whether a line is blank, or drawn by a mail program, with words in its middle or without."""
    return not (line[:2] + line[-2:]).strip(_RULES)


def _body(mail: Message) -> str:
    """Return the text of the first part that says something: what stands behind it was added on its way."""
    for part in mail.walk():
        match part.get_content_type():
            case "text/plain":
                text = _decode(part)
            case "text/html":
                text = _text_of_html(_decode(part))
            case _:
                continue
        if text.strip():
            return text
    return ""


def _decode(part: Message) -> str:
    raw = part.get_payload(decode=True)
    if not isinstance(raw, bytes):
        return ""
    try:
        return raw.decode(part.get_content_charset("utf-8"), "replace")
    except (LookupError, ValueError):  # a character set that nobody knows, or one for other things than text
        return raw.decode("utf-8", "replace")


def _text_of_html(html: str) -> str:
    """Return the words of HTML, without what it quotes; nothing of it is loaded."""
    safe = nh3.clean(html, tags=_BLOCKS, clean_content_tags=_UNSEEN, attributes={})
    return unescape(_TAG.sub("\n", re.sub(r"\s+", " ", safe)))


def _above_the_quote(text: str, config: Config) -> str:
    """Return the text before the line that names the sender of the quoted mail, in whatever language."""
    local, _, domain = map(re.escape, config.mail_replies.partition("@"))
    ours = rf"{re.escape(config.mail_from)}|{local}(?:\+[\w.-]{{1,60}})?@{domain}"
    text = _FROM_US.split(text)[0]
    named = re.search(ours, text, re.IGNORECASE)
    if named is None:
        return text
    before, _, line = text[: named.start()].rpartition("\n")
    # Where the name begins the line, a mail program has cut the line in two.
    return before if line.strip(" <>") else before.rpartition("\n")[0]
