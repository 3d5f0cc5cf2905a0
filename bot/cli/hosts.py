"""`cardinal hosts`: the machines that work on this ledger's runs."""

from collections.abc import Callable
from functools import partial

import click
from sqlalchemy import Connection

from bot.cli import _home
from bot.cli._show import answer_rows, clean, json_option, show
from bot.web.api.operations import list_hosts
from ledger.errors import CardinalError
from ledger.queue import hosts


class UnlistedHostError(CardinalError):
    """No host has that name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no host named {clean(name)}: `cardinal hosts` lists them")


class LivingHostError(CardinalError):
    """A host that lives cannot be removed: its next heartbeat would bring it back."""

    def __init__(self, name: str) -> None:
        self.name = name
        seconds = hosts.DEAD_AFTER.total_seconds()
        super().__init__(
            f"{clean(name)} is still alive: drain it with `cardinal hosts --drain`, stop Cardinal "
            f"there, and remove it {seconds:.0f} s later"
        )


@click.command("hosts")
@click.option("--drain", metavar="HOST", help="Send no more runs to this host; those already there continue.")
@click.option("--undrain", metavar="HOST", help="Send runs to this host again.")
@click.option("--remove", metavar="HOST", help="Remove a dead host from the list.")
@json_option
def command(drain: str | None, undrain: str | None, remove: str | None, as_json: bool) -> None:
    """List the hosts; with an option, drain or remove one first.

    Each host is shown with its last heartbeat, runs in use and in total, labels and version. A run that is
    waiting on a drained host continues elsewhere: from its newest checkpoint if the hosts share a store
    (CARDINAL_STORE), otherwise from the state on GitHub.

    \b
    Examples:
      cardinal hosts
      cardinal hosts --drain build-2
    """
    draining, undraining = partial(hosts.drain, drained=True), partial(hosts.drain, drained=False)
    for name, change in ((drain, draining), (undrain, undraining), (remove, _remove)):
        if name is not None:
            _change(name, partial(change, name=name))
    answer = _home.run_operation(list_hosts, {})
    rows = answer_rows(answer["hosts"], list_hosts.COLUMNS, empty="no hosts yet")
    show(answer, as_json=as_json, text=lambda: rows)


def _remove(db: Connection, name: str) -> bool:
    known_hosts = hosts.list_hosts(db)
    if any(row.name == name and known_hosts.is_alive(row) for row in known_hosts.rows):
        raise LivingHostError(name)
    return hosts.remove_host(db, name)


def _change(name: str, change: Callable[[Connection], bool]) -> None:
    """Change the host in one transaction. Raises UnlistedHostError where there is none."""
    with _home.open_for_writing() as db:
        if not change(db):
            raise UnlistedHostError(name)
