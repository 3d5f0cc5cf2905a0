"""What an agent says of other cards stands on its own card's timeline."""

from sqlalchemy import Engine

from ledger.event import Event, Zoom
from ledger.events.access import RepositoryMoved
from ledger.events.board import IssueClosed
from ledger.events.related import Blocker, CardLinked, CardProposed, LinksSeen
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries import timeline
from ledger.views import links
from tests.ledger.samples import CARD, RUN, board_seen, card_seen, later, run_queued


def test_proposed_and_linked_cards_are_told_in_the_conversation(ledger: Engine) -> None:
    proposed = CardProposed(RUN, 1, "Mend the till", "It is slow.", "seen on the way")
    linked = CardLinked(RUN, "acme/shop#7", "blocks", "it needs this one")
    with event_store.writing(ledger) as db:
        for event in (board_seen(), card_seen(), run_queued(), proposed, linked):
            event_store.append(db, event, at=later(event_store.last_seq(db)))
        told = [line.text for line in timeline.of_card(db, CARD, Zoom.CONVERSATION)]
    assert "wants a new card: Mend the till (seen on the way)" in told
    assert "this card blocks acme/shop#7: it needs this one" in told


def seen(number: int, *blockers: int, hidden: int = 0) -> LinksSeen:
    found_blockers = tuple(Blocker("acme/app", other, "T", "open") for other in blockers)
    return LinksSeen(CardId(f"PVTI_{number}"), found_blockers, hidden, "")


def write(ledger: Engine, *events: Event) -> None:
    with event_store.writing(ledger) as db:
        event_store.append(db, *events, at=later(event_store.last_seq(db)))


def test_a_circle_is_found_through_a_long_chain_and_a_wide_fan_and_no_walk_is_endless(
    ledger: Engine,
) -> None:
    write(ledger, board_seen(), *(card_seen(f"PVTI_{number}", number) for number in range(1, 506)))
    write(ledger, *(seen(number, number + 1) for number in range(1, 400)), seen(401, *range(402, 506)))
    with event_store.reading(ledger) as db:
        assert links.circle(db, CARD) == ()
    write(ledger, seen(400, 2), seen(450, 401))
    with event_store.reading(ledger) as db:
        assert links.circle(db, CARD) == ()  # others turn in a circle; this one only waits for them
        way = [step.number for step in links.circle(db, CardId("PVTI_2"))]
        assert way == [*range(2, 401), 2]
        assert [step.number for step in links.circle(db, CardId("PVTI_401"))] == [401, 450, 401]


def test_blockers_out_of_sight_hold_a_card_and_newer_links_replace_older_ones(ledger: Engine) -> None:
    write(ledger, board_seen(), card_seen(), seen(1, 7, 8, hidden=2))
    with event_store.reading(ledger) as db:
        assert [link.holds for link in links.of_card(db, CARD)] == [True] * 4
        assert [str(card_id) for card_id in db.scalars(links.select_held_cards())] == [CARD] * 4
    write(ledger, LinksSeen(CARD, (Blocker("acme/app", 7, "T", "completed"),), 0, "acme/app#9"))
    with event_store.reading(ledger) as db:
        assert [link.holds for link in links.of_card(db, CARD)] == [False]
        assert db.scalars(links.select_held_cards()).all() == []
        above = links.parent_of(db, CARD)
        assert above is not None
        assert (above.repository, above.number) == ("acme/app", 9)


def test_what_a_card_waits_for_is_followed_when_its_repository_gets_another_name(ledger: Engine) -> None:
    blocker = card_seen("PVTI_7", 7)
    both = (Blocker("acme/app", 7, "T", "open"), Blocker("acme/new", 7, "Older", "completed"))
    write(ledger, board_seen(), card_seen(), blocker, LinksSeen(CARD, both, 0, "acme/app#9"))
    write(ledger, RepositoryMoved(blocker.board_id, "acme/app", "acme/new"))
    with event_store.reading(ledger) as db:
        assert [(link.repository, link.title) for link in links.of_card(db, CARD)] == [("acme/new", "T")]
        above = links.parent_of(db, CARD)
        assert above is not None
        assert above.repository == "acme/new"
    write(ledger, IssueClosed(blocker.card_id, "completed", "ann", trusted=True))
    with event_store.reading(ledger) as db:
        assert [link.holds for link in links.of_card(db, CARD)] == [False]
