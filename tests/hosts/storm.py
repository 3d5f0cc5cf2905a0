"""The storm: cards are worked on while hosts, database, Redis and store break; then all must be true."""

import os
import random
import time
from collections import Counter

from sqlalchemy.exc import DBAPIError

from ledger.events.run import RunClaimed, RunRequeued
from ledger.events.workspace import WorkspaceRestored
from ledger.log import event_store
from tests.hosts import truths
from tests.hosts.people import ALL, Card
from tests.hosts.sampler import Sampler
from tests.hosts.site import Site
from tests.hosts.troubles import Troubles, say
from tests.waiting import until

SECONDS, SEED = "CARDINAL_TEST_STORM_S", "CARDINAL_TEST_STORM_SEED"
DEFAULT_S = 300.0
AT_ONCE = 3
CARD_S = 75.0  # between two new cards: GitHub lets an App make 500 contents an hour, and a card makes seven
POLL_S = 0.5
REST_S = 600.0  # for what is left when the weather is fine again
TIDY_S = 150.0


def seconds() -> float:
    """Return how long it blows."""
    return float(os.environ.get(SECONDS, DEFAULT_S))


def play(site: Site) -> None:
    """Play it; raises what is not true in the end. The seed that is printed draws the same troubles again."""
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(10**6))
    say(f"storm: {SEED}={seed} {SECONDS}={seconds():.0f}")
    sampler = Sampler(site).start()
    troubles = Troubles(site, sampler, seed).start()
    cards: list[Card] = []
    try:
        _blow(site, cards, sampler, troubles)
    finally:
        sampler.stop()  # whatever else is wrong: agents without a lease are the worst


def _blow(site: Site, cards: list[Card], sampler: Sampler, troubles: Troubles) -> None:
    begin = time.monotonic()
    while (blown_s := time.monotonic() - begin) < seconds() and troubles.problem is None:
        _serve(site, cards, most=AT_ONCE + int(blown_s / CARD_S))
        time.sleep(POLL_S)
    troubles.stop()
    say(f"{troubles.count} troubles are over; {len(_open(cards))} of {len(cards)} cards are open")
    try:
        until(lambda: not _serve(site, cards, most=0), "all runs end", REST_S, POLL_S)
    except AssertionError:
        for card in _open(cards):
            say(card.state())
        raise
    truths.check_ledger(site)
    for card in cards:
        truths.check_card(card)
    say(_sum(site, cards, sampler))
    for card in cards:
        card.accept()
    until(lambda: all(card.is_accepted() for card in cards), "every card is approved", TIDY_S, POLL_S)
    for card in cards:
        card.drag("Done")
    until(lambda: not places(site), "every host is tidied up", TIDY_S, POLL_S)
    truths.check_ledger(site)


def _open(cards: list[Card]) -> list[Card]:
    return [card for card in cards if not card.over]


def _serve(site: Site, cards: list[Card], *, most: int) -> list[Card]:
    """Do what people do on each open card, with new ones for those that are done; return the open ones.

    There are never more than `most` cards in all.
    """
    while len(_open(cards)) < AT_ONCE and len(cards) < most:
        cards.append(Card(site, f"Card {len(cards) + 1}"))
        cards[-1].drag()
    for card in _open(cards):
        try:
            card.over = card.serve()
        except DBAPIError:  # the database is away: people wait
            break
    return _open(cards)


def places(site: Site) -> list[str]:
    """Return the workspaces of cards that are left on any host."""
    return [str(path) for host in site.hosts.values() for path in host.home.glob("workspaces/*/card")]


def _sum(site: Site, cards: list[Card], sampler: Sampler) -> str:
    with event_store.reading(site.engine) as db:
        events = [recorded.event for recorded in event_store.read(db, limit=ALL)]
    whys = Counter(event.why for event in events if isinstance(event, RunRequeued))
    claims = sum(isinstance(event, RunClaimed) for event in events)
    restored = [event for event in events if isinstance(event, WorkspaceRestored)]
    return (
        f"{len(cards)} runs, {claims} claims, requeued {dict(whys)}, {len(restored)} restored elsewhere, "
        f"{sum(bool(event.missing) for event in restored)} not whole; {len(events)} events, "
        f"{sampler.samples} samples"
    )
