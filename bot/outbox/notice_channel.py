"""How a notice leaves: signed webhook, mail, or a service of apprise's; which of them know a repeated one.

A webhook's address is webhook+https://:SECRET@host/path; webhook+private+… may lead into a private network.
"""

import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email import message_from_string
from functools import partial
from smtplib import SMTPException
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import anyio
import httpx2

from bot.outbox.contract import GivenUpError
from runner.gateway.network.addresses import is_public_address, may_be_private

SCHEME, PRIVATE = "webhook+", "private+"
SIGNATURE = "X-Cardinal-Signature-256"
TIMEOUT_S = 10.0  # for all of a post: who reads and answers slowly holds up no other notice
MIN_SECRET = 16  # characters
UNFIT = "its address is not webhook+https://:SECRET@host/path: add it again"


def post(address: str, document: Mapping[str, Any]) -> bool:
    """Send the document, and follow no redirect; False when it was not accepted.

    Raises GivenUpError for an address that can never be.
    """
    rest = address.removeprefix(SCHEME)
    is_private = rest.startswith(PRIVATE)
    try:
        parts = urlsplit(rest.removeprefix(PRIVATE))
        secret, host = unquote(parts.password or ""), parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise GivenUpError(UNFIT) from error
    if parts.scheme not in (("https", "http") if is_private else ("https",)) or not host:
        raise GivenUpError(UNFIT)
    if len(secret) < MIN_SECRET:
        raise GivenUpError(f"its secret has less than {MIN_SECRET} characters: make a longer one")
    place = _resolve(host, is_private)
    if not place:
        return False
    url = urlunsplit((parts.scheme, f"{place}{port}", parts.path, parts.query, ""))
    body = json.dumps(document).encode()
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "Host": f"[{host}]{port}" if ":" in host else f"{host}{port}",
        SIGNATURE: f"sha256={digest}",
    }
    try:
        return anyio.run(partial(_is_accepted, url, host, content=body, headers=headers))
    except (httpx2.HTTPError, TimeoutError):
        return False
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise GivenUpError(UNFIT) from error


async def _is_accepted(url: str, host: str, **sent: Any) -> bool:
    """Tell whether the answer is a success; only its status is read."""
    with anyio.fail_after(TIMEOUT_S):
        async with (
            httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as http,
            http.stream("POST", url, extensions={"sni_hostname": host}, **sent) as answer,
        ):
            return answer.is_success


def _resolve(host: str, is_private: bool) -> str:
    """Return the address to connect to, so that no later look-up can name another; empty without one."""
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ""
    except UnicodeError as error:  # a name that DNS cannot have
        raise GivenUpError(UNFIT) from error
    known = [ipaddress.ip_address(answer[4][0]) for answer in answers]
    if not all(is_public_address(it) or (is_private and may_be_private(it)) for it in known):
        because = "its address is one of a private network, or no host's"
        raise GivenUpError(f"{because}: an operator allows a private one by webhook+private+https://…")
    return f"[{known[0]}]" if known[0].version == 6 else str(known[0])


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to send. `key` and `made_at` stay the same when it is sent again; `news` is for programs."""

    key: str
    made_at: datetime
    title: str
    text: str
    news: Sequence[Mapping[str, Any]] = ()


def knows_repeats(address: str) -> bool:
    """Tell whether one notice that is sent twice there is known as the same: by its id, or its Message-ID."""
    return address.startswith(SCHEME) or all(map(_is_mail, _services(address)))


def send_to(address: str, notice: Notice) -> bool:
    """Send a notice within the service's time limits (seconds); False when it was not accepted.

    Raises GivenUpError where that can never succeed.
    """
    if address.startswith(SCHEME):
        document = {"id": notice.key, "title": notice.title, "text": notice.text, "news": list(notice.news)}
        return post(address, document)
    sent = [_mail(it, notice) if _is_mail(it) else _notify(it, notice) for it in _services(address)]
    return all(sent)


def _services(address: str) -> Iterable[Any]:
    """Return apprise's services of the address, which has no types. Raises GivenUpError."""
    try:
        import apprise  # of an extra: nobody who is told nothing needs it
    except ImportError:
        raise GivenUpError("notices need a package: pip install 'cardinal-board[notices]'") from None
    service = apprise.Apprise()
    if not service.add(address):
        raise GivenUpError("its address is none that apprise knows: `cardinal notify add` it again")
    return [*service]


def _is_mail(service: Any) -> bool:
    from apprise.plugins.email import NotifyEmail

    return type(service) is NotifyEmail and service.pgp_mode == "no"  # apprise alone encrypts


def _notify(service: Any, notice: Notice) -> bool:
    from apprise import NotifyFormat

    return bool(service.notify(title=notice.title, body=notice.text, body_format=NotifyFormat.TEXT))


def _mail(service: Any, notice: Notice) -> bool:
    """Send it as apprise would, but for its Message-ID: apprise makes another one each time."""
    from apprise import NotifyFormat
    from apprise.plugins.email.smtp import AppriseSMTPController

    if not service.targets:
        return False
    name = hashlib.sha256(f"{notice.key} {notice.made_at.isoformat()}".encode()).hexdigest()[:32]
    sender = service.from_addr[1]
    mails = service.prepare_emails(
        subject=notice.title,
        body=notice.text,
        notify_format=NotifyFormat.TEXT,
        from_addr=service.from_addr,
        to=service.targets,
        cc=service.cc,
        bcc=service.bcc,
        reply_to=service.reply_to,
        smtp_host=service.smtp_host,
        headers=service.headers,
        names=service.names,
    )
    try:
        with AppriseSMTPController(
            service.smtp_host,
            service.port,
            service.secure_mode,
            service.user,
            service.password,
            service.verify_certificate,
            service.socket_connect_timeout,
        ) as smtp:
            return all(
                [smtp.sendmail(sender, it.to_addrs, _name_mail(it.body, name, sender)) for it in mails]
            )
    except (OSError, SMTPException):
        return False


def _name_mail(mail: str, name: str, sender: str) -> str:
    """Return the mail under that name at the sender's domain."""
    message = message_from_string(mail)
    message.replace_header("Message-ID", f"<{name}@{sender.rpartition('@')[2]}>")
    return message.as_string()
