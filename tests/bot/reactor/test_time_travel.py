"""Ledgers of earlier releases are folded and decided as they were, but where a file says why not."""

import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from ledger import codec
from ledger.log import event_store, hash_chain
from tests.bot.reactor import releases
from tests.bot.reactor.releases import Story
from tests.ledgers import new_ledger

ACCEPTED = tomllib.loads((releases.FOLDER / "accepted.toml").read_text(encoding="utf-8"))
RELEASES = sorted(path.stem for path in releases.FOLDER.glob("*.json"))


def differences(story: Story, engine: Engine) -> Iterator[tuple[str, str]]:
    """Yield the name of what is otherwise than it was recorded, and what it is now."""
    events = [
        (datetime.fromisoformat(at), codec.decode(kind, codec.canonical(body)))
        for at, kind, body in story.events
    ]
    with event_store.writing(engine) as db:
        seq = 0
        for moment in story.moments:
            for at, event in events[seq : moment.upto]:
                event_store.append(db, event, at=at)
            seq = max(seq, moment.upto)
            (recorded,) = event_store.read(db, after=moment.seq - 1, limit=1)
            now = datetime.fromisoformat(moment.now)
            decision = releases.decide_again(db, recorded, now)
            again = releases.moment_of(moment.seq, moment.upto, now, decision)
            if again != moment:
                was = f"{type(recorded.event).__name__} asked for {', '.join(moment.intents) or 'nothing'}"
                yield f"{story.name}: event {moment.seq}", f"{was}; now\n{releases.describe(decision)}"
        for at, event in events[seq:]:
            event_store.append(db, event, at=at)
        if hash_chain.verify_chain(db).head != story.head:
            yield f"{story.name}: hash chain", "an event is written otherwise than it was"
        views = releases.digest_views(db)
    for table, columns in story.views.items():
        for column, digest in columns.items():
            if views.get(table, {}).get(column) != digest:
                yield f"{table}.{column}", f"holds something else in the story {story.name}"


@pytest.mark.parametrize("release", RELEASES)
def test_a_release_is_decided_and_folded_as_it_was(release: str, tmp_path: Path) -> None:
    found: dict[str, str] = {}
    for story in releases.read(release):
        engine = new_ledger(f"sqlite:///{tmp_path}/{story.name}.db")
        found |= dict(differences(story, engine))
        engine.dispose()
    accepted = ACCEPTED.get(release, {})
    assert {name: now for name, now in found.items() if name not in accepted} == {}
    assert accepted.keys() - found.keys() == set(), "accepted, but as it was"


def test_the_first_release_is_kept() -> None:
    assert RELEASES[0] == "0.1.0"
    assert (releases.FOLDER / "0.1.0.json").stat().st_size < 200_000
