"""Whatever the order of drags, pushes and checks: what is merged was checked on that very base, and once."""

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from pydantic import TypeAdapter
from sqlalchemy import Engine, select

from bot.reactor import reactor
from ledger.db.tables import outbox
from ledger.event import Event
from ledger.events.board import BoardRemoved, CardExplained, CardMoved
from ledger.events.branch import BranchRebased
from ledger.events.policy import PolicyLoaded
from ledger.events.pull import MergeOutdated, PullChanged, PullOpened, ReviewSubmitted
from ledger.events.run import CHECK, RunClaimed, RunEnded, ValidationEnded
from ledger.ids import BoardId, CardId, RunId
from ledger.log import event_store
from ledger.queries import siblings
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import Ending, PullState, Reason
from ledger.views import cards, runs
from rules.intents.outbound import MergePull
from tests.ledger.samples import BOARD, board_seen, card_seen, later, run_queued
from tests.ledgers import new_ledger

POLICY = """
version: 1
board:
  limits: {automatic_runs_per_hour: 100}
  columns:
    In Progress: {archetype: execution}
    Review: {archetype: review}
    Done: {archetype: terminal, on_entry: [{action: merge, lane: true}]}
"""
CARDS = tuple(CardId(f"c{n}") for n in range(1, 5))


@dataclass
class Game:
    """A ledger with a repository that is a counter of bases, where runs and the publisher act when told."""

    engine: Engine
    base: str = "base-0"
    second: int = 0
    commits: int = 0
    merged: Counter[CardId] = field(default_factory=Counter)

    def happen(self, *events: Event) -> None:
        self.second += 1
        with event_store.writing(self.engine) as db:
            reactor.append_and_react(db, *events, now=later(self.second))

    def card(self, card_id: CardId) -> CardRow:
        with event_store.reading(self.engine) as db:
            row = cards.get(db, card_id)
        assert row is not None
        return row

    def checks(self) -> list[RunRow]:
        with event_store.reading(self.engine) as db:
            every = (runs.get(db, RunId(f"r{n}")) for n in range(1, 400))
            return [run for run in every if run and run.kind == CHECK and run.ending is None]

    def moves(self) -> None:
        self.commits += 1
        self.base = f"base-{self.commits}"

    def drag(self, card_id: CardId, column: str) -> None:
        here = self.card(card_id).column
        if here != column:
            self.happen(CardMoved(card_id, here, column, by_cardinal=False, by="ann", role="write"))

    def check(self, run: RunRow, outcome: str) -> None:
        """Carry a run out that only checks; the base may move in the middle."""
        before, base = self.card(run.card_id).pull_head, self.base
        self.happen(RunClaimed(run.run_id, 1, "w"))
        if outcome == "moves":
            self.moves()
        after = f"{run.card_id}-on-{base}"
        if outcome == "conflict":
            self.happen(RunEnded(run.run_id, Ending.FAILED, "conflict", "both change a.py", ""))
            return
        if outcome == "lost":
            self.happen(RunEnded(run.run_id, Ending.LOST, "gave_up", "", ""))
            return
        if run.rebases and after != before:
            self.happen(BranchRebased(run.run_id, run.card_id, run.branch, before, after, base, True))
        head, passed = self.card(run.card_id).pull_head, outcome != "fails"
        checked = ValidationEnded(run.run_id, 1, "full", passed, head, base, clean=True)
        ending = (Ending.SUCCEEDED, "") if passed else (Ending.FAILED, "validation")
        self.happen(checked, RunEnded(run.run_id, *ending, "", ""))

    def publish(self) -> bool:
        """Carry out the merges that wait, as the publisher does; return whether there was one."""
        with event_store.writing(self.engine) as db:
            query = select(outbox.c.entry_id, outbox.c.payload).where(outbox.c.act == "merge_pull")
            entry_id, payload = next(iter(db.execute(query.order_by(outbox.c.entry_id))), (None, ""))
            if entry_id is None:
                return False
            db.execute(outbox.delete().where(outbox.c.entry_id == entry_id))
            intent = TypeAdapter(MergePull).validate_json(payload)
            fresh = siblings.is_checked_on(db, intent.card_id, intent.head, self.base, rebased=True)
        row = self.card(intent.card_id)
        if row.pull_state != "open" or row.column != "Done" or row.pull_head != intent.head:
            return True
        number = row.pull_number or 0
        if not fresh:
            self.happen(MergeOutdated(intent.card_id, number, intent.head, self.base))
            return True
        assert intent.head == f"{intent.card_id}-on-{self.base}"  # the merged tree is the checked one
        self.merged[intent.card_id] += 1
        self.moves()
        self.happen(PullChanged(intent.card_id, number, PullState.MERGED, False, intent.head))
        return True


@pytest.fixture
def game(tmp_path: Path) -> Game:
    new_game = Game(new_ledger(f"sqlite:///{tmp_path / 'ledger.db'}"))
    new_game.happen(board_seen(), PolicyLoaded(BOARD, "d", POLICY, ""))
    for number, card_id in enumerate(CARDS, start=1):
        run_id, head = RunId(f"r{number}"), f"{card_id}-first"
        new_game.happen(card_seen(card_id, number, "Review"), run_queued(run_id, card_id))
        new_game.happen(RunClaimed(run_id, 1, "w"))
        new_game.happen(
            PullOpened(card_id, "acme/app", number, f"P{number}", f"cardinal/{run_id}", head, False)
        )
        new_game.happen(
            ValidationEnded(run_id, 1, "full", True, head, "base-0", clean=True),
            RunEnded(run_id, Ending.SUCCEEDED, "", "", ""),
        )
        new_game.happen(ReviewSubmitted(card_id, number, "bob", True, "approved", "", (), head))
    return new_game


def play(game: Game, chance: Random) -> None:
    match chance.choice(("drag", "drag", "back", "push", "check", "check", "publish", "publish")):
        case "drag":
            game.drag(chance.choice(CARDS), "Done")
        case "back":
            game.drag(chance.choice(CARDS), "Review")
        case "push":
            game.moves()
        case "check":
            outcomes = ("passes", "passes", "moves", "fails", "lost", "conflict")
            for run in game.checks()[:1]:
                game.check(run, chance.choice(outcomes))
        case "publish":
            game.publish()


def come_to_rest(game: Game) -> None:
    for _ in range(100):
        busy = game.publish()
        for run in game.checks():
            game.check(run, "passes")
            busy = True
        if not busy:
            return
    pytest.fail("it never came to rest")


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 100))]
)
def test_no_order_merges_what_was_not_checked_there_or_twice_or_waits_for_ever(game: Game, seed: int) -> None:
    chance = Random(seed)
    for _ in range(40):
        play(game, chance)
    come_to_rest(game)
    assert all(count == 1 for count in game.merged.values())
    left = [game.card(card_id) for card_id in CARDS]
    assert [row.card_id for row in left if row.reason in (Reason.MERGE_LANE, Reason.MERGE_TURN)] == []
    assert {row.card_id for row in left if row.pull_state == "merged"} == set(game.merged)


def test_a_leader_on_a_board_that_is_removed_holds_nobody_up(game: Game) -> None:
    """The repository is on two boards."""
    other = BoardId("PVT_other")
    event = replace(board_seen(), board_id=other, number=2)
    leader = replace(card_seen("c9", 9, "Done"), board_id=other)
    game.happen(event, PolicyLoaded(other, "d", POLICY, ""), leader)
    game.happen(PullOpened(leader.card_id, "acme/app", 9, "P9", "cardinal/r9", "c9-first", False))
    turn = CardExplained(leader.card_id, "1st in the merge lane", Reason.MERGE_TURN)
    game.happen(turn)
    game.drag(CARDS[0], "Done")
    assert game.card(CARDS[0]).reason is Reason.MERGE_LANE
    game.happen(BoardRemoved(other))
    assert game.card(CARDS[0]).reason is Reason.MERGE_TURN
