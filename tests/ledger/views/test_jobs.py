"""Requests for jobs: each with the card that it made, or with why there is none."""

from sqlalchemy import Engine

from ledger.events.job import JobMade, JobRequested
from ledger.events.publication import EntryGivenUp
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.views import jobs
from tests.ledger.samples import BOARD, NOW

WHERE = ("acme/shop", "Say hello", "Done", ("acme/shop#3",), ("tidy",))


def test_a_request_has_its_card_or_why_there_is_none(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        wishes = (JobRequested(BOARD, key, *WHERE, "bob", 7, "ci") for key in ("k1", "k2"))
        event_store.append(db, *wishes, at=NOW)
        event = JobMade(CardId("PVTI_9"), BOARD, "k1", "acme/shop", 12, "Done", ("tidy",), "bob")
        gone = EntryGivenUp(CardId(BOARD), EntryKey(jobs.request_key("k2")), jobs.ACT, "no such repository")
        event_store.append(db, event, gone, at=NOW)
        first, second = jobs.get(db, "k1"), jobs.get(db, "k2")
        assert first is not None
        assert second is not None
        assert (first.number, first.card_id, first.problem) == (12, "PVTI_9", "")
        assert (second.number, second.problem) == (0, "no such repository")
        assert jobs.of_card(db, CardId("PVTI_9")) == first
        assert jobs.of_card(db, CardId("PVTI_8")) is None


def test_a_person_wrote_what_they_asked_for_and_an_agent_no_word_of_it_for_them(ledger: Engine) -> None:
    with event_store.writing(ledger) as db:
        for key, user_id in (("k1", 7), ("r1:1", 0)):  # of a person's token, and of a run that bob asked for
            made = JobMade(CardId(key), BOARD, key, "acme/shop", 12, "Done", (), "bob")
            event_store.append(db, JobRequested(BOARD, key, *WHERE, "bob", user_id, "via"), made, at=NOW)
        authors = [jobs.author_of(db, CardId(key), "cardinal[bot]") for key in ("k1", "r1:1", "other")]
    assert authors == ["bob", "cardinal[bot]", "cardinal[bot]"]
