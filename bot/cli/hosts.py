"""`cardinal hosts`: the machines that work on this ledger's runs."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial

import click
from sqlalchemy import Connection

from bot.cli import _home
from bot.cli._show import ago, clean, json_option, show, table
from ledger.errors import CardinalError
from ledger.queries.hosts import statuses
from ledger.queue import hosts

HEADS = ("host", "state", "heartbeat", "runs", "labels", "version")


class UnlistedHostError(CardinalError):
    """No host has that name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(f"no host is known as {clean(name)}: `cardinal hosts` lists them")


class LivingHostError(CardinalError):
    """A host that lives cannot be removed: its next heartbeat would bring it back."""

    def __init__(self, name: str) -> None:
        self.name = name
        seconds = hosts.DEAD_AFTER.total_seconds()
        super().__init__(
            f"{clean(name)} lives: `cardinal hosts --drain` keeps runs from it; stop Cardinal there, and"
            f" remove it {seconds:.0f} s later"
        )


READS = True


@click.command("hosts")
@click.option("--drain", metavar="HOST", help="Let this host take no more runs; those at work there go on.")
@click.option("--undrain", metavar="HOST", help="Let this host take runs again.")
@click.option("--remove", metavar="HOST", help="Forget this host, which is dead.")
@json_option
def command(drain: str | None, undrain: str | None, remove: str | None, as_json: bool) -> None:
    """List the hosts; drain or remove one first, where asked.

    Each with its last heartbeat, the runs at work and its places for them, labels and version. A run
    that waits on a drained host goes on elsewhere: from its newest checkpoint where hosts share a store
    (CARDINAL_STORE), else from the state on GitHub.

    \b
    Examples:
      cardinal hosts
      cardinal hosts --drain build-2
    """
    draining, undraining = partial(hosts.drain, drained=True), partial(hosts.drain, drained=False)
    for name, change in ((drain, draining), (undrain, undraining), (remove, _remove)):
        if name is not None:
            _change(name, partial(change, name=name))
    with _home.open_for_reading() as db:
        listed = statuses(db)
    documents = [
        {**asdict(host.row), "state": host.state, "runs": len(host.runs), "run_ids": host.runs}
        for host in listed
    ]
    rows = (
        (
            host.row.name,
            host.state,
            ago(host.row.seen_at, host.at),
            host.used,
            " ".join(host.row.labels),
            host.row.version,
        )
        for host in listed
    )
    show(documents, as_json=as_json, text=lambda: table(HEADS, rows, empty="no host was seen yet"))


def _remove(db: Connection, name: str) -> bool:
    known = hosts.known_hosts(db)
    if any(row.name == name and known.is_alive(row) for row in known.rows):
        raise LivingHostError(name)
    return hosts.remove_host(db, name)


def _change(name: str, change: Callable[[Connection], bool]) -> None:
    """Change the host in one transaction. Raises UnlistedHostError where there is none."""
    with _home.open_for_writing() as db:
        if not change(db):
            raise UnlistedHostError(name)
