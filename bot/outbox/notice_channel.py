"""How a notice leaves: signed webhook, mail, or a service of apprise's; which of them know a repeated one."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from email import message_from_string
from smtplib import SMTPException
from typing import Any

from bot.outbox import signed_webhook
from bot.outbox.contract import GivenUpError


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
    return address.startswith(signed_webhook.SCHEME) or all(map(_is_mail, _services(address)))


def send_to(address: str, notice: Notice) -> bool:
    """Send a notice within the service's time limits (seconds); False when it was not accepted.

    Raises GivenUpError where that can never succeed.
    """
    if address.startswith(signed_webhook.SCHEME):
        document = {"id": notice.key, "title": notice.title, "text": notice.text, "news": list(notice.news)}
        return signed_webhook.post(address, document)
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
