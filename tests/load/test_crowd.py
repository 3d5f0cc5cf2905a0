"""Many cards are dragged at once: each is delivered once, within the limits, and nothing is left over."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from forge.demo.people import Json
from ledger.events.run import (
    BranchPushed,
    FinalReported,
    RunClaimed,
    RunEnded,
    RunEvent,
    RunQueued,
    RunRequeued,
)
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import inbox
from ledger.states import Ending
from tests.chaos import tally
from tests.chaos.cardinal import Cardinal, living_in
from tests.chaos.victims import living
from tests.containers.engine import need_engine
from tests.load.crowd import (
    COLUMN_LIMIT,
    REPOSITORIES,
    REPOSITORY_LIMIT,
    Sight,
    cards,
    crowded,
    events,
    new_cards,
    say_figures,
)
from tests.load.limits import Most, most_held
from tests.waiting import until

MAX_S = 600.0
SETTLE_S = 300.0  # the deliveries about all that was done come in behind it
TIDY_S = 180.0  # a look a minute


@pytest.mark.timeout(MAX_S + SETTLE_S + 180)
@pytest.mark.parametrize("count", [6, pytest.param(20, marks=pytest.mark.soak)])
def test_cards_that_are_dragged_at_once_are_each_delivered_once_within_the_limits(
    tmp_path: Path, count: int
) -> None:
    need_engine()
    tmp_path.chmod(0o755)
    with crowded(tmp_path) as cardinal:
        sight = Sight(cardinal)
        try:
            wanted = new_cards(cardinal, [f"Card {number:02}" for number in range(count)])
            began = time.monotonic()
            for repository, number in wanted:
                cardinal.team.drag("alice", number, "In Progress", repository)
            until(lambda: _all_done(cardinal, wanted), "every card is done", MAX_S, 0.5)
            took_s = time.monotonic() - began
            until(lambda: _none_waits(cardinal), "every delivery is taken in", SETTLE_S, 0.5)
            tally.settled(cardinal.engine)
            tally.check_ledger(cardinal.engine)
            _check_limits(most_held(events(cardinal.engine)))
            _check_once(cardinal, count)
            _check_delivered(cardinal, count)
            until(lambda: _nothing_left(cardinal, sight), "nothing is left", TIDY_S, 0.5)
            assert sight.networks_and_volumes() <= sight.began
            everyone = cardinal.everyone()
            cardinal.stop()
            assert not living(everyone)
            assert living_in(tmp_path) == []
        finally:
            cardinal.stop()  # first: what still works would make new ones
            sight.close()
        say_figures(f"{count} cards at once", seconds=round(took_s, 1), load=round(os.getloadavg()[0], 1))


def _all_done(cardinal: Cardinal, wanted: list[tuple[str, int]]) -> bool:
    failed = [one for one in events(cardinal.engine, RunEnded) if one.ending is not Ending.SUCCEEDED]
    assert failed == []
    there = cards(cardinal)
    merged = sum(pull["merged"] for pull in _pulls(cardinal))
    return merged == len(wanted) and all(there.get(issue) == "Done" for issue in wanted)


def _none_waits(cardinal: Cardinal) -> bool:
    with event_store.reading(cardinal.engine) as db:
        return not inbox.delivery_counts(db)["waiting"]


def _pulls(cardinal: Cardinal) -> list[Json]:
    found = cardinal.team.state()["repositories"]
    return [pull for repository in REPOSITORIES for pull in found[repository]["pulls"].values()]


def _check_limits(most: Most) -> None:
    """They were never exceeded; and they were reached, or this would prove nothing."""
    assert most.by_column["In Progress"] == COLUMN_LIMIT
    assert max(most.by_repository[name] for name in REPOSITORIES) == REPOSITORY_LIMIT
    assert most.total == COLUMN_LIMIT


def _check_once(cardinal: Cardinal, count: int) -> None:
    queued = events(cardinal.engine, RunQueued)
    assert len({one.card_id for one in queued}) == len(queued) == count
    runs = {one.run_id for one in queued}
    for kind in (BranchPushed, FinalReported, RunEnded):
        assert _count_by_run(cardinal, kind) == Counter(runs), kind
    # A machine that stalls for longer than a lease hands runs back: for nothing else is one claimed again.
    requeued = events(cardinal.engine, RunRequeued)
    again = Counter(one.run_id for one in requeued)
    assert _count_by_run(cardinal, RunClaimed) == Counter(runs) + again, requeued


def _count_by_run(cardinal: Cardinal, kind: type[RunEvent]) -> Counter[RunId]:
    return Counter(one.run_id for one in events(cardinal.engine, kind))


def _check_delivered(cardinal: Cardinal, count: int) -> None:
    """One pull request for each card, all merged; each card's file is on main, and nothing else."""
    pulls = _pulls(cardinal)
    assert len(pulls) == len({pull["head"] for pull in pulls}) == count
    names = []
    for repository in REPOSITORIES:
        branches = cardinal.team.call("alice", "GET", f"/repos/{repository}/branches")
        assert [branch["name"] for branch in branches] == ["main"]
        listed = cardinal.team.call("alice", "GET", f"/repos/{repository}/contents/cards")
        names += [one["name"] for one in listed]
    assert sorted(names) == [f"card-{number:02}.txt" for number in range(count)]


def _nothing_left(cardinal: Cardinal, sight: Sight) -> bool:
    left = [path for name in ("workspaces", "gateways") for path in (cardinal.home / name).glob("*")]
    return not left and not sight.containers()
