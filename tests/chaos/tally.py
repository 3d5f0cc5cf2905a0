"""What must be true of the forge and the ledger once the story has ended, whatever broke on the way."""

import re
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine

from forge.demo.people import REPOSITORY, Json
from forge.demo.stage import BOT, Stage
from ledger.events.publication import EntryGivenUp
from ledger.log import event_store, hash_chain
from ledger.queue import inbox, outbox, refresh_requests
from tests.waiting import LIMIT_S, until

MARKER = re.compile(r"<!-- cardinal:(\S+):[0-9a-f]{64} -->")
COMMIT = re.compile(r"`?\b[0-9a-f]{7}\b`?")
SPOKEN = re.compile(r"^(run:r1|run:r2|plan:r1:1|plan:r1:2|question:r1-q1|report:r1|report:r2)$")
ONCE = {
    "run:r1": 1,
    "run:r2": 1,
    "plan:r1:1": 1,
    "plan:r1:2": 1,
    "question:r1-q1": 1,
    "report:r1": 1,
    "report:r2": 1,
}
HEADLINES = {
    "Plan of run r1": 2,
    "Question of run r1: answered": 1,
    "Run r1 is done": 2,  # the sticky comment and the report
    "Run r2 is done": 2,
}


@dataclass(frozen=True, slots=True)
class Tally:
    """What a team sees in the end, without ids and times."""

    column: str
    face: tuple[tuple[str, str], ...]
    comments: tuple[tuple[str, int], ...]
    assistant: tuple[str, ...]
    headlines: tuple[tuple[str, int], ...]
    pulls: tuple[tuple[str, bool], ...]
    threads: tuple[tuple[bool, int], ...]
    branches: tuple[str, ...]


def settled(engine: Engine, limit_s: float = LIMIT_S) -> None:
    """Wait until nothing waits in the ledger any more."""

    def calm() -> bool:
        with event_store.reading(engine) as db:
            counts = inbox.delivery_counts(db)
            waiting = (
                counts["waiting"]
                + counts["claimed"]
                + len(refresh_requests.list_requested_cards(db, limit=1))
            )
            return not waiting and not _open(db)

    until(calm, "nothing waits in the ledger any more", limit_s)


def _open(db: Connection) -> list[str]:
    """Return what still waits in the outbox; the board's ticker may wait for the rate budget."""
    waiting = outbox.stuck(db, datetime.now(UTC), older_than_s=0)
    return [entry.key for entry in waiting if entry.act != "update_ticker"]


def check_ledger(engine: Engine) -> None:
    """The chain is whole; nothing was quarantined, given up or is stuck."""
    with event_store.reading(engine) as db:
        assert hash_chain.verify_chain(db).events == event_store.last_seq(db)
        assert inbox.list_quarantined(db) == (), inbox.list_quarantined(db)
        given_up = [
            one.event for one in event_store.read(db, limit=1_000_000) if isinstance(one.event, EntryGivenUp)
        ]
        assert given_up == [], given_up
        assert _open(db) == [], _open(db)


def count(stage: Stage) -> Tally:
    """Look at the forge alone."""
    state = stage.team.state()
    there: Json = state["repositories"][REPOSITORY]
    pulls = [one for one in there["pulls"].values() if one["head"].startswith(f"cardinal/{stage.number}-")]
    said = [_said(one) for one in (there["issues"][str(stage.number)], *pulls)]
    bodies = [body for some in said for body in some]
    # Commits have other names in each story.
    lines = [
        (key, COMMIT.sub("`commit`", _first(body)))
        for body in bodies
        for key in MARKER.findall(body.rpartition("\n")[2])
    ]
    keys = Counter(key for key, _ in lines)
    card = stage.card()
    face = {name: str(text) for name, text in card["fields"].items() if name in ("Agent", "PR", "Status")}
    return Tally(
        column=card["column"],
        face=tuple(sorted(face.items())),
        comments=tuple(sorted((key, times) for key, times in keys.items() if SPOKEN.match(key))),
        assistant=tuple(sorted(line for key, line in lines if key.startswith("say:"))),
        headlines=tuple((words, sum(words in _first(body) for body in bodies)) for words in HEADLINES),
        pulls=tuple((one["head"], one["merged"]) for one in pulls),
        threads=tuple((one["resolved"], len(one["comments"])) for pull in pulls for one in pull["threads"]),
        branches=tuple(sorted(there["branches"])),
    )


def check_once(tally: Tally) -> None:
    """Everything was said exactly once and the one pull request is merged."""
    assert dict(tally.comments) == ONCE
    assert dict(tally.headlines) == HEADLINES
    assert tally.column == "Done"
    assert [merged for _, merged in tally.pulls] == [True]
    assert tally.threads == ((True, 2), (True, 2))
    assert tally.branches == ("main",)


def _said(one: dict[str, Any]) -> list[str]:
    return [comment["body"].rstrip() for comment in one["comments"] if comment["author"] == BOT]


def _first(body: str) -> str:
    return body.splitlines()[0]
