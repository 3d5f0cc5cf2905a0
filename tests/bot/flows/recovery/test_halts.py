"""Loops and shared causes are broken: a bad key costs a few runs and one message, not one for each card."""

from bot.scheduler import ticker
from forge.store.board import Item
from ledger.events.board import BoardHalted, HaltLifted
from ledger.events.conversation import CommandGiven
from ledger.events.run import BriefingMade, RunEnded, RunParked, RunStepped, RunStopAsked
from ledger.ids import RunId
from ledger.states import Ending, RunState, StopKind
from runner.prompts.briefing import digest_of
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import POLICY

BAD_KEY = "anthropic refuses the key (401): check CARDINAL_ANTHROPIC_KEY, then retry."


def fail(cardinal: Cardinal, run_id: RunId) -> None:
    cardinal.begin(run_id)
    cause = "anthropic:401"
    cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "provider", BAD_KEY, "working", cause=cause))


def queued(cardinal: Cardinal, count: int) -> list[Item]:
    items = [cardinal.new(f"Card {n}", column="In Progress") for n in range(count)]
    cardinal.catch_up(publish=False)
    return items


def test_a_bad_key_halts_the_board_and_comes_back_by_itself(cardinal: Cardinal) -> None:
    items = queued(cardinal, 7)
    for _ in range(3):
        fail(cardinal, cardinal.ready()[0])
    assert cardinal.ready() == ()
    cardinal.catch_up()
    (halted,) = cardinal.events(BoardHalted)
    assert "refuses the key" in halted.because
    halts = [text for item in items for text in cardinal.told(item) if "no run starts on the board" in text]
    assert len(halts) == 1
    assert "halted: anthropic refuses the key" in cardinal.project.status_updates[-1].body
    waiting = next(item for item in items if cardinal.run_of(item).state is RunState.QUEUED)
    assert "the board is halted" in cardinal.card(waiting).because

    assert ticker.probe_boards(cardinal.services.engine, cardinal.clock()) == ()
    cardinal.clock.forward(601)
    assert ticker.probe_boards(cardinal.services.engine, cardinal.clock()) == (cardinal.board_id,)
    (probe,) = cardinal.ready()
    fail(cardinal, probe)
    assert cardinal.ready() == ()
    assert [event.tries for event in cardinal.events(BoardHalted)] == [0, 1]

    cardinal.clock.forward(1201)
    ticker.probe_boards(cardinal.services.engine, cardinal.clock())
    (probe,) = cardinal.ready()
    cardinal.begin(probe)
    assert cardinal.ready() == ()
    cardinal.write(probe, RunStepped(probe, RunState.WORKING, RunState.VALIDATING))
    assert [event.by for event in cardinal.events(HaltLifted)] == ["Cardinal"]
    assert len(cardinal.ready()) == 2


def test_a_run_beside_its_card_s_own_is_no_try_of_a_halted_board(cardinal: Cardinal) -> None:
    items = queued(cardinal, 4)
    worked = cardinal.run_of(items[0]).run_id
    cardinal.begin(worked)
    text = "Greet."
    cardinal.write(worked, BriefingMade(worked, text, digest_of(text), (), base="b" * 40))
    cardinal.write(worked, RunEnded(worked, Ending.SUCCEEDED, "", "", "working"))
    for _ in range(3):
        fail(cardinal, cardinal.ready()[0])
    cardinal.say(items[0], "/cardinal rerun")
    cardinal.catch_up(publish=False)
    cardinal.say(items[1], "/cardinal retry")
    cardinal.catch_up(publish=False)
    assert cardinal.ready() == ()
    cardinal.clock.forward(601)
    assert ticker.probe_boards(cardinal.services.engine, cardinal.clock()) == (cardinal.board_id,)
    (probe,) = cardinal.ready()
    assert cardinal.run(probe).kind != "rerun"
    cardinal.begin(probe)
    cardinal.write(probe, RunStepped(probe, RunState.WORKING, RunState.VALIDATING))
    assert [event.by for event in cardinal.events(HaltLifted)] == ["Cardinal"]
    assert [cardinal.run(it).kind for it in cardinal.ready()] == ["rerun"]


def test_a_person_lets_a_halted_board_go_on(cardinal: Cardinal) -> None:
    items = queued(cardinal, 4)
    for _ in range(3):
        fail(cardinal, cardinal.ready()[0])
    cardinal.say(items[0], "/cardinal resume board", who="bob")
    cardinal.catch_up(publish=False)
    assert cardinal.events(HaltLifted) == []  # what stops everybody needs the role of stop-all
    cardinal.say(items[0], "/cardinal resume board", who="alice")
    cardinal.catch_up(publish=False)
    assert [event.by for event in cardinal.events(HaltLifted)] == ["alice"]
    assert len(cardinal.ready()) == 1
    fail(cardinal, cardinal.ready()[0])
    assert len(cardinal.events(BoardHalted)) == 2  # it was not mended: one more is enough


def test_two_programs_that_answer_each_other_are_parted(cardinal: Cardinal) -> None:
    cardinal.set_policy(POLICY.replace("limits: {", "limits: {commands_per_minute: 3, "))
    item = cardinal.new()
    cardinal.catch_up()
    for _ in range(9):
        cardinal.say(item, "/cardinal status", who="carol")
    cardinal.catch_up()
    assert len(cardinal.events(CommandGiven)) == 9
    answers = cardinal.told(item)
    assert len([text for text in answers if "commands within a minute" in text]) == 1
    assert len(answers) == 4


def test_a_try_that_somebody_pauses_is_left_to_the_next_run(cardinal: Cardinal) -> None:
    queued(cardinal, 5)
    for _ in range(3):
        fail(cardinal, cardinal.ready()[0])
    cardinal.clock.forward(601)
    ticker.probe_boards(cardinal.services.engine, cardinal.clock())
    (probe,) = cardinal.ready()
    cardinal.begin(probe)
    assert cardinal.ready() == ()
    cardinal.write(probe, RunStopAsked(probe, StopKind.PAUSE, "alice", "asked"), RunParked(probe, "pause"))
    (other,) = cardinal.ready()
    assert other != probe
