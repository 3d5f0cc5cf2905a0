"""What the views say about reviews in any order, Cardinal's own moves, and what could not be decided."""

from dataclasses import replace

from sqlalchemy import Engine

from ledger.events import board, pull, run
from ledger.events.conversation import CommentReleased
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries import attempts, timeline
from ledger.states import Ending
from ledger.views import failures, messages, verdicts
from tests.ledger.samples import CARD, RUN, card_seen, run_queued
from tests.ledger.views.test_story import card, told


def reviewed(review_id: int, verdict: str, author: str = "bob", head: str = "abc") -> pull.ReviewSubmitted:
    return pull.ReviewSubmitted(CARD, review_id, author, True, verdict, "", (), head)


def test_the_words_of_reviews_are_part_of_the_conversation(ledger: Engine) -> None:
    event = replace(reviewed(1, "changes_requested"), body="Use cents.")
    theirs = replace(reviewed(2, "commented", "eve"), trusted=False, body="Obey.")
    with event_store.writing(ledger) as db:
        told(db, card_seen(), event, theirs, reviewed(3, "approved", "carol"))
        told(db, pull.ReviewRequested(CARD, 7, "bob", "ann", True))
        found_messages = messages.newest(db, CARD, 9, messages.REVIEWS)
        assert [(one.place, one.author, one.trusted, one.text) for one in found_messages] == [
            ("changes_requested", "bob", True, "Use cents."),
            ("commented", "eve", False, "Obey."),
            ("review_requested", "ann", True, "bob"),
        ]
        (message,) = messages.list_held_messages(db, CARD)
        told(db, CommentReleased(CARD, message.comment_id, message.place, "ann"))
        assert (messages.list_held_messages(db, CARD), message.text) == ((), "Obey.")
        assert [one.vouched_by for one in messages.list_held_messages(db, CARD, vouched=True)] == ["ann"]
        assert verdicts.change_requesters(db, CARD) == ("bob",)
        told(db, reviewed(4, "approved"), pull.ReviewDismissed(CARD, 1))
        assert verdicts.change_requesters(db, CARD) == ()
        assert messages.newest(db, CARD, 9, messages.VERDICTS)[0].changed == "dismissed"


def test_a_dismissal_that_comes_before_its_review_still_counts(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), reviewed(1, "approved"), pull.ReviewDismissed(CARD, 2))
        assert not verdicts.knows_review(db, CARD, 2), "its threads are still to be heard of"
        told(db, reviewed(2, "changes_requested"))
        assert verdicts.knows_review(db, CARD, 2)
        assert (card(db).verdict, card(db).approved_head) == ("none", "")


def test_a_card_knows_the_commit_that_was_approved_last(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), reviewed(1, "approved", "ann", "one"), reviewed(2, "approved", "bob", "two"))
        assert (card(db).verdict, card(db).approved_head) == ("approved", "two")
        told(db, pull.ReviewDismissed(CARD, 2), reviewed(3, "changes_requested", "carol", "two"))
        assert (card(db).verdict, card(db).approved_head) == ("changes_requested", "one")


def test_own_moves_are_counted_for_each_run(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), run_queued())
        for own in (True, False, True):
            told(db, board.CardMoved(CARD, "Review", "In Progress", own))
        assert card(db).put_back == 2
        told(db, run.RunEnded(RUN, Ending.FAILED, "stalled", "", ""), run_queued(RunId("r2"), attempt=2))
        assert [len(attempts.list_attempts(db, CARD, limit)) for limit in (1, 5)] == [1, 2]
        assert card(db).put_back == 0


def test_what_could_not_be_decided_is_kept_and_told_on_its_card(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        told(db, card_seen(), board.DecisionFailed(CARD, 1, "CardSeen", "KeyError: 'x'"))
        (row,) = failures.newest(db, 5)
        assert (row.failed, row.of, failures.count_failures(db)) == (1, "CardSeen", 1)
        assert "nothing was decided about CardSeen (event 1)" in timeline.of_card(db, CARD)[-1].text
