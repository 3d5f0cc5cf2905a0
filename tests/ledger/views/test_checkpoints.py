"""Checkpoints at which another run can begin: the newest of each point, and what a fork began with."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Engine

from ledger.events.branch import RunChosen
from ledger.events.run import RunEnded
from ledger.events.workspace import Checkpointed, WorkspaceTaken
from ledger.ids import RunId
from ledger.log import event_store
from ledger.states import Ending, RunKind
from ledger.views import checkpoints, workspaces
from tests.ledger.samples import CARD, NOW, RUN, card_seen, run_queued

FORK, LONG = RunId("r2"), timedelta(days=99)
QUEUED = replace(run_queued(FORK, CARD), kind=RunKind.RERUN, again_of=RUN, forked_at="question")


def kept(digit: str, point: str = "") -> Checkpointed:
    return Checkpointed(RUN, CARD, 1, "b", "a" * 40, "a" * 40, digit * 64, point=point)


def test_the_newest_of_each_point_is_kept_and_a_fork_s_own_as_long_as_it_lives(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, card_seen(CARD, 1), run_queued(RUN, CARD), at=NOW)
        event_store.append(db, kept("1", "plan"), kept("2", "question"), kept("3"), at=NOW)
        assert checkpoints.list_points(db, RUN) == ("question", "plan")
        newest = checkpoints.of_place(db, CARD)
        assert newest is not None
        assert newest.bundle == "3" * 64
        event_store.append(db, QUEUED, kept("4", "question"), at=NOW)
        origin = checkpoints.get(db, FORK, checkpoints.ORIGIN)
        assert origin is not None
        assert (origin.bundle, origin.point) == ("2" * 64, "origin")
        assert checkpoints.list_points(db, FORK) == ()

        def held() -> str:
            return "".join(it for it in "1234" if checkpoints.is_in_checkpoint(db, it * 64, NOW + LONG))

        assert held() == "124"
        end = RunEnded(RUN, Ending.SUCCEEDED, "", "", "")
        event_store.append(db, end, at=NOW)
        assert held() == "2"
        event_store.append(db, replace(end, run_id=FORK), at=NOW)
        assert held() == ""
        assert checkpoints.is_in_checkpoint(db, "1" * 64, NOW)


def test_a_chosen_run_s_checkpoint_is_that_of_the_card_s_workspace(ledger: Engine) -> None:
    again = f"again-{FORK}"
    with event_store.writing(ledger) as db:
        event_store.append(db, card_seen(CARD, 1), run_queued(RUN, CARD), at=NOW)
        event_store.append(
            db, WorkspaceTaken(RUN, CARD, "b", 1), kept("1"), replace(QUEUED, forked_at=""), at=NOW
        )
        event_store.append(db, WorkspaceTaken(FORK, again, "c", 2), at=NOW)
        event_store.append(db, replace(kept("2"), run_id=FORK, place=again), kept("3"), at=NOW)
        event_store.append(db, RunChosen(CARD, FORK, "cardinal/b", RUN, "bob"), at=NOW)
        newest, claim = checkpoints.of_place(db, CARD), workspaces.get(db, CARD)
        assert newest is not None
        assert claim is not None
        assert (newest.run_id, newest.bundle) == (FORK, "2" * 64)
        assert (claim.run_id, claim.generation, claim.host, claim.cleaned_run) == (FORK, 2, "c", FORK)
