"""Which folder a run works in: that of its column, or of the card at the top of its sub-cards."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from bot.reactor.run_requests import queue_run
from ledger.events.board import CardSeen
from ledger.events.related import LinksSeen
from ledger.events.run import RunQueued
from ledger.ids import CardId
from ledger.log import event_store
from ledger.states import RunKind
from rules.intents.internal import QueueRun
from rules.policy.model import parse
from tests.ledger.samples import BOARD, board_seen, card_seen, later

COLUMN = "In Progress: {archetype: execution, workspace: folder, folder: NAME}"


def part(card_id: str, above: str) -> LinksSeen:
    return LinksSeen(CardId(card_id), (), 0, above)


def elsewhere(card_id: str, number: int) -> CardSeen:
    return replace(card_seen(card_id, number), repository="acme/other")


def folder_of(
    engine: Engine, card_id: str, *links: LinksSeen, name: str = "card", mode: str = "folder", more: str = ""
) -> str:
    """Return the folder of a run of the card: one of five, of which the last one is of another repository."""
    text = f"version: 1\nboard:\n  columns:\n    {COLUMN.replace('NAME', name)}\n{more}"
    by = parse(text, home="acme/board")
    cards = (*(card_seen(f"PVTI_{number}", number) for number in range(1, 5)), elsewhere("PVTI_5", 5))
    with event_store.writing(engine) as db:
        for event in (board_seen(), *cards, *links):
            event_store.append(db, event, at=later(event_store.last_seq(db)))
        (queued,) = queue_run(
            db, by, QueueRun(CardId(card_id), RunKind.FIRST, "ann", plan_required=False, mode=mode)
        )
    assert isinstance(queued, RunQueued)
    return queued.folder


CHAIN = (part("PVTI_3", "acme/app#2"), part("PVTI_2", "acme/app#1"))
CIRCLE = (*CHAIN, part("PVTI_1", "acme/app#3"))
NAMED = "  private_issues: named\n"


@pytest.mark.parametrize(
    ("card_id", "links", "name", "more", "wanted"),
    [
        ("PVTI_1", (), "journal", "", "acme/app:journal"),
        ("PVTI_5", (), "journal", "", "acme/other:journal"),
        ("PVTI_5", (), "journal", NAMED, ":journal"),
        ("PVTI_4", CHAIN, "card", "", "acme/app:card/PVTI_4"),
        ("PVTI_3", CHAIN, "card", "", "acme/app:card/PVTI_1"),
        ("PVTI_3", CHAIN, "card", NAMED, ":card/PVTI_1"),
        ("PVTI_5", (part("PVTI_5", "acme/app#1"),), "card", "", "acme/other:card/PVTI_5"),
        ("PVTI_5", (part("PVTI_5", "acme/app#1"),), "card", NAMED, ":card/PVTI_1"),
        ("PVTI_3", (part("PVTI_3", "acme/gone#9"),), "card", "", "acme/app:card/PVTI_3"),
    ],
)
def test_a_folder_is_shared_by_cards_whose_readers_are_the_same(
    engine: Engine, card_id: str, links: tuple[LinksSeen, ...], name: str, more: str, wanted: str
) -> None:
    assert folder_of(engine, card_id, *links, name=name, more=more) == f"{BOARD}:{wanted}"


def test_issues_that_are_parts_of_each_other_in_a_circle_end_somewhere(engine: Engine) -> None:
    assert folder_of(engine, "PVTI_1", *CIRCLE).startswith(f"{BOARD}:acme/app:card/PVTI_")


@pytest.mark.parametrize(
    ("mode", "wanted"), [("fix", ""), ("investigate", ""), ("scratch", "scratch/PVTI_1")]
)
def test_other_modes_have_no_such_folder(engine: Engine, mode: str, wanted: str) -> None:
    assert folder_of(engine, "PVTI_1", mode=mode) == wanted
