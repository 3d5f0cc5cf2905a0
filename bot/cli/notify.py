"""`cardinal notify`: notices by chat or mail, and who gets them."""

import secrets
import sys
from itertools import starmap
from pathlib import Path

import click
from pydantic import ValidationError

from bot import frontends
from bot.cli import _home
from bot.cli._described import CommandGroup
from bot.cli._show import answer_rows, clean, json_option, show
from bot.frontends import NewsItem, Notice, UnfitAddressError
from bot.outbox import subscribers
from bot.system.clock import utc_now
from ledger.errors import CardinalError
from rules.chatops.notices import DIGEST_MINUTES, Subscriber
from rules.intents.outbound import NoticeKind

QUIET = " and ".join(kind for kind in NoticeKind if not kind.is_loud)


class NotifyError(CardinalError):
    """A subscriber is unknown, has impossible settings, or cannot be reached."""


def _address() -> str:
    """Return the line of standard input. A hidden prompt would read the terminal, whatever stdin is."""
    if sys.stdin.isatty():
        prompt = "Its address, such as mail:alice@example.com or slack://… (hidden)"
        return str(click.prompt(prompt, hide_input=True, err=True)).strip()
    if address := sys.stdin.readline().strip():
        return address
    raise NotifyError("no address on standard input: `cardinal notify add --help` has an example")


@click.group("notify", cls=CommandGroup)
def command() -> None:
    """Send notices outside GitHub."""


@command.command("add")
@click.argument("name")
@click.option("--channel", is_flag=True, help="NAME is a name you choose for a channel, not a GitHub login.")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([str(kind) for kind in NoticeKind]),
    help="Kinds of notices; all by default.",
)
@click.option(
    "--board", "boards", multiple=True, metavar="OWNER/NUMBER", help="Only from these boards; all by default."
)
@click.option("--mine", is_flag=True, help="Only about runs that this person started.")
@click.option("--quiet", default="00:00-00:00", metavar="HH:MM-HH:MM", help="Hours when nothing is sent.")
@click.option("--time-zone", default="UTC", show_default=True, help="The time zone of these hours.")
@click.option(
    "--digest",
    default=DIGEST_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help=f"Send {QUIET} only every MINUTES, at once with 0. Other kinds never wait for it.",
)
@click.option("--escalate-to", default="", metavar="NAME", help="Who gets unanswered questions.")
@click.option("--after-hours", default=4, show_default=True, help="Hours until they are passed on.")
@json_option
def _add(
    name: str, kinds: tuple[str, ...], boards: tuple[str, ...], quiet: str, time_zone: str, digest: int,
    escalate_to: str, after_hours: int, *, channel: bool, mine: bool, as_json: bool,
) -> None:  # fmt: skip
    """Subscribe a person, by GitHub login, or a channel.

    The address is read from standard input: mail:alice@example.com, webhook+https://…, or an apprise URL such
    as slack://…. It is stored in `notices.json` in the home.

    \b
    Examples:
      cardinal notify add alice --kind question --quiet 22:00-07:00 --time-zone Europe/Berlin
      cardinal notify add ops --channel --kind spend --kind stopped < address.txt
    """
    address = _address()
    begin, _, end = quiet.partition("-")
    settings = {
        "address": address, "channel": channel, "kinds": kinds or tuple(NoticeKind), "boards": boards,
        "mine": mine, "time_zone": time_zone, "quiet_from": begin, "quiet_until": end,
        "digest_minutes": digest, "escalate_to": escalate_to, "escalate_hours": after_hours,
    }  # fmt: skip
    try:
        subscriber = Subscriber.model_validate(settings)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise NotifyError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}: see --help") from None
    known = {**subscribers.read(_folder()), name: subscriber}
    if escalate_to:
        _require(known, escalate_to)
    subscribers.write(_folder(), known)
    said = f"{clean(name)} will get notices. Send a first one: `cardinal notify test {clean(name)}`"
    show(_document(name, subscriber), as_json=as_json, text=lambda: (said,))


@command.command("list")
@json_option
def _list(as_json: bool) -> None:
    """List the subscribers, without their addresses.

    \b
    Example:
      cardinal notify list --json
    """
    known = subscribers.read(_folder())
    documents = [_document(name, subscriber) for name, subscriber in known.items()]
    rows = answer_rows(starmap(_row, known.items()), empty="no subscribers")
    show(documents, as_json=as_json, text=lambda: rows)


def _document(name: str, subscriber: Subscriber) -> dict[str, object]:
    return {"name": name, **subscriber.model_dump(mode="json", exclude={"address"})}


def _row(name: str, subscriber: Subscriber) -> dict[str, str]:
    quiet = f"{subscriber.quiet_from:%H:%M}-{subscriber.quiet_until:%H:%M} {subscriber.time_zone}"
    escalation = f"to {subscriber.escalate_to} after {subscriber.escalate_hours} h"
    return {
        "name": name,
        "kinds": ", ".join(subscriber.kinds),
        "boards": ", ".join(subscriber.boards) or "all",
        "quiet": quiet if subscriber.quiet_from != subscriber.quiet_until else "",
        "digest": f"{subscriber.digest_minutes} min" if subscriber.digest_minutes else "",
        "escalates": escalation if subscriber.escalate_to else "",
    }


@command.command("remove")
@click.argument("name")
@json_option
def _remove(name: str, as_json: bool) -> None:
    """Stop sending notices to NAME.

    \b
    Example:
      cardinal notify remove alice
    """
    known = subscribers.read(_folder())
    _require(known, name)
    subscribers.write(_folder(), {other: subscriber for other, subscriber in known.items() if other != name})
    show({"removed": name}, as_json=as_json, text=lambda: (f"{clean(name)} no longer gets notices",))


@command.command("test")
@click.argument("name")
@json_option
def send(name: str, as_json: bool) -> None:
    """Send a notice to NAME now.

    \b
    Example:
      cardinal notify test alice
    """
    config = _home.settings()
    subscriber = _require(subscribers.read(config.home), name)
    key, item = f"test:{secrets.token_hex(8)}", NewsItem("Cardinal's notices arrive here.", {})
    try:
        send_notice = frontends.front_end_of(subscriber.address).send_notice
        accepted = send_notice(config, subscriber.address, Notice(key, utc_now(), "Cardinal", name, (item,)))
    except UnfitAddressError as error:
        raise NotifyError(error.because) from error
    if not accepted:
        raise NotifyError(f"{clean(name)}'s service did not accept it: check the address and the network")
    show({"sent": name}, as_json=as_json, text=lambda: (f"sent to {clean(name)}",))


def _require(known: dict[str, Subscriber], name: str) -> Subscriber:
    if name not in known:
        raise NotifyError(f"{clean(name)} is not a subscriber: `cardinal notify list` names them")
    return known[name]


def _folder() -> Path:
    return _home.settings().home
