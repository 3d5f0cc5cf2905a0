"""One cause that strikes many cards halts the board once; a run that comes through lets it go on."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events import run as runs
from ledger.events.board import BoardHalted, HaltLifted
from ledger.ids import RunId
from ledger.rows.halts import HaltRow
from ledger.states import Ending, RunState
from rules.intents.outbound import Say
from rules.runs.queue import HostCapacity, Load, Waiting, choose_runs, claim_obstacle
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import BOARD, CARD, NOW, POLICY, R1, asks, card, ended, given, kinds, only, run

WHY = "anthropic refuses the key (401): check CARDINAL_ANTHROPIC_KEY, then retry."
CAUSE = "anthropic:401"
FAILED = runs.RunEnded(R1, Ending.FAILED, "provider", WHY, "working", cause=CAUSE)
OTHER = runs.RunEnded(R1, Ending.FAILED, "agent_error", "it crashed", "working")
HALT = HaltRow(BOARD, CAUSE, WHY, NOW, 0, NOW, probing=True, probe=R1)
AFTER = card(run=ended(Ending.FAILED, reason="provider", detail=WHY))


def test_a_failure_of_the_cards_own_halts_nothing() -> None:
    assert "BoardHalted" not in kinds(asks(replace(AFTER, struck=9), OTHER))


def test_the_card_too_many_halts_the_board_with_one_message_instead_of_its_report() -> None:
    before = asks(replace(AFTER, struck=2), FAILED)
    assert "PostReport" in kinds(before)
    assert "BoardHalted" not in kinds(before)
    intents = asks(replace(AFTER, struck=3), FAILED)
    halt = only(intents, BoardHalted)
    assert (halt.cause, halt.until - NOW, halt.tries) == (CAUSE, timedelta(minutes=10), 0)
    assert "PostReport" not in kinds(intents)
    message = only(intents, Say).text
    assert "3 cards" in message
    assert WHY in message
    assert "/cardinal resume board" in message


def test_while_the_board_is_halted_the_same_failure_says_nothing_more() -> None:
    later = replace(AFTER, struck=9, halt=replace(HALT, probing=False, probe=""))
    intents = asks(later, FAILED)
    assert not {"Say", "PostReport", "BoardHalted", "HaltLifted"} & set(kinds(intents))
    assert "PostReport" in kinds(asks(later, OTHER))


def test_a_run_that_tries_in_vain_makes_the_board_wait_longer_but_not_for_ever() -> None:
    waits = []
    for tries in (0, 1, 2, 50):
        intents = asks(replace(AFTER, halt=replace(HALT, tries=tries)), FAILED)
        assert "Say" not in kinds(intents)
        waits.append((only(intents, BoardHalted).until - NOW).seconds // 60)
    assert waits == [20, 40, 80, 120]


@pytest.mark.parametrize("ending", [Ending.CANCELLED, Ending.LOST])
def test_a_run_that_ends_before_it_could_tell_leaves_the_try_to_the_next(ending: Ending) -> None:
    intents = asks(replace(AFTER, halt=HALT), runs.RunEnded(R1, ending, "cancelled", "by bob", "working"))
    again = only(intents, BoardHalted)
    assert ((again.until - NOW).seconds, again.tries) == (600, 0)
    assert "HaltLifted" not in kinds(intents)


@pytest.mark.parametrize(
    "event",
    [
        OTHER,
        runs.RunEnded(R1, Ending.SUCCEEDED, "", "", "publishing"),
        runs.RunStepped(R1, RunState.PLANNING, RunState.AWAITING_APPROVAL),
        runs.RunStepped(R1, RunState.WORKING, RunState.VALIDATING),
        runs.RunParked(R1, "question"),
        runs.RunParked(R1, "limit"),
    ],
)
def test_a_run_that_comes_through_lets_the_board_go_on(event: runs.RunEvent) -> None:
    state = RunState.WORKING if isinstance(event, runs.RunStepped) else RunState.ENDED
    snapshot: Snapshot = card(run=run(state, ending=None if state is RunState.WORKING else Ending.SUCCEEDED))
    lifted = only(asks(replace(snapshot, halt=HALT), event), HaltLifted)
    assert (lifted.board_id, lifted.by) == (BOARD, "Cardinal")
    somebody_else = replace(snapshot, halt=replace(HALT, probe="r9"))
    assert "HaltLifted" not in kinds(asks(somebody_else, event))


def test_a_halted_board_starts_nothing_until_one_may_try() -> None:
    waiting = [Waiting(R1, CARD, "In Progress", "In Progress", "acme/shop", 1, NOW, by="alice", wish_usd=1.0)]
    waiting.append(replace(waiting[0], run_id="r2", card_id="c2", repository="acme/other"))  # type: ignore[arg-type]

    def starts(halt: HaltRow | None) -> tuple[str, ...]:
        return choose_runs(
            POLICY, waiting, Load(0, {}, {}, halt=halt), (), capacities=(HostCapacity("", 9),)
        ).starts

    assert len(starts(None)) == 2
    assert starts(replace(HALT, probing=False, probe="")) == ()
    assert len(starts(replace(HALT, probe=""))) == 1
    assert starts(HALT) == ()
    said = choose_runs(
        POLICY, waiting, Load(0, {}, {}, halt=HALT), (), capacities=(HostCapacity("", 9),)
    ).reasons[R1]
    assert "the board is halted: anthropic refuses the key" in said


def test_a_halted_board_tries_with_no_run_whose_end_tells_nothing() -> None:
    usual = Waiting(R1, CARD, "In Progress", "In Progress", "acme/shop", 1, NOW, by="alice", wish_usd=1.0)
    again = replace(usual, run_id=RunId("r2"), beside=True, probes=False)
    halted = Load(0, {}, {}, halt=replace(HALT, probe=""))
    selection = choose_runs(POLICY, [again, usual], halted, (), capacities=(HostCapacity("", 9),))
    assert selection.starts == (R1,)
    assert "the board is halted" in selection.reasons[RunId("r2")]
    assert "the board is halted" in claim_obstacle(
        POLICY, replace(usual, wish_usd=0.0, probes=False), halted, ()
    )


def test_a_person_lifts_the_halt_with_the_command_that_resumes_the_board() -> None:
    assert handled("resume", card(halt=HALT), "board") == (HaltLifted(BOARD, HALT.cause, "bob"),)
    assert "The board is not stopped" in told("resume", card(), "board")


def test_who_gives_commands_without_end_is_not_obeyed_but_to_stop() -> None:
    fast = card(run=run(), paced=POLICY.limits.commands_per_minute + 1)
    first, again = (asks(fast, given("status", comment_id=n)) for n in (77, 78))
    assert kinds(first) == ["React", "Say"]
    assert "more than 20 commands within a minute" in only(first, Say).text
    assert only(first, Say).about == only(again, Say).about
    assert "RunStopAsked" in kinds(asks(fast, given("cancel")))
    assert "RunStopAsked" in kinds(asks(replace(fast, paced=20), given("cancel")))
    assert "Say" in kinds(asks(replace(fast, paced=20), given("status")))
