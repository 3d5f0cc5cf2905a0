"""Chats and other services of apprise, which people are told by and do not answer by."""

from threading import Thread

from bot.frontends import Notice, UnfitAddressError
from bot.system.config import Config

TIMEOUT_S = 30.0  # for all of a sending: who answers slowly holds up no other notice
SCHEMES = ("",)  # any address that no other front-end serves


def knows_repeats(_address: str) -> bool:
    """Return False: most services show a repeated notice as another one."""
    return False


def send_notice(config: Config, address: str, notice: Notice) -> bool:  # noqa: ARG001 -- others need it
    """Send the lines of a notice."""
    try:
        import apprise  # of an extra: nobody who is told nothing needs it
    except ImportError:
        raise UnfitAddressError("notices need a package: pip install 'cardinal-board[notices]'") from None
    service = apprise.Apprise()
    if not service.add(address):
        raise UnfitAddressError("its address is none that apprise knows: `cardinal notify add` it again")
    text = {"title": notice.title, "body": notice.text, "body_format": apprise.NotifyFormat.TEXT}
    accepted = list[bool]()
    # One service after the other, in a thread that can be left: their time limits are for each read.
    sending = Thread(target=lambda: accepted.extend(bool(it.notify(**text)) for it in service), daemon=True)
    sending.start()
    sending.join(TIMEOUT_S)
    return not sending.is_alive() and bool(accepted) and all(accepted)
