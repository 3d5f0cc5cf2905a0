"""The short story: three hosts, and what one sees when each of them goes away in its own way."""

from ledger.events.run import RunRequeued, SessionStarted
from ledger.events.workspace import WorkspaceRestored
from ledger.log import event_store
from ledger.queue import hosts
from tests.hosts import network, truths
from tests.hosts.people import ALL, STEP_S, Card, drain
from tests.hosts.sampler import Sampler
from tests.hosts.site import NAMES, Site
from tests.waiting import until


def play(site: Site) -> None:
    """Play it; raises what was not seen."""
    until(lambda: names_at_work(site) == set(NAMES), "all hosts are there", STEP_S)
    sampler = Sampler(site).start()
    travels, cut = Card(site, "Twice about travel"), Card(site, "About a wire")
    travels.drag()
    cut.drag()
    # Parked on one host, answered while that is drained: it goes on in its session on the next.
    first = travels.parked().host
    second, third = (name for name in NAMES if name != first)
    drain(site, first, third)
    cut.parked()
    travels.answer()
    assert travels.parked(question=2).host == second
    # The next card is worked on at the third host, which then loses the database; the second loses its power.
    drain(site, first, second)
    cut.answer()
    cut.working_on(third)
    drain(site)
    network.cut(third, ("database",))
    site.hosts[second].kill()
    travels.answer()
    until(lambda: not site.hosts[third].agents(), "no agent works where no ledger is", STEP_S)
    # One host is left: it gets the run that worked elsewhere, and the one that was parked on a dead host.
    travels.ended()
    assert travels.hosts() == [first, second, first]
    cut.working_on(first)  # once the third host is back, the run may as well go on there
    network.mend(third, ("database",))
    site.hosts[second].start()
    cut.ended()
    assert cut.hosts()[-2:] == [third, first]
    until(lambda: names_at_work(site) == set(NAMES), "all hosts are at work again", STEP_S)
    truths.check_ledger(site)  # it waits for what is still to be written to GitHub
    for card, questions in ((travels, 2), (cut, 1)):
        check_session(site, card, {"approved", "answered"})
        truths.check_card(card, questions)
    sampler.stop()
    # The shortest turn may fall between two samples.
    assert max(sampler.most.values()) == 1, f"each host works on one run at once: {sampler.most}"


def names_at_work(site: Site) -> set[str]:
    """Return the hosts that live and are not drained."""
    with event_store.reading(site.engine) as db:
        return {row.name for row in hosts.list_hosts(db).at_work}


def check_session(site: Site, card: Card, whys: set[str]) -> None:
    """The run had one session on all hosts, and nothing of it was missing; `whys`: why it went on."""
    run = card.run()
    assert run is not None
    with event_store.reading(site.engine) as db:
        events = [recorded.event for recorded in event_store.read(db, stream=f"run:{run.run_id}", limit=ALL)]
    assert len({event.session_id for event in events if isinstance(event, SessionStarted)}) == 1
    assert [event.missing for event in events if isinstance(event, WorkspaceRestored) and event.missing] == []
    seen = {event.why for event in events if isinstance(event, RunRequeued)}
    assert whys <= seen, seen
