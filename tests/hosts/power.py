"""The shortest story: a host loses its power while it works on a run, and another goes on with it."""

from ledger.events.workspace import Checkpointed
from ledger.log import event_store
from ledger.states import RunState
from tests.hosts import truths
from tests.hosts.people import ALL, STEP_S, Card
from tests.hosts.site import Shape, Site
from tests.hosts.story import check_session
from tests.waiting import until


def shape() -> Shape:
    """Return the site: three hosts with the one that takes deliveries, and little patience."""
    return Shape(names=("b", "c"), settings={"CARDINAL_LEASE_S": "6", "CARDINAL_CHECKPOINT_S": "1"})


def play(site: Site) -> None:
    """Play it; raises what was not seen."""
    card = Card(site, "Power")
    card.drag()
    first = until(lambda: _holding(card), "the agent holds still after its commit", STEP_S)
    until(lambda: _is_kept(site), "commit and file are in the store", STEP_S)
    site.hosts[first].kill()
    card.ended()
    (second,) = {*site.hosts} - {first}
    assert card.hosts() == [first, second]
    check_session(site, card, {"approved", "reclaimed"})
    truths.check_ledger(site)  # it waits for what is still to be written to GitHub
    truths.check_card(card, questions=0)


def _holding(card: Card) -> str:
    """Approve the plan; return the host on which the agent made its file."""
    card.serve()
    run = card.run()
    if run is None or run.state is not RunState.WORKING:
        return ""
    there = card.site.hosts[run.host].home.glob("workspaces/*/repo/held")
    return run.host if list(there) else ""


def _is_kept(site: Site) -> bool:
    with event_store.reading(site.engine) as db:
        kept = [one.event for one in event_store.read(db, limit=ALL) if isinstance(one.event, Checkpointed)]
    return kept[-1].files != kept[-1].head  # what is not committed is a commit of its own
