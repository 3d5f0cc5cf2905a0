"""Every event is decided, on every card, without an illegal step and without an error."""

from dataclasses import replace
from datetime import datetime
from itertools import product
from typing import get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.event import Event
from ledger.events.board import BoardEvent, BoardSeen, CardArchived, StopOrdered
from ledger.events.publication import EntryPublished
from ledger.events.run import Progressed
from ledger.ids import EntryKey
from ledger.states import CardState, check_card_step
from rules.answers import all_rules, answers
from rules.card.state import conclude_decision, derive, legal_way
from rules.decide import decide
from rules.errors import TwoRulesError
from rules.explain import card_status, why
from rules.intents.internal import show_card
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.registry import ARCHETYPES
from rules.runs.kill_switch import spread_stop
from rules.snapshot import Snapshot
from tests.rules import scene
from tests.rules.anything import events, snapshots
from tests.rules.scene import BOARD, CARD, NOW, POLICY, R1, card, run

BOLD = scene.policy(
    "In Progress: {archetype: execution, plan_approval: 'off', on_leave: cancel, on_success: {move: Review},"
    " on_exit: [{action: ai_task, prompt: 'Sum up %{title}'}]}\n"
    "Planning: {archetype: inbox, on_entry: [{action: ai_task, prompt: Tag}]}\n"
    "Review: {archetype: review, on_entry: [{action: ready}, {action: merge}, {action: delete_branch}]}\n"
    "Done: {archetype: terminal}"
)
MILD = scene.policy("In Progress: {archetype: execution, on_entry: [], on_leave: finish}")
many = settings(suppress_health_check=list(HealthCheck))


def test_every_rule_takes_the_events_that_it_answers() -> None:
    assert all_rules().keys() - {*codec.kinds().values()} == set()
    for kind, rule in all_rules().items():
        *before, event, now, result = get_type_hints(rule.decide).values()
        assert before == ([Policy] if issubclass(kind, BoardEvent) else [Policy, Snapshot])
        assert issubclass(kind, event)
        assert (now, result) == (datetime, Decision)


def test_a_second_rule_about_the_same_events_is_refused_with_both_files() -> None:
    assert Progressed in all_rules()
    with pytest.raises(TwoRulesError, match=r"rules\.handlers\.run and \S+ both answer"):
        answers(Progressed)(lambda *_: Decision())


@many
@given(events, snapshots, st.sampled_from([POLICY, BOLD, MILD]))
def test_no_event_on_any_card_asks_for_an_illegal_step(event: Event, snapshot: Snapshot, by: Policy) -> None:
    snapshot = scene.as_read(snapshot, event, by)
    decision = scene.checked(by, snapshot, decide(by, snapshot, event, NOW))
    assert len(set(decision.intents)) == len(decision.intents)
    assert decide(by, snapshot, event, NOW) == decision


@many
@given(snapshots, st.sampled_from([POLICY, BOLD, MILD]))
def test_every_card_can_be_explained_in_one_harmless_line(snapshot: Snapshot, by: Policy) -> None:
    snapshot = scene.under(by, snapshot)
    line = why(by, snapshot)
    assert line.strip()
    assert len(line) <= 400
    assert not set(line) & set("\n\x00\u202e")
    assert card_status(by, snapshot)


@pytest.mark.parametrize("archetype", ARCHETYPES.names())
def test_the_way_between_two_states_has_legal_steps_only(archetype: str) -> None:
    legal = ARCHETYPES.load(archetype).STATES
    for before, after in product(CardState, CardState):
        card_states, state = legal_way(legal, before, after), before
        for step in card_states:
            check_card_step(legal, state, step, moved=state not in legal)
            state = step
        assert state in (after, before), (before, after)
        assert len(card_states) <= 2, (before, after)


def test_a_state_that_the_column_does_not_know_is_never_asked_for() -> None:
    assert legal_way(ARCHETYPES.load("review").STATES, CardState.WORKING, CardState.QUEUED) == ()


@many
@given(snapshots)
def test_the_state_at_rest_does_not_depend_on_the_state_before_where_a_run_lives(snapshot: Snapshot) -> None:
    if snapshot.live_run and not snapshot.archived:
        rests = {derive(POLICY, replace(snapshot, state=state)) for state in CardState}
        assert len(rests) == 1


@many
@given(snapshots, st.sampled_from(["board", "column", "card"]))
def test_a_stop_spreads_only_to_runs_that_a_worker_holds(snapshot: Snapshot, scope: str) -> None:
    target = {"board": BOARD, "column": "In Progress", "card": CARD}[scope]
    stopped = spread_stop(snapshot, StopOrdered(BOARD, scope, target, "bob"))
    assert not stopped.intents or snapshot.live_run is not None or snapshot.live_check is not None


def test_a_boards_event_needs_no_card_and_a_cards_event_without_one_asks_for_nothing() -> None:
    assert decide(POLICY, None, BoardSeen(BOARD, "acme", 1, "Board", "F", (), ()), NOW).intents
    unknown = decide(POLICY, None, CardArchived(CARD, "deleted"), NOW)
    assert unknown.intents == ()
    assert unknown.because


def test_a_sentence_is_plain_and_short_also_where_the_card_need_not_be_shown() -> None:
    shown = show_card(CardState.BLOCKED, f"a\u202eb\n{'x' * 400}")
    (alone,) = conclude_decision(POLICY, card(), Decision((), shown.because)).because
    assert (alone,) == conclude_decision(POLICY, card(), shown).because
    assert isinstance(alone, str)
    assert len(alone) <= 300
    assert not {"\u202e", "\n"} & {*alone}


def test_what_was_published_asks_for_nothing() -> None:
    assert decide(POLICY, card(), EntryPublished(CARD, EntryKey("k"), "Say", "1", "d"), NOW) == Decision()


def test_nothing_is_written_on_the_face_of_a_card_that_left_the_board() -> None:
    snapshot = card(archived=True, state=CardState.ARCHIVED, run=run())
    assert scene.kinds(scene.asks(snapshot, Progressed(R1, "on it"))) == ["WriteRunComment"]
