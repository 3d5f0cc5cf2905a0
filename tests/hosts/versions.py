"""Two versions beside each other: the older is refused in words, and its run goes on at the newer."""

import re
import subprocess
import tempfile
from pathlib import Path

from forge.demo import launch
from ledger.db.tables import EditionState
from ledger.lifecycle.edition import every, live, mine
from ledger.log import event_store
from tests.hosts import truths
from tests.hosts.host import Host
from tests.hosts.people import STEP_S, Card
from tests.hosts.site import WEB, Shape, Site
from tests.hosts.story import names_at_work
from tests.previous import archive_of_previous
from tests.waiting import until

OLD = "c"
REFUSED = re.compile(
    "is older than the ledger|the ledger is at migration .* newer than"
)  # at work, at a start
STARTS = 3


def unpacked() -> Path:
    """Return a folder with the previous release's code, in the memory of the play's own mount namespace."""
    folder = Path(tempfile.mkdtemp(dir="/mnt"))
    subprocess.run(("tar", "x"), cwd=folder, input=archive_of_previous(), check=True, timeout=60)
    return folder


def shape() -> Shape:
    """Return the site: one host and the receiver of deliveries begin with the previous release."""
    previous = {"PYTHONPATH": str(unpacked())}
    return Shape(environments={WEB: previous, OLD: previous}, first=(WEB, OLD))


def play(site: Site) -> None:
    """Play it; raises what was not seen."""
    card = Card(site, "About a wire")
    card.drag()
    until(lambda: _told(card, "plan:"), "the older host plans", STEP_S)
    site.team.say("alice", card.number, "/cardinal approve")
    until(lambda: _told(card, "question:"), "the older host asks", STEP_S)
    for name in ("a", "b"):
        site.hosts[name].start()
    until(lambda: _is_ours(site), "this version has the ledger", STEP_S)
    before = _editions(site)
    assert EditionState.FOLDING not in {state for _, state in before}, before
    until(lambda: _refusals(site) >= STARTS, "the older host is refused at each start", STEP_S)
    assert _editions(site) == before, "the older version folded views"
    upgrade(site.web)
    card.acted.add(f"plan {card.parked().plan_revision}")
    card.answer()
    card.ended()
    assert card.hosts()[0] == OLD
    assert OLD not in card.hosts()[1:]
    upgrade(site.hosts[OLD])
    until(lambda: names_at_work(site) == set(site.hosts), "the host that was upgraded works again", STEP_S)
    assert _editions(site) == before
    truths.check_ledger(site)
    truths.check_card(card)


def upgrade(host: Host) -> None:
    """Start the host again, with this version."""
    host.kill()
    host.environment = launch.own_environment()
    host.start()


def _told(card: Card, what: str) -> bool:
    """Tell whether people were told of it; this version cannot read the older one's views."""
    return any(f"<!-- cardinal:{what}" in comment["body"] for comment in card.site.team.comments(card.number))


def _editions(site: Site) -> set[tuple[str, EditionState]]:
    with event_store.reading(site.engine) as db:
        return {(row.digest, row.state) for row in every(db)}


def _is_ours(site: Site) -> bool:
    with event_store.reading(site.engine) as db:
        edition = live(every(db))
    return edition is not None and edition.digest == mine().digest


def _refusals(site: Site) -> int:
    return len(REFUSED.findall((site.root / f"{OLD}.log").read_text()))
