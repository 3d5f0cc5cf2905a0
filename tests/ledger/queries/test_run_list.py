"""Which runs a list has, for whom, in which order; and what it offers to choose."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from ledger.events.board import CardSeen
from ledger.events.run import (
    PlanProposed,
    QuestionAsked,
    RunClaimed,
    RunEnded,
    RunParked,
    RunQueued,
    RunStepped,
)
from ledger.ids import CardId, QuestionId, RunId
from ledger.log import event_store
from ledger.queries import run_list
from ledger.queries.card_filter import CardScope
from ledger.queries.run_list import ALL, RunFilter
from ledger.states import CardState, Ending, RunState, RunStatus
from ledger.views import runs
from tests.ledger.samples import BOARD, NOW, board_seen, run_queued

EVERYTHING = CardScope(BOARD)
SHOP = CardScope(BOARD, frozenset({"acme/shop"}), drafts=False)
S = RunStatus


def card(name: str, number: int | None, repository: str | None = "acme/shop") -> CardSeen:
    where = (repository if number else None, number, f"Card {name}", "", "ann", "In Progress")
    return CardSeen(CardId(name), BOARD, f"I_{name}", *where, CardState.QUEUED, ())


def queued(name: str, card_id: str, **other: Any) -> RunQueued:
    return replace(run_queued(name, card_id), repository=other.pop("repository", "acme/shop"), **other)


def held(run: str) -> tuple[RunClaimed, RunStepped]:
    claimed, run_id = RunState.CLAIMED, RunId(run)
    return RunClaimed(run_id, 1, "w"), RunStepped(run_id, claimed, RunState.PREPARING)


def ended(run: str, ending: Ending, reason: str = "") -> RunEnded:
    return RunEnded(RunId(run), ending, reason, "", "preparing")


@pytest.fixture
def db(ledger: Engine) -> Iterator[Connection]:
    """A run of each status, the oldest of which is a day older, and of other repositories, people etc."""
    planning, run_id = RunState.PLANNING, RunId("r5")
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            *(board_seen(), card("a", 1), card("b", 2, "acme/secret"), card("c", None)),
            queued("r1", "a", by="Bob"),
            ended("r1", Ending.FAILED, "validation"),
            at=NOW - timedelta(days=1),
        )
        event_store.append(
            db,
            *(queued("r2", "a"), *held("r2")),
            *(
                queued("r3", "a", agent="claude"),
                *held("r3"),
                RunStepped(RunId("r3"), RunState.PREPARING, planning),
            ),
            *(PlanProposed(RunId("r3"), 1, "Plan", ("Read",)),),
            RunStepped(RunId("r3"), planning, RunState.AWAITING_APPROVAL),
            *(queued("r4", "b", by="bob"), RunParked(RunId("r4"), "pause")),
            *(queued("r5", "a"), *held("r5"), QuestionAsked(run_id, QuestionId("q1"), "agent", "Which?", ())),
            RunParked(run_id, "question"),
            *(queued("r6", "b", repository="acme/secret", by="eve"), ended("r6", Ending.LOST)),
            *(queued("r7", "a", repository="acme/secret"), ended("r7", Ending.CANCELLED, "stopped")),
            *(queued("r8", "c"), ended("r8", Ending.SUCCEEDED)),
            *(queued("r9", "c", repository=""),),
            at=NOW,
        )
        yield db


def names(db: Connection, run_filter: RunFilter = ALL, scope: CardScope = EVERYTHING, **page: Any) -> str:
    listed = run_list.newest(db, [scope], run_filter, limit=page.pop("limit", 99), **page)
    return "".join(listed_run.run.run_id.removeprefix("r") for listed_run in listed)


CASES = (
    (ALL, "987654321"),
    (RunFilter(status=S.QUEUED), "9"),
    (RunFilter(status=S.WORKING), "2"),
    (RunFilter(status=S.NEEDS_INPUT), "53"),
    (RunFilter(status=S.PAUSED), "4"),
    (RunFilter(status=S.FAILED), "1"),
    (RunFilter(repositories=("acme/secret",)), "764"),  # of the work, or of the issue
    (RunFilter(people=("Bob", "bob")), "41"),
    (RunFilter(agents=("claude",)), "3"),
    (RunFilter(reasons=("validation", "stopped")), "71"),
    (RunFilter(since=NOW), "98765432"),
    (RunFilter(card_id=CardId("c")), "98"),
    (RunFilter(status=S.FAILED, people=("bob",)), ""),
    (RunFilter(people=("' OR '1'='1",)), ""),
)


def test_a_filter_lists_the_runs_that_have_all_of_it(db: Connection) -> None:
    for run_filter, listed in CASES:
        assert (names(db, run_filter), run_filter) == (listed, run_filter)
        assert run_list.count_runs(db, [EVERYTHING], run_filter) == len(listed)


def test_every_run_has_the_one_status_by_which_it_is_found(db: Connection) -> None:
    found = {name: status for status in S for name in names(db, RunFilter(status=status))}
    rows = [runs.get(db, RunId(f"r{number}")) for number in range(1, 10)]
    assert {row.run_id.removeprefix("r"): row.status for row in rows if row} == found
    assert set(found.values()) == set(S)
    assert sum(len(names(db, RunFilter(status=status))) for status in S) == len(rows)


def test_a_run_is_listed_for_who_may_read_its_work_and_its_issue(db: Connection) -> None:
    assert (names(db, scope=SHOP), run_list.count_runs(db, [SHOP])) == ("85321", 5)
    offered = run_list.run_choices(db, [SHOP])
    assert (offered.repositories, offered.reasons) == (("acme/shop",), ("validation",))
    assert not {"eve", "acme/secret", "stopped"} & {*offered.repositories, *offered.people, *offered.reasons}
    everything = run_list.run_choices(db, [EVERYTHING])
    assert {"eve", "Bob", "bob"} <= {*everything.people}
    assert run_list.run_choices(db, []) == run_list.RunChoices()
    assert run_list.newest(db, [], limit=9) == ()


def test_a_page_continues_behind_a_run(db: Connection) -> None:
    assert names(db, limit=4) == "9876"
    assert names(db, limit=4, after=RunId("r6")) == "5432"
    assert names(db, limit=4, offset=8) == "1"
    assert names(db, RunFilter(status=S.NEEDS_INPUT), after=RunId("r5")) == "3"
    assert names(db, after=RunId("r1")) == names(db, after=RunId("r99")) == ""
