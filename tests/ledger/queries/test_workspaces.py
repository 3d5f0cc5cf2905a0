"""Workspaces are listed with what only they have, and without those that are gone."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, Engine

from ledger.event import Event
from ledger.events.run import RunClaimed, RunEnded, RunParked, RunRequeued
from ledger.events.workspace import (
    Checkpointed,
    WorkspaceCleanAsked,
    WorkspaceCleaned,
    WorkspaceKept,
    WorkspaceTaken,
)
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import workspaces
from ledger.queries.workspaces import WorkspaceFilter
from ledger.states import CardState, Ending
from ledger.views import checkpoints
from tests.ledger.samples import CARD, NOW, RUN, card_seen, run_queued

KEPT = Checkpointed(
    RUN, CARD, 1, "b", "1" * 40, "2" * 40, bundle="d" * 64, uncommitted=("a.txt",), uncommitted_files=3,
    disk_bytes=7_000_000,
)  # fmt: skip
TAKEN = WorkspaceTaken(RUN, CARD, "b", 1)
CLAIMED = RunClaimed(RUN, 1, "w", "b")
ASKED = WorkspaceCleanAsked(CARD, CARD, "b", "bob")
GONE = WorkspaceCleaned(CARD, CARD, "b", RUN, "bob")


def end(ending: Ending, reason: str = "") -> RunEnded:
    return RunEnded(RUN, ending, reason, "", "working")


def story(db: Connection, *events: Event) -> None:
    event_store.append(db, card_seen(), run_queued(), *events, at=NOW)


@pytest.mark.parametrize(
    ("events", "unsaved"),
    [
        ((TAKEN, KEPT, end(Ending.FAILED, "validation")), ""),
        ((TAKEN, end(Ending.FAILED, "validation")), "no checkpoint"),
        ((TAKEN, KEPT, replace(TAKEN, generation=2), end(Ending.FAILED)), "no checkpoint"),
        ((TAKEN, KEPT, end(Ending.LOST, "gave_up")), "since its last checkpoint"),
        ((TAKEN, KEPT, end(Ending.FAILED, "hung")), "since its last checkpoint"),
        (
            (RunClaimed(RUN, 1, "w", "b"), TAKEN, KEPT, RunRequeued(RUN, "reclaimed")),
            "since its last checkpoint",
        ),
        ((TAKEN, replace(KEPT, left_out=("the session: large",)), RunParked(RUN, "question")), "large"),
        ((TAKEN, end(Ending.SUCCEEDED)), ""),
        ((replace(TAKEN, place=f"look-{CARD}"), end(Ending.FAILED)), ""),
        ((replace(TAKEN, place=f"look-{CARD}"), RunParked(RUN, "question")), "no checkpoint"),
    ],
)
def test_what_only_the_workspace_has_is_named(
    ledger: Engine, events: tuple[Event, ...], unsaved: str
) -> None:
    with event_store.writing(ledger) as db:
        story(db, *events)
        (listed,) = workspaces.of_card(db, CARD)
        assert unsaved in "; ".join(listed.unsaved)
        assert bool(listed.unsaved) == bool(unsaved)


def test_size_and_uncommitted_files_are_those_of_the_newest_checkpoint(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        story(db, TAKEN, KEPT, end(Ending.FAILED))
        (listed,) = workspaces.of_card(db, CARD)
        assert (listed.host, listed.run_id, listed.disk_bytes) == ("b", RUN, 7_000_000)
        assert (listed.uncommitted, listed.uncommitted_files) == (("a.txt",), 3)


@pytest.mark.parametrize(
    ("events", "shown"),
    [
        ((ASKED,), "bob"),
        ((ASKED, replace(TAKEN, generation=2)), ""),  # a run took it since
        ((ASKED, WorkspaceKept(CARD, CARD, "b", "bob", ("x",))), ""),
        ((replace(ASKED, host="c"),), ""),  # of a host that has it no more
        ((ASKED, GONE), None),
        ((ASKED, GONE, replace(TAKEN, generation=2)), ""),
        ((replace(TAKEN, generation=2, host="c"), GONE), ""),  # that was the one on b
    ],
)
def test_a_request_holds_until_its_host_answers_or_a_run_takes_the_workspace(
    ledger: Engine, events: tuple[Event, ...], shown: str | None
) -> None:
    with event_store.writing(ledger) as db:
        story(db, TAKEN, KEPT, end(Ending.FAILED), *events)
        listed = workspaces.of_card(db, CARD)
        assert [it.clean_by for it in listed] == ([] if shown is None else [shown])


@pytest.mark.parametrize(
    ("wanted", "places"),
    [
        ({}, ["PVTI_1", "PVTI_2"]),
        ({"host": "c"}, ["PVTI_2"]),
        ({"min_bytes": 7_000_000}, ["PVTI_1"]),
        ({"min_bytes": 7_000_001}, []),
        ({"before": NOW + timedelta(days=1)}, ["PVTI_1"]),
        ({"column": "In Progress"}, ["PVTI_1", "PVTI_2"]),
        ({"column": "Done"}, []),
        ({"state": CardState.ARCHIVED}, []),
    ],
)
def test_a_filter_narrows_the_list(ledger: Engine, wanted: dict[str, Any], places: list[str]) -> None:
    with event_store.writing(ledger) as db:
        story(db, TAKEN, KEPT)
        later = NOW + timedelta(days=1)
        event_store.append(db, card_seen("PVTI_2", 2), run_queued("r2", "PVTI_2"), at=NOW)
        event_store.append(db, WorkspaceTaken(RunId("r2"), "PVTI_2", "c", 1), at=later)
        listed = workspaces.longest_unused(db, None, WorkspaceFilter(**wanted), limit=9)
        assert [it.workspace.place for it in listed] == places
        assert workspaces.longest_unused(db, [], limit=9) == ()
        one = workspaces.longest_unused(db, None, card_id=CardId("PVTI_2"), limit=9)
        assert [it.card.card_id for it in one] == ["PVTI_2"]


def test_the_checkpoint_of_a_removed_workspace_is_kept_as_long_as_a_new_one(ledger: Engine) -> None:
    digest, later = "d" * 64, NOW + timedelta(days=30)
    with event_store.writing(ledger) as db:
        story(db, TAKEN, KEPT, end(Ending.FAILED))
        assert not checkpoints.is_in_checkpoint(db, digest, later)
        event_store.append(db, GONE, at=later)
        assert checkpoints.is_in_checkpoint(db, digest, later)
        assert not checkpoints.is_in_checkpoint(db, digest, later + timedelta(days=1))
