"""The card's face and the ticker tell the state of things in a few words."""

import pytest

from bot.render.board import card_fields, status_update
from bot.render.board.card_fields import FaceField
from bot.render.pull import policy_check
from bot.render.pull.body import thread_reply
from ledger.events.board import CardExplained, CardStateChanged
from ledger.events.pull import PullOpened
from ledger.events.run import Progressed, RunEnded, UsageMetered
from ledger.events.turn import OWN_LOGIN, TurnStarted
from ledger.ids import CardId
from ledger.log import event_store
from ledger.states import CardState, Ending, Reason
from ledger.views import runs
from tests.bot.render.past import CARD, RUN, Past, R


def field_values(past: Past, usd: float = 0.0, place: int = 0) -> dict[FaceField, str | float]:
    with event_store.reading(past.engine) as db:
        return card_fields.field_values(past.row(), runs.get(db, RUN), card_usd=usd, place=place)


def test_a_card_that_never_ran_has_neither_cost_nor_time(past: Past) -> None:
    past.card(CardId("PVTI_2"), number=8, state=CardState.DRAFT, column="Tasks")
    found = card_fields.field_values(past.row(CardId("PVTI_2")), None, card_usd=0.0)
    silent = (FaceField.AGENT, FaceField.WAITS, FaceField.VALIDATION)
    assert found == dict.fromkeys((*silent, FaceField.PROGRESS, FaceField.RUN, FaceField.PULL), "")


def test_a_face_is_cut_between_words_and_says_where_the_whole_is(past: Past) -> None:
    past(CardStateChanged(CARD, CardState.QUEUED, CardState.BLOCKED, "the checks did not pass " * 12))
    shown = str(field_values(past)[FaceField.PROGRESS])
    assert shown.endswith(" pass the… (more in the comments)")
    assert len(shown) < 230


def test_a_queued_card_says_why_it_waits(past: Past) -> None:
    past(CardExplained(CARD, "In Progress is full with 3 runs"))
    assert [field_values(past, place=n)[FaceField.RUN] for n in (0, 2, 5, 6)] == [
        "r1 · queued",
        "r1 · 2nd in the queue",
        "r1 · 5th in the queue",
        "r1 · queued",  # it would change with every start of another
    ]
    assert field_values(past)[FaceField.PROGRESS] == "In Progress is full with 3 runs"
    assert field_values(past)[FaceField.AGENT] == "⏳ queued"


def test_a_card_that_waits_for_another_names_it(past: Past) -> None:
    past(CardExplained(CARD, "waiting for #3 (Tables): it starts on its own then", Reason.DEPENDENCY))
    assert field_values(past)[FaceField.RUN] == "r1 · waiting for #3 (Tables): it starts on its own then"


def test_what_cost_nothing_yet_shows_neither_cost_nor_time(past: Past) -> None:
    assert {FaceField.COST, FaceField.ELAPSED}.isdisjoint(field_values(past))


def test_a_cost_that_only_the_agent_counted_is_said_to_be_one(past: Past) -> None:
    past.step(R.PREPARING, R.WORKING)
    past(TurnStarted(RUN, "work", "work", "", OWN_LOGIN))
    assert field_values(past)[FaceField.RUN] == "r1 · working"
    past(UsageMetered(RUN, 0.421, 1, 1, 1, 200))
    assert field_values(past, 0.421)[FaceField.RUN] == "r1 · working · cost as the agent reports"


def test_an_idea_does_not_repeat_what_its_column_says(past: Past) -> None:
    past(CardStateChanged(CARD, CardState.QUEUED, CardState.DRAFT, "nothing runs in this column"))
    assert field_values(past)[FaceField.PROGRESS] == ""


def test_a_working_card_shows_the_last_line_cost_time_and_pull_request(past: Past) -> None:
    past(CardStateChanged(CARD, CardState.QUEUED, CardState.WORKING, "r1 works"))
    past.step(R.PREPARING, R.WORKING)
    past(Progressed(RUN, "reading\n`<b>code`"), UsageMetered(RUN, 0.421, 1, 1, 1, 200))
    past(PullOpened(CARD, "acme/shop", 13, "PR_1", "b", "c", True))
    assert field_values(past, 0.421) == {
        FaceField.AGENT: "🔨 working",
        FaceField.WAITS: "",
        FaceField.VALIDATION: "",
        FaceField.PROGRESS: "reading <\u200bb>code",
        FaceField.RUN: "r1 · working",
        FaceField.COST: 0.42,
        FaceField.ELAPSED: 3.0,
        FaceField.PULL: "#13 draft",
    }


def test_a_card_that_needs_somebody_says_what_for(past: Past) -> None:
    past(CardStateChanged(CARD, CardState.QUEUED, CardState.NEEDS_INPUT, "approve the plan"))
    past.planned()
    assert field_values(past)[FaceField.AGENT] == "🙋 needs input"
    assert field_values(past)[FaceField.PROGRESS] == "approve the plan"


def test_an_ended_run_shows_its_ending(past: Past) -> None:
    past(RunEnded(RUN, Ending.FAILED, "stalled", "", ""))
    assert field_values(past)[FaceField.RUN] == "r1 · failed"


@pytest.mark.parametrize(
    ("counts", "status"),
    [
        (status_update.Counts(0, 0, 0), "INACTIVE"),
        (status_update.Counts(3, 0, 2), "ON_TRACK"),
        (status_update.Counts(3, 1, 2), "ON_TRACK"),
        (status_update.Counts(3, 1, 2, urgent=1), "AT_RISK"),
    ],
)
def test_the_ticker_counts_and_warns_while_somebody_is_waited_for(
    counts: status_update.Counts, status: str
) -> None:
    assert status_update.board_status(counts) == status
    assert status_update.write(status_update.Counts(3, 1, 2)) == "3 running · 1 waiting on you · 2 queued"


def test_a_bad_policy_file_is_told_problem_by_problem() -> None:
    problems = ("line 3: unknown key `boord`: did you mean board?", "<script>")
    assert policy_check.check_title(problems) == "2 problems: the last good policy stays in force"
    assert "- line 3: unknown key" in policy_check.check_summary(problems)
    assert "<script>" not in policy_check.check_summary(problems)
    assert policy_check.check_title(()) == "The policy is in force"


def test_a_thread_gets_the_agents_words_and_the_commit() -> None:
    text = thread_reply("Renamed it, @alice.", run_id="r2", head="abcdef1234567890", by="scripted")
    assert text == "> Renamed it, @\u200balice.\n\n_scripted, run r2 in abcdef123456_"
