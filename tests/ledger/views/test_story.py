"""What the views say after a story: cards, runs, plans, questions, reviews, spend, timeline."""

from dataclasses import replace

import pytest
from sqlalchemy import Connection, Engine

from ledger.codec import kinds
from ledger.event import Event, Zoom
from ledger.events import board, bounds, conversation, policy, publication, pull, run
from ledger.ids import CardId, EntryKey, QuestionId, RunId
from ledger.log import event_store
from ledger.queries import cards as card_queries
from ledger.queries import lanes, timeline
from ledger.queries.card_filter import CardScope
from ledger.rows.cards import CardRow
from ledger.rows.plans import PlanRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Ending, PullState, RunState, StopKind
from ledger.views import (
    boards,
    briefings,
    cards,
    checks,
    messages,
    plans,
    policies,
    questions,
    remotes,
    reports,
    runs,
    stops,
    threads,
)
from tests.ledger.samples import BOARD, CARD, NOW, RUN, board_seen, card_seen, later, run_queued

S = RunState


def told(db: Connection, *events: Event) -> None:
    """Append each event a second after the one before."""
    for event in events:
        event_store.append(db, event, at=later(event_store.last_seq(db)))


def card(db: Connection, card_id: str = CARD) -> CardRow:
    found_card = cards.get(db, CardId(card_id))
    assert found_card is not None
    return found_card


def a_run(db: Connection, run_id: str = RUN) -> RunRow:
    found_run = runs.get(db, RunId(run_id))
    assert found_run is not None
    return found_run


def test_a_card_follows_what_happens_to_it(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(column="Planning"), board.CardMoved(CARD, "Planning", "In Progress", False))
        told(db, board.CardDescribed(CARD, "New", "Words", ("bug",)), board.CardHeldBack(CARD, "Done", "bo"))
        told(db, board.CardStateChanged(CARD, CardState.QUEUED, CardState.BLOCKED, "no policy"))
        it = card(db)
        assert (it.title, it.labels, it.column, it.held_back) == ("New", ("bug",), "In Progress", "Done")
        assert (it.state, it.because, it.state_at, it.moved_at) == (
            "blocked",
            "no policy",
            later(4),
            later(1),
        )
        assert (it.attempts, it.run_id, it.pull_number, it.verdict) == (0, None, None, "none")
        told(db, board.CardArchived(CARD, "archived"))
        assert card(db).archived
        assert card_queries.counts(db, BOARD) == {}
        told(db, board.CardRestored(CARD), board.CardConverted(CARD, "I_9", "acme/other", 9))
        assert cards.of_issue(db, "acme/other", 9) == (card(db),)
        assert cards.of_issue(db, "acme/app", 1) == ()


def test_the_board_is_listed_by_column_and_rank(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, *(card_seen(f"c{n}", n, "Planning" if n > 2 else "Done") for n in range(1, 6)))
        told(
            db,
            board.ColumnRanked(BOARD, "Planning", (CardId("c5"), CardId("c3"), CardId("gone"), CardId("c4"))),
        )
        listed = lanes.of_column(db, [CardScope(BOARD)], "Planning")
        assert [listed_card.card_id for listed_card in listed] == ["c5", "c3", "c4"]
        assert card_queries.counts(db, BOARD) == {"Planning": 3, "Done": 2}


def test_a_run_is_folded_from_its_stream(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued(), run.RunClaimed(RUN, 3, "host:1"), step(S.CLAIMED, S.PREPARING))
        told(db, run.SessionStarted(RUN, "s-1", "scripted", "1.0"), step(S.PREPARING, S.PLANNING))
        told(db, run.PlanProposed(RUN, 1, "Do it", ("a", "b")), step(S.PLANNING, S.AWAITING_APPROVAL))
        told(db, run.PlanApproved(RUN, 1, "ann"), run.RunRequeued(RUN, "approved"))
        it = a_run(db)
        assert (it.state, it.generation, it.worker, it.session_id) == ("queued", 3, "host:1", "s-1")
        assert (it.plan_revision, it.plan_steps, it.plan_approved, it.plan_approved_by) == (
            1,
            ("a", "b"),
            True,
            "ann",
        )
        told(db, run.PlanProposed(RUN, 2, "Do less", ("a",), "b1", "p1"), run.PlanApproved(RUN, 1, "late"))
        assert not a_run(db).plan_approved
        assert [plan.state for plan in plans.of_run(db, RUN)] == ["approved", "proposed"]
        told(db, run.PlanRedirected(RUN, 2, "bo", "more tests"))
        assert plans.newest(db, RUN) == PlanRow(
            RUN, 2, "Do less", ("a",), "redirected", later(10), "b1", "p1", by="bo", text="more tests"
        )
        told(db, run.Progressed(RUN, "half"), run.Noted(RUN, "n"), run.PlanTicked(RUN, 1))
        told(db, run.BranchExported(RUN, "b", "base", "head", 2, 30, 1), run.BranchPushed(RUN, "b", "head"))
        told(db, run.RunEnded(RUN, Ending.FAILED, "validation", "tests fail", "validating: half"))
        it = a_run(db)
        assert (it.last_line, it.notes, it.plan_done, it.files_changed, it.pushed_head) == (
            "half",
            1,
            1,
            2,
            "head",
        )
        assert (it.state, it.ending, it.reason, it.ended_at) == ("ended", "failed", "validation", later(18))


def step(before: RunState, after: RunState) -> run.RunStepped:
    return run.RunStepped(RUN, before, after)


def test_a_pause_is_forgotten_when_the_run_goes_on_but_a_cancel_is_not(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        for how, left in (("pause", ""), ("cancel", "cancel")):
            run_id = RunId(f"r-{how}")
            told(
                db,
                run_queued(run_id),
                run.RunStopAsked(run_id, StopKind(how), "ann", "why"),
                run.RunParked(run_id, "pause"),
            )
            assert (a_run(db, run_id).stop_asked, a_run(db, run_id).parked_why) == (how, "pause")
            told(db, run.RunRequeued(run_id, "resumed"))
            it = a_run(db, run_id)
            assert (it.stop_asked, it.stop_by, it.parked_why) == (left, "ann" if left else "", "")


@pytest.mark.parametrize("why", ["reclaimed", "handed_back"])
def test_a_pause_outlives_the_death_of_the_worker(ledger: Engine, why: str) -> None:
    with event_store.writing(ledger) as db:
        told(
            db, run_queued(), run.RunClaimed(RUN, 1, "w"), run.RunStopAsked(RUN, StopKind.PAUSE, "ann", "why")
        )
        told(db, run.RunRequeued(RUN, why))
        it = a_run(db)
        assert (it.state, it.stop_asked, it.stop_by) == ("queued", "pause", "ann")


def test_the_queue_is_in_the_order_of_the_cards(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(
            db, *(card_seen(f"c{n}", n) for n in range(4)), *(run_queued(f"r{n}", f"c{n}") for n in range(4))
        )
        assert [queued.run_id for queued in runs.list_queued(db)] == ["r0", "r1", "r2", "r3"]
        told(db, board.ColumnRanked(BOARD, "In Progress", tuple(CardId(f"c{n}") for n in (2, 0, 3, 1))))
        told(db, run.RunClaimed(RunId("r0"), 1, "w"))
        assert [(queued.run_id, queued.rank) for queued in runs.list_queued(db, BOARD)] == [
            ("r2", 0),
            ("r3", 2),
            ("r1", 3),
        ]
        assert [it.run_id for it in runs.list_held(db, BOARD)] == ["r0"]
        assert runs.list_queued(db, BOARD, "Review") == ()
        assert runs.next_id(db) == "r5"
        told(db, run.RunRequeued(RunId("r0"), "reclaimed"))
        assert [queued.run_id for queued in runs.list_queued(db, BOARD, "In Progress", 2)] == ["r2", "r0"]
        assert [it.run_id for it in runs.newest(db, 2)] == ["r3", "r2"]


def test_a_question_waits_until_it_is_answered_or_its_run_ends(ledger: Engine) -> None:
    first, second = QuestionId("r1-q1"), QuestionId("r1-q2")
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued(), run.QuestionAsked(RUN, first, "agent", "Which?", ("a", "b")))
        (question,) = questions.open_of_run(db, RUN)
        assert question is not None
        assert (question.card_id, question.choices, a_run(db).question_id) == (CARD, ("a", "b"), first)
        told(
            db,
            run.QuestionAnswered(RUN, first, "ann", "a"),
            run.QuestionAsked(RUN, second, "limit", "More?", ()),
        )
        assert (a_run(db).question_id, a_run(db).questions) == (second, 2)
        told(db, run.RunEnded(RUN, Ending.CANCELLED, "cancelled", "", "parked"))
        assert questions.open_of_run(db, RUN) == ()
        assert a_run(db).question_id == ""
        assert [(it.answer, it.withdrawn) for it in questions.of_run(db, RUN)] == [("a", False), ("", True)]


def review(
    review_id: int, author: str, verdict: str, trusted: bool, *thread_ids: str
) -> pull.ReviewSubmitted:
    opened = tuple(pull.Thread(name, "a.py", 3, "why?") for name in thread_ids)
    return pull.ReviewSubmitted(CARD, review_id, author, trusted, verdict, "", opened)


def test_one_who_requests_changes_outweighs_who_approves_and_strangers_count_for_nothing(
    ledger: Engine,
) -> None:
    stories = [
        (review(1, "ann", "approved", True), "approved"),
        (review(2, "eve", "changes_requested", False, "t0"), "approved"),
        (review(3, "bo", "changes_requested", True, "t1", "t2"), "changes_requested"),
        (review(4, "ann", "approved", True), "changes_requested"),
        (review(5, "bo", "commented", True, "t3"), "changes_requested"),
        (review(6, "bo", "approved", True), "approved"),
        (pull.ReviewDismissed(CARD, 6), "approved"),
        (pull.ReviewDismissed(CARD, 4), "none"),
    ]
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued())
        for event, verdict in stories:
            told(db, event)
            assert card(db).verdict == verdict
        assert [thread.thread_id for thread in threads.pending(db, CARD)] == ["t1", "t2", "t3"]
        told(db, run.ThreadAnswered(RUN, "t2", "fixed"))
        assert threads.pending_count(db, CARD) == 2
        assert threads.get(db, "t0") is None


def test_a_pull_request_is_followed_from_opening_to_merge(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), pull.PullOpened(CARD, "acme/app", 7, "PR_7", "cardinal/1", "h1", True))
        told(db, pull.PullChanged(CARD, 6, PullState.CLOSED, False, "h0"))
        assert (card(db).pull_state, card(db).pull_draft, card(db).branch) == ("open", True, "cardinal/1")
        told(db, pull.PullChanged(CARD, 7, PullState.MERGED, False, "h2"))
        (found_card,) = cards.of_pull(db, "acme/app", 7)
        assert (found_card.pull_state, found_card.pull_draft, found_card.pull_head) == ("merged", False, "h2")
        assert cards.of_pull(db, "acme/other", 7) == ()


def test_the_conversation_counts_only_trusted_words_on_the_issue_or_pull_request(ledger: Engine) -> None:
    big = 5_000_000_000
    with event_store.writing(ledger) as db:
        told(db, card_seen())
        for comment_id, place, trusted in (
            (big, "issue", True),
            (big + 9, "review", True),
            (big + 5, "issue", False),
        ):
            told(db, conversation.PersonSaid(CARD, comment_id, place, "ann", trusted, "hi"))
        told(db, conversation.AssistantReplied(CARD, "ok", "the brief", big))
        told(db, conversation.AssistantReplied(CARD, "more", "", big + 1))
        assert (card(db).last_said, card(db).last_answered, card(db).brief) == (big, big + 1, "the brief")
        assert [it.place for it in messages.newest(db, CARD, 3)] == ["issue", "assistant", "assistant"]
        assert len(messages.newest(db, CARD, 9)) == 5


def test_the_last_good_policy_stays_in_force(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, board_seen(), policy.PolicyRejected(BOARD, "d0", "c0", ("no version",)))
        it = policies.current(db, BOARD)
        assert it is not None
        assert (it.digest, it.problems) == ("", ("no version",))
        told(db, policy.PolicyLoaded(BOARD, "d1", "version: 1", "c1"))
        told(db, policy.PolicyRejected(BOARD, "d2", "c2", ("bad key",)))
        assert policies.current(db, BOARD) == policies.PolicyRow(
            BOARD, "d1", "version: 1", "c1", ("bad key",), "c2", "d2"
        )
        found_board = boards.get(db, BOARD)
        assert found_board is not None
        assert [column.name for column in found_board.columns] == ["Planning", "In Progress", "Done"]
        assert boards.all_boards(db) == (found_board,)


def test_a_stop_is_on_until_it_is_lifted(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(
            db, board.StopOrdered(BOARD, "column", "Done", "ann"), board.StopOrdered(BOARD, "board", "", "bo")
        )
        assert [(stop.scope, stop.target, stop.by) for stop in stops.of_board(db, BOARD)] == [
            ("column", "Done", "ann"),
            ("board", "", "bo"),
        ]
        told(db, board.StopLifted(BOARD, "column", "Done", "ann"))
        assert [stop.scope for stop in stops.of_board(db, BOARD)] == ["board"]


def test_an_act_that_failed_for_good_is_forgotten_once_it_succeeds(ledger: Engine) -> None:
    key = EntryKey("sticky:r1")
    with event_store.writing(ledger) as db:
        told(db, publication.EntryGivenUp(CARD, key, "upsert_comment", "locked"))
        assert [given_up.because for given_up in remotes.list_given_up(db, CARD)] == ["locked"]
        assert remotes.get(db, key) is None
        for digest in ("d1", "d2"):
            told(db, publication.EntryPublished(CARD, key, "upsert_comment", "99", digest))
        assert remotes.list_given_up(db) == ()
        assert remotes.get(db, key) == remotes.RemoteRow(key, CARD, "upsert_comment", "99", "d2", later(2))


def test_evidence_briefings_and_reports_stay_with_their_run(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued(), run.BriefingMade(RUN, "# one", "d1", ("2 comments",)))
        told(db, run.BriefingMade(RUN, "# two", "d2", ()))
        told(db, run.CommandChecked(RUN, 1, "full", "pytest", 1, 2.5, "l1", "1 failed"))
        told(
            db,
            run.ValidationEnded(RUN, 1, "full", False, "h1"),
            run.ValidationEnded(RUN, 2, "full", True, "h2"),
        )
        told(db, run.FinalReported(RUN, "done", ("a.py",), ("look",), ()))
        newest = briefings.newest(db, RUN)
        assert newest is not None
        assert newest.text == "# two"
        assert [(check.command, check.exit_code, check.tail) for check in checks.of_run(db, RUN)] == [
            ("pytest", 1, "1 failed")
        ]
        last = checks.gate_of(db, CARD)
        assert last is not None
        assert (last.passed, last.head) == (True, "h2")
        assert (a_run(db).iteration, a_run(db).full_runs) == (2, 2)
        report = reports.get(db, RUN)
        assert report is not None
        assert (report.changed, report.check) == (("a.py",), ("look",))


@pytest.mark.parametrize(("zoom", "count"), [("conversation", 3), ("activity", 4), ("debug", 5)])
def test_the_timeline_shows_more_the_deeper_one_looks(ledger: Engine, zoom: str, count: int) -> None:
    with event_store.writing(ledger) as db:
        told(
            db,
            card_seen(),
            run_queued(),
            run.Progressed(RUN, "half\nway\x1b[2J"),
            run.AgentSaid(RUN, "hm " * 999),
        )
        told(db, conversation.PersonSaid(CARD, 1, "issue", "ann", True, "hello"))
        lines = timeline.of_card(db, CARD, Zoom(zoom))
        assert len(lines) == count
        assert [line.seq for line in lines] == sorted(line.seq for line in lines)
        assert all(len(line.text) <= 500 and line.text.isprintable() for line in lines)
        assert timeline.of_card(db, CARD, Zoom(zoom), 1, before=lines[-1].seq) == lines[-2:-1]


def test_a_failed_round_and_a_waiver_are_told_and_the_waiver_is_about_its_commit(ledger: Engine) -> None:
    failed = bounds.RoundFailed(
        RUN, 2, "full", "h1", "t1", "pytest", 1, False, True, "s", 2, ("a::one", "a::two"), "…", 3, 40
    )
    with event_store.writing(ledger) as db:
        told(db, board_seen(), card_seen(), run_queued(), failed, bounds.ValidationWaived(RUN, "h2", "b"))
    with event_store.reading(ledger) as db:
        lines = [row.text for row in timeline.of_card(db, CARD)]
        assert "round 2 failed at pytest: a::one, a::two" in lines
        assert "nothing was checked on h2: validation is none" in lines
        assert checks.covers(db, RUN, "h2")
        assert not checks.covers(db, RUN, "h1")
        assert not checks.covers(db, RunId("r2"), "h2")


def test_columns_that_swap_their_names_take_cards_queues_and_stops_along(ledger: Engine) -> None:
    swapped = (board.Renaming("o1", "In Progress", "Done"), board.Renaming("o2", "Done", "In Progress"))
    with event_store.writing(ledger) as db:
        event_store.append(
            db, board_seen(), card_seen(), card_seen("PVTI_2", 2, "Done"), run_queued(), at=NOW
        )
        event_store.append(db, board.StopOrdered(BOARD, "column", "Done", "ann"), at=NOW)
        event_store.append(db, board.CardHeldBack(CardId("PVTI_2"), "In Progress", "ann"), at=NOW)
        event_store.append(db, board.ColumnsChanged(BOARD, swapped, ("Planning",)), at=NOW)
        now = [cards.get(db, CardId(card_id)) for card_id in (CARD, "PVTI_2")]
        assert [card and (card.column, card.held_back) for card in now] == [
            ("Done", ""),
            ("In Progress", "Done"),
        ]
        assert [run.column for run in runs.list_queued(db, BOARD)] == ["Done"]
        assert [stop.target for stop in stops.of_board(db, BOARD)] == ["In Progress"]
        assert boards.former_columns(db, BOARD)["Planning"] == ""
        event_store.append(
            db, board.ColumnsChanged(BOARD, (board.Renaming("o1", "Done", "Doing"),), ()), at=NOW
        )
        assert boards.former_columns(db, BOARD)["In Progress"] == "Doing"


def test_no_payload_is_shown_that_has_the_words_of_others() -> None:
    others = ("RunQueued", "BriefingMade", "StageBriefed", "InstructionsStacked", "Noted")
    assert not any(kinds()[name].shows_payload for name in others)


def test_a_timeline_has_states_in_words_and_no_end_without_words() -> None:
    changed = board.CardStateChanged(CARD, CardState.WORKING, CardState.NEEDS_INPUT, "r1 asks")
    texts = [
        timeline.event_line(CARD, 1, NOW, it).text for it in (changed, review(1, "ann", "approved", True))
    ]
    assert texts == ["working → needs input: r1 asks", "ann approved"]


def test_the_newest_lines_are_those_of_all_runs_however_they_took_turns(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen())
        names = [RunId(f"r{number}") for number in range(1, 7)]
        told(db, *(replace(run_queued(), run_id=run_id) for run_id in names))
        turns = (3, 0, 5, 5, 1, 0, 4, 2, 2, 0, 5, 3)
        told(db, *(run.Progressed(names[turn], f"line {position}") for position, turn in enumerate(turns)))
        told(db, conversation.PersonSaid(CARD, 1, "issue", "bo", True, "so"))
    with event_store.reading(ledger) as db:
        everything = timeline.of_card(db, CARD)
        assert len(everything) == 2 + len(names) + len(turns)
        for limit in (1, 2, 5, 11, 40):
            for before in (None, *(row.seq for row in everything)):
                older = [row for row in everything if before is None or row.seq < before]
                assert list(timeline.of_card(db, CARD, limit=limit, before=before)) == older[-limit:]
