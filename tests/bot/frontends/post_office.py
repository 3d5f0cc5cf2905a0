"""A mail server on this machine, the settings for it, and the people's replies."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage, Message
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.handlers import Message as MessageHandler

from tests.bot.conftest import free_port


@dataclass
class PostOffice:
    """The mails that arrived, and the operator's settings that send them here."""

    settings: Mapping[str, Any]
    mails: list[Message] = field(default_factory=list)

    def reply(self, words: str, to: Message | None = None, **headers: str) -> bytes:
        """Return a person's reply to the newest mail, or to that one, as a mail server passes it on."""
        about = self.mails[-1] if to is None else to
        quoted = "\n".join(f"> {line}" for line in text_of(about).splitlines())
        mail = EmailMessage()
        mail["From"], mail["To"] = f"Alice <{about['To']}>", about["Reply-To"]
        mail["Message-ID"] = f"<{len(self.mails)}@example.org>"
        for name, value in headers.items():
            del mail[name.replace("_", "-")]
            mail[name.replace("_", "-")] = value
        mail.set_content(f"{words}\n\nOn Monday Cardinal <cardinal@example.com> wrote:\n{quoted}\n")
        return mail.as_bytes()


def text_of(mail: Message) -> str:
    """Return the text of a mail, as its reader sees it."""
    raw = mail.get_payload(decode=True)
    assert isinstance(raw, bytes)
    return raw.decode().replace("\r\n", "\n")


@contextmanager
def open_office(scheme: str = "smtp", host: str = "127.0.0.1", **how: Any) -> Iterator[PostOffice]:
    """Open a server with these settings of aiosmtpd."""
    port = free_port()
    settings = {
        "mail_server": f"{scheme}://{host}:{port}",
        "mail_from": "cardinal@example.com",
        "mail_replies": "cardinal@example.com",
    }
    office = PostOffice(settings)

    class Handler(MessageHandler):
        def handle_message(self, message: Message) -> None:
            office.mails.append(message)

    server = Controller(Handler(), hostname="127.0.0.1", port=port, **how)
    server.start()
    try:
        yield office
    finally:
        server.stop()
