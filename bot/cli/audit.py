"""`cardinal audit verify`: whether the event log is what was written."""

import click

from bot.cli import _desk
from bot.cli._show import json_option, show
from ledger import chain
from ledger.errors import BrokenChainError


@click.group("audit")
def command() -> None:
    """Work with the event log."""


@command.command("verify")
@json_option
def verify(as_json: bool) -> None:
    """Check every event's digest against the one before it. Exit code 1 when the chain is broken."""
    try:
        with _desk.reading() as db:
            report = chain.verify(db)
    except BrokenChainError as error:
        broken = {"whole": False, "broken_at": error.seq}
        show(broken, as_json=as_json, text=lambda error=error: (str(error),))  # type: ignore[misc]
        raise SystemExit(1) from error
    found = {"whole": True, "events": report.events, "head": report.head}
    show(found, as_json=as_json, text=lambda: (f"{report.events} events, whole, head {report.head}",))
