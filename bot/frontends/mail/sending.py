"""Notices as plain text to the operator's mail server, under a Message-ID that stays the same."""

import hashlib
import logging
import re
import smtplib
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import EmailMessage
from email.policy import SMTP
from socket import socket
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from bot.frontends import NewsItem, Notice, SetupFinding, UnfitAddressError
from bot.frontends.mail.tokens import SCHEME, reply_address
from bot.system.config import Config

log = logging.getLogger(__name__)
NAME = "Cardinal"
MARKER = "-- Write above this line. What stands below is not read. --"
SEVERAL = "Reply to each of these at its own address. A reply to this mail itself is not read."
TIMEOUT_S = 20.0  # for all of a sending: who answers slowly holds up no other notice
PORTS = {"smtps": 465, "smtp+starttls": 587, "smtp": 25}
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9][A-Za-z0-9.-]{0,200}")
_POLICY = SMTP.clone(cte_type="7bit")  # whatever the server can
UNFIT = "its address is not mail:alice@example.com: add it again"
NO_SERVER = "mail needs CARDINAL_MAIL_SERVER and CARDINAL_MAIL_FROM: set them, then try again"


def knows_repeats(_address: str) -> bool:
    """Return True: mail programs know a repeated mail by its Message-ID."""
    return True


def send_notice(config: Config, address: str, notice: Notice) -> bool:
    """Send the notice; False where the server did not accept it. Raises UnfitAddressError."""
    to = address.removeprefix(SCHEME)
    if not _ADDRESS.fullmatch(to):
        raise UnfitAddressError(UNFIT)
    if not config.mail_server:
        raise UnfitAddressError(NO_SERVER)
    mail = write_mail(config, to, notice)
    try:
        with _connected(config) as smtp:
            smtp.send_message(mail, config.mail_from, [to])
    except (OSError, smtplib.SMTPException) as error:
        log.warning("mail was not accepted to=%s reason=%s", notice.name, _because(error))
        return False
    return True


def examine(config: Config) -> SetupFinding:
    """Sign in at the mail server, and send nothing."""
    if not config.mail_server:
        return SetupFinding("notices go by mail, and no mail server is set", NO_SERVER)
    try:
        with _connected(config) as smtp:
            smtp.noop()
    except (OSError, smtplib.SMTPException) as error:
        because = f"the mail server did not let Cardinal in: {_because(error)}"
        return SetupFinding(
            because, "check CARDINAL_MAIL_SERVER, CARDINAL_MAIL_USER and CARDINAL_MAIL_PASSWORD"
        )
    if not config.mail_replies:
        return SetupFinding("mail can be sent; nobody can reply, since CARDINAL_MAIL_REPLIES is not set")
    return SetupFinding("mail can be sent; let your mail server pass replies to `cardinal receive mail`")


def write_mail(config: Config, to: str, notice: Notice) -> EmailMessage:
    """Return the mail. Of several pieces of news, each has its own address for replies."""
    mail = EmailMessage(policy=_POLICY)
    domain = config.mail_from.partition("@")[2]
    name = hashlib.sha256(f"{notice.key} {notice.made_at.isoformat()}".encode()).hexdigest()[:32]
    alone = notice.items[0] if len(notice.items) == 1 else None
    mail["Subject"] = _header_text(alone.headline if alone else notice.title)
    mail["From"], mail["To"] = f"{NAME} <{config.mail_from}>", to
    mail["Message-ID"], mail["Date"] = f"<{name}@{domain}>", notice.made_at
    mail["Auto-Submitted"], mail["X-Auto-Response-Suppress"] = "auto-generated", "All"
    replies = [reply_address(config, notice.name, to, item.topic, notice.made_at) for item in notice.items]
    if alone and replies[0]:
        mail["Reply-To"] = replies[0]
    heads = [MARKER if alone else SEVERAL] if any(replies) else []
    parts = [
        "\n\n".join(_paragraphs(item, "" if alone else reply))
        for item, reply in zip(notice.items, replies, strict=True)
    ]
    more = ["\n".join(notice.more)] if notice.more else []
    mail.set_content("\n\n\n".join((*heads, *parts, *more, f"-- \n{notice.title}")) + "\n")
    return mail


def _header_text(text: str) -> str:
    """Return outside text for a header: one short line in which an EmailMessage decodes nothing.

    It takes `=?…?=` for an encoded word (RFC 2047), whose line ends would begin headers of their own.
    """
    return " ".join(text.replace("=?", "= ?").split())[:200]


def _paragraphs(item: NewsItem, reply: str) -> Iterator[str]:
    yield item.text
    if item.detail:
        yield item.detail
    if reply:
        yield f"To reply to this, write to {reply}"


def _because(error: Exception) -> str:
    """Return what went wrong, without the server's words, which may repeat an address or a secret."""
    code = getattr(error, "smtp_code", "")
    return f"{type(error).__name__} {code}".strip()


@contextmanager
def _connected(config: Config) -> Iterator[smtplib.SMTP]:
    """Yield a client that is signed in. Raises OSError and SMTPException."""
    parts = urlsplit(config.mail_server)
    place = (parts.hostname or "", parts.port or PORTS[parts.scheme], config.mail_from.partition("@")[2])
    trusted = ssl.create_default_context()
    tls: dict[str, Any] = {"context": trusted} if parts.scheme == "smtps" else {}
    smtp = (_TlsClient if tls else _Client)(*place, timeout=TIMEOUT_S, **tls)
    try:
        if parts.scheme == "smtp+starttls":
            smtp.starttls(context=trusted)
        if config.mail_user:
            smtp.login(config.mail_user, config.mail_password.reveal())
        yield smtp
        with suppress(OSError, smtplib.SMTPException):  # the mail is sent by now
            smtp.quit()
    finally:
        smtp.close()


class _DeadlineFile:
    """The lines of a server, which all have to come until the deadline, however slowly it writes."""

    def __init__(self, sock: socket, deadline: float) -> None:
        self._socket, self._deadline = sock, deadline

    def readline(self, limit: int) -> bytes:
        """Return a line of at most so many bytes. Raises TimeoutError."""
        line = bytearray()
        while len(line) < limit and not line.endswith(b"\n"):
            left_s = self._deadline - monotonic()
            if left_s <= 0:
                raise TimeoutError("the mail server is too slow")
            self._socket.settimeout(left_s)  # also of what is sent next
            read = self._socket.recv(1)
            if not read:
                break
            line += read
        return bytes(line)

    def close(self) -> None:
        """Do nothing: the socket is closed by its owner."""


class _Client(smtplib.SMTP):
    """A client that takes TIMEOUT_S in all: smtplib's own limit is for each of the server's bytes."""

    def __init__(self, *place: Any, **how: Any) -> None:
        self._deadline = monotonic() + TIMEOUT_S
        super().__init__(*place, **how)

    def getreply(self) -> tuple[int, bytes]:
        """Return the code and the text of the server's answer."""
        if self.file is None and self.sock is not None:
            self.file = _DeadlineFile(self.sock, self._deadline)
        return super().getreply()


class _TlsClient(_Client, smtplib.SMTP_SSL):
    """The same, with TLS from the beginning."""
