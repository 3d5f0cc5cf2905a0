"""Whose run it is, and whose card comes next: a command before a label, and none that is out of sight."""

from dataclasses import replace

from sqlalchemy import Engine

from ledger.events.board import LabelJudged
from ledger.events.instruction import AgentPinned
from ledger.events.run import RunClaimed, RunEnded
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.queries import agents
from ledger.queries.card_filter import CardScope
from ledger.states import CardState, Ending
from tests.ledger.queries.test_card_filter import card, run
from tests.ledger.samples import BOARD, NOW, board_seen

LABELS = {"@prober": "agent:prober", "codex": "agent:codex", "claude": ""}


def test_runs_and_cards_count_for_who_plays_them_where_they_are_in_sight(ledger: Engine) -> None:
    prober = {name: replace(run(name, name, "acme/shop", by="ann"), played_by="@prober") for name in "ab"}
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            board_seen(),
            card("a", 1, "One", CardState.DRAFT, "", "agent:prober"),
            card("b", 2, "Two", CardState.DRAFT, "", "agent:prober"),
            card("c", 3, "Three", CardState.DRAFT, "", "agent:prober"),
            card("d", 4, "Hidden", CardState.DRAFT, "", "agent:prober", repository="acme/secret"),
            card("e", 5, "Done", CardState.DONE, "", "agent:codex"),
            AgentPinned(CardId("b"), "codex", "ann"),
            LabelJudged(CardId("c"), "agent:prober", "eve", "read", False),
            *prober.values(),
            run("c", "c", "acme/shop", by="ann"),
            run("d", "d", "acme/secret", by="ann"),
            RunClaimed(RunId("a"), 1, "w"),
            RunEnded(RunId("a"), Ending.FAILED, "timeout", "", "working"),
            at=NOW,
        )
    scope = CardScope(BOARD, frozenset({"acme/shop"}))
    with event_store.reading(ledger) as db:
        alive = [(it.player, it.run_id) for it in agents.list_alive(db, scope)]
        recent = [(it.player, it.run_id) for it in agents.list_recent(db, scope, 9, player="prober")]
        assert (alive, recent) == ([("prober", "b"), ("scripted", "c")], [("prober", "a")])
        assert agents.list_recent(db, scope, 9, without=CardId("a")) == ()
        assert agents.count_assigned(db, scope, LABELS) == {"@prober": 1, "codex": 1, "claude": 0}
        everything = agents.count_assigned(db, CardScope(BOARD), LABELS)
    assert everything == {"@prober": 2, "codex": 1, "claude": 0}


def test_an_older_run_is_judged_by_its_own_repository_and_not_by_the_newest_ones(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(
            db,
            board_seen(),
            card("a", 1, "One", CardState.DRAFT, ""),
            run("old", "a", "acme/secret", by="ann"),
            RunClaimed(RunId("old"), 1, "w"),
            RunEnded(RunId("old"), Ending.FAILED, "timeout", "", "working"),
            run("new", "a", "acme/shop", by="ann"),
            RunClaimed(RunId("new"), 1, "w"),
            RunEnded(RunId("new"), Ending.FAILED, "timeout", "", "working"),
            at=NOW,
        )
    with event_store.reading(ledger) as db:
        by_scope = [
            {
                it.run_id
                for it in agents.list_recent(db, CardScope(BOARD, frozenset(seen)), 9, player="scripted")
            }
            for seen in ({"acme/shop"}, {"acme/shop", "acme/secret"})
        ]
    assert by_scope == [{"new"}, {"old", "new"}]
