"""Comparison of the event log with its heads in Cardinal's checks on GitHub.

Whoever has the ledger's file can write another history with digests that fit, but not the copies on GitHub.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Engine

from bot.github.api import repositories
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, PermissionMissingError
from bot.render.pull.gate_check import NAME, read_log_head
from ledger.log import event_store, hash_chain

MAX_PULLS = 100  # of each repository, the newest changed first


@dataclass(frozen=True, slots=True)
class Compared:
    """The count of published heads, and the place of each that the log contradicts."""

    heads: int
    differs: tuple[str, ...]


def compare(engine: Engine, hub: Hub) -> Compared:
    """Compare the log with every head in the checks of the newest pull requests. Raises GithubError.

    GitHub says in which repositories: a ledger that was written anew may not name them.
    """
    there = sorted(str(repository["full_name"]) for repository in repositories.reachable(hub))
    heads = [head for place in there for head in _list_published(hub, place)]
    with event_store.reading(engine) as db:
        differs = tuple(
            f"{where} has a different digest for event {head.events}"
            for where, head in heads
            if hash_chain.digest_at(db, head.events) != head.head
        )
    return Compared(len(heads), differs)


def _list_published(hub: Hub, repository: str) -> Iterator[tuple[str, hash_chain.ChainReport]]:
    root = repository_path(repository)
    newest = {"state": "all", "sort": "updated", "direction": "desc", "per_page": MAX_PULLS}
    try:
        pulls = hub.rest("GET", f"{root}/pulls", params=newest).body
    except (NotFoundError, PermissionMissingError):  # Cardinal is not there any more
        return
    for pull in pulls:
        if (pull["user"] or {}).get("login") != hub.bot_login:
            continue  # the gate never saw it
        path = f"{root}/commits/{pull['head']['sha']}/check-runs"
        for run in hub.rest("GET", path, params={"check_name": NAME}).body["check_runs"]:
            slug = str((run.get("app") or {}).get("slug") or "")
            head = read_log_head(str((run.get("output") or {}).get("text") or ""))
            if f"{slug}[bot]" == hub.bot_login and head is not None:
                yield f"the check on {repository}#{pull['number']}", head
