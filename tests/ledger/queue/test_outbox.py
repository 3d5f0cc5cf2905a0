"""What is asked for is done once, in order, the newest words only, by one publisher at a time."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from ledger.errors import StaleClaimError
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.queue import outbox
from tests.ledger.claims import claim_next
from tests.ledger.samples import NOW, later
from tests.ledgers import Hand

PLAIN = outbox.Draft(EntryKey("plan:r1"), "content", "comment", CardId("c1"), "{}", 5, False, False, NOW)
STICKY = replace(PLAIN, key=EntryKey("sticky:r1"), coalesce=True, payload='"one"')


def put(ledger: Engine, *drafts: outbox.Draft) -> list[bool]:
    Hand(ledger, NOW)
    with event_store.writing(ledger) as db:
        return [outbox.put(db, draft, NOW) for draft in drafts]


def claim(ledger: Engine, seconds: float = 0) -> outbox.Entry | None:
    Hand(ledger, later(seconds))
    return claim_next(ledger, "content", lease_s=10, holder="p1")


def claimed(ledger: Engine, seconds: float = 0) -> outbox.Entry:
    entry = claim(ledger, seconds)
    assert entry is not None
    return entry


def settle_entry(ledger: Engine, entry: outbox.Entry) -> None:
    with event_store.writing(ledger) as db:
        outbox.drop_entry(db, entry)


def postpone(ledger: Engine, entry: outbox.Entry, seconds: float, *, counted: bool = True) -> None:
    Hand(ledger, NOW)
    with event_store.writing(ledger) as db:
        outbox.postpone(db, entry, seconds, "503", counted)


def drafts(*keys: str, ordered: bool = True, card: str = "c1") -> list[outbox.Draft]:
    return [replace(PLAIN, key=EntryKey(key), ordered=ordered, card_id=CardId(card)) for key in keys]


def test_the_same_key_stands_in_line_once_and_leaves_no_row_when_it_was_carried_out(ledger: Engine) -> None:
    assert put(ledger, PLAIN, PLAIN) == [True, False]
    settle_entry(ledger, claimed(ledger))
    with event_store.reading(ledger) as db:
        assert outbox.get(db, PLAIN.key) is None


def test_an_entry_waits_until_it_is_due_and_urgent_ones_go_first(ledger: Engine) -> None:
    late, calm, urgent = drafts("late", "calm", "urgent", ordered=False)
    put(ledger, replace(late, due_at=later(60), priority=0), calm, replace(urgent, priority=0))
    assert [claimed(ledger).key, claimed(ledger).key] == ["urgent", "calm"]
    assert claim(ledger, 9) is None


def test_a_card_s_ordered_entries_go_one_after_the_other(ledger: Engine) -> None:
    put(ledger, *drafts("first", "second"), *drafts("other", card="c2"), *drafts("free", ordered=False))
    first = claimed(ledger)
    assert [first.key, claimed(ledger).key, claimed(ledger).key] == ["first", "other", "free"]
    assert claim(ledger) is None
    postpone(ledger, first, 5)
    assert claim(ledger) is None
    settle_entry(ledger, claimed(ledger, 5))
    assert claimed(ledger, 5).key == "second"


def test_an_entry_that_is_over_lets_the_next_one_go(ledger: Engine) -> None:
    put(ledger, *drafts("first", "second"))
    entry = claimed(ledger)
    settle_entry(ledger, entry)
    assert claimed(ledger).key == "second"


def test_words_that_replace_each_other_wait_as_one(ledger: Engine) -> None:
    put(ledger, STICKY, replace(STICKY, payload='"two"', due_at=later(60), priority=0))
    entry = claimed(ledger)
    assert (entry.payload, entry.attempts) == ('"two"', 1)
    assert put(ledger, replace(STICKY, payload='"three"'), replace(STICKY, payload='"four"')) == [True, True]
    assert claim(ledger) is None  # the older text is still on its way: the newer must not overtake it
    settle_entry(ledger, entry)
    assert claimed(ledger).payload == '"four"'
    assert claim(ledger) is None


def test_a_postponed_entry_makes_way_for_newer_words_but_they_wait_as_long(ledger: Engine) -> None:
    put(ledger, STICKY)
    entry = claimed(ledger)
    put(ledger, replace(STICKY, payload='"two"'))
    postpone(ledger, entry, 30)
    put(ledger, replace(STICKY, payload='"three"'))
    assert claim(ledger, 29) is None
    entry = claimed(ledger, 30)
    assert (entry.payload, entry.attempts, entry.error) == ('"three"', 2, "503")
    settle_entry(ledger, entry)
    assert claim(ledger, 99) is None


def test_an_attempt_is_counted_before_the_work_and_not_for_the_rate_limit(ledger: Engine) -> None:
    put(ledger, PLAIN)
    assert claimed(ledger).attempts == 1
    lost = claimed(ledger, 10)
    assert (lost.attempts, lost.generation) == (2, 2)
    postpone(ledger, lost, 20, counted=False)
    assert claimed(ledger, 20).attempts == 2


def test_what_a_dead_publisher_may_have_sent_is_marked_until_it_ends_and_a_living_one_s_failure_is_not(
    ledger: Engine,
) -> None:
    put(ledger, PLAIN)
    for seconds, dies in ((0, False), (5, True), (20, False), (25, False)):
        entry = claimed(ledger, seconds)
        assert entry.sending is (seconds >= 20)  # after the death
        with event_store.writing(ledger) as db:
            outbox.begin(db, entry)
        if not dies:
            postpone(ledger, entry, seconds + 5)


def test_a_publisher_whose_claim_was_taken_over_changes_nothing(ledger: Engine) -> None:
    put(ledger, PLAIN, STICKY)
    for _ in range(2):
        old = claimed(ledger)
        Hand(ledger, later(10))
        new = claim_next(ledger, "content", lease_s=99, holder="p2")
        assert new is not None
        assert new.key == old.key
        with pytest.raises(StaleClaimError), event_store.writing(ledger) as db:
            outbox.drop_entry(db, old)
        with pytest.raises(StaleClaimError), event_store.writing(ledger) as db:
            outbox.postpone(db, old, 0, "x", True)
        settle_entry(ledger, new)
        with pytest.raises(StaleClaimError):
            settle_entry(ledger, new)


def test_the_next_due_time_never_names_what_cannot_go_yet(ledger: Engine) -> None:
    assert outbox.next_due_s(ledger, "content") is None
    put(ledger, *drafts("first", "second"), replace(STICKY, card_id=CardId("c9"), due_at=later(45)))
    assert outbox.next_due_s(ledger, "content") == 0
    first = claimed(ledger)
    assert outbox.next_due_s(ledger, "content") == 10
    postpone(ledger, first, 90)
    assert outbox.next_due_s(ledger, "content") == 45
    assert outbox.next_due_s(ledger, "elsewhere") is None


def test_what_is_stuck_and_what_a_card_waits_for_can_be_seen(ledger: Engine) -> None:
    put(ledger, *drafts("first"), *drafts("other", card="c2"))
    with event_store.reading(ledger) as db:
        assert [entry.key for entry in outbox.stuck(db, later(61), 60)] == ["first", "other"]
        assert [entry.key for entry in outbox.stuck(db, later(61), 60, limit=1)] == ["first"]
        assert outbox.stuck(db, later(60), 60) == ()
        assert outbox.count_stuck(db, later(61), 60) == (2, 0)
        assert outbox.count_stuck(db, later(60), 60) == (0, 0)
        assert [entry.key for entry in outbox.open_of_card(db, CardId("c2"))] == ["other"]


def test_what_is_held_goes_on_when_access_is_back_and_nothing_else_is_hurried(ledger: Engine) -> None:
    put(ledger, *drafts("held", card="c1"), *drafts("refused", card="c2"), *drafts("limited", card="c3"))
    entries = [claimed(ledger) for _ in range(3)]
    with event_store.writing(ledger) as db:
        for entry, error in zip(entries, (outbox.SHUT_OUT, "503", "saving the rate budget"), strict=True):
            outbox.postpone(db, entry, 300, error, count_attempt=False)
        outbox.let_go_on(db)
    again = claimed(ledger)
    assert (again.key, again.attempts) == ("held", 1)
    assert claim(ledger) is None
