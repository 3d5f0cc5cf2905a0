"""What went wrong on several hosts: slots, a wrong clock, two boards, artifacts, budget, tidying."""

import json
import subprocess
import time
from collections import Counter
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from sqlalchemy import Connection

from forge.demo.people import REPOSITORY
from ledger.events.board import CardArchived
from ledger.events.run import RunClaimed, RunRequeued
from ledger.log import event_store
from ledger.states import RUN_HELD
from ledger.views import cards
from tests.hosts import truths
from tests.hosts.people import ALL, STEP_S, Card
from tests.hosts.sampler import Sampler
from tests.hosts.site import LEASE_S, NAMES, Shape, Site
from tests.hosts.storm import places
from tests.waiting import until

WORKERS, OFF, OFF_S = 2, "c", 30.0
END_S = 600.0  # nine runs of a minute each, on a machine that has more to do
COLUMNS = ("Tasks", "Planning", "In Progress", "Review", "QA", "Done")
WRONG_CLOCK = Path(__file__).with_name("wrong_clock")
REFUSALS, RETRY_S, UNDER_WAY_S = 3, 12, 3.0


def off_by(seconds: float) -> dict[str, str]:
    """Return the variables with which programs see another time; what they count seconds by stays."""
    args = ("faketime", "-f", f"{seconds:+.0f}s", "printenv", "LD_PRELOAD", "FAKETIME")
    library, shift = subprocess.check_output(args, text=True, timeout=60).splitlines()
    return {
        "LD_PRELOAD": library,
        "FAKETIME": shift,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "PYTHONPATH": str(WRONG_CLOCK),
    }


def shape() -> Shape:
    """Return the site: two workers on each host, and one whose clock is off."""
    return Shape(workers=WORKERS, environments={OFF: off_by(OFF_S)})


def play(site: Site) -> None:
    """Play it; raises what was not seen."""
    sampler = Sampler(site).start()
    first = [Card(site, f"Held {number}") for number in range(1, len(NAMES) * WORKERS + 2)]
    second = [Card(site, f"Held there {number}", project=2) for number in (1, 2)]
    _serve_second_board(site)
    for card in first:
        card.drag()
    until(lambda: _held(first) == dict.fromkeys(NAMES, WORKERS), "two runs on each host at once", 2 * STEP_S)
    for card in second:
        card.drag()
    seq = until(lambda: _queued_by(site, second), "runs of the second board wait", STEP_S)
    until(lambda: all([card.serve() for card in first + second]), "all runs end", END_S, 0.2)
    sampler.stop()
    assert max(sampler.most.values()) == WORKERS, f"a host works on as many runs as it should: {sampler.most}"
    _check_claims(site, seq, second)
    truths.check_ledger(site)
    for card in first + second:
        truths.check_card(card, questions=0)
    _check_artifacts(site, first)
    _check_budget(site)
    for card in first + second:
        card.accept()
    until(lambda: all(card.is_accepted() for card in first + second), "every card is approved", STEP_S)
    for card in first + second:
        card.drag("Done")
    until(lambda: not places(site), "every host is tidied up", STEP_S)
    truths.check_ledger(site)
    with event_store.reading(site.engine) as db:
        assert not [one for one in event_store.read(db, limit=ALL) if isinstance(one.event, CardArchived)]


def _serve_second_board(site: Site) -> None:
    store = site.forge.store
    owner, alice = store.users.get("acme"), store.users.get("alice")
    store.projects.create(owner, "Second", COLUMNS, actor=alice)
    site.hosts["a"].cardinal("boards", "add", "acme/2")


def _held(these: list[Card]) -> dict[str, int]:
    """Do what people do; return how many runs each host holds."""
    for card in these:
        card.serve()
    rows = [card.run() for card in these]
    return Counter(run.host for run in rows if run is not None and run.state in RUN_HELD)


def _queued_by(site: Site, these: list[Card]) -> int:
    """Return the newest event once each of these cards has a run; 0 before."""
    with event_store.reading(site.engine) as db:
        return event_store.last_seq(db) if all(_is_known(db, card) for card in these) else 0


def _is_known(db: Connection, card: Card) -> bool:
    return bool(cards.of_issue(db, REPOSITORY, card.number)) and card.run() is not None


def _check_claims(site: Site, seq: int, second: list[Card]) -> None:
    """The next free worker took a run of the board that had none, though another waited longer; a clock that
    is off took no claim from anybody, and is in no event.
    """
    with event_store.reading(site.engine) as db:
        log = list(event_store.read(db, limit=ALL))
    theirs = {run.run_id for card in second if (run := card.run()) is not None}
    claims = [
        recorded.event for recorded in log if isinstance(recorded.event, RunClaimed) and recorded.seq > seq
    ]
    assert claims[0].run_id in theirs, claims
    claimed = dict[str, datetime]()
    for recorded in log:
        if isinstance(recorded.event, RunClaimed):
            claimed[recorded.stream] = recorded.at
        if isinstance(recorded.event, RunRequeued) and recorded.event.why == "reclaimed":
            assert (recorded.at - claimed[recorded.stream]).total_seconds() >= LEASE_S, f"stolen: {recorded}"
    newest = log[0].at
    for recorded in log:
        assert abs((recorded.at - newest).total_seconds()) < OFF_S / 2 or recorded.at > newest, recorded
        newest = max(newest, recorded.at)
    assert (newest - log[-1].at).total_seconds() < OFF_S / 2
    worker = next(process for process in site.hosts[OFF].processes() if "bot.cli" in process.cmdline())
    assert "FAKETIME" in worker.environ()


def _check_artifacts(site: Site, these: list[Card]) -> None:
    """What a run left on its host is given out on every other, the web server's included."""
    run = these[0].run()
    assert run is not None
    for host in (site.web, *site.hosts.values()):
        known = json.loads(host.cardinal("artifacts", run.run_id, "--json"))["artifacts"]
        assert known
        digest = known[0]["digest"]
        assert sha256(host.cardinal("artifacts", run.run_id, "--get", digest)).hexdigest() == digest


def _check_budget(site: Site) -> None:
    """What GitHub tells one host counts for all: none of them calls until it may."""
    begun = time.time()
    wait = {"Retry-After": str(RETRY_S)}
    fault = {"path": "^/(graphql|repos)", "status": 429, "count": REFUSALS, "headers": wait}
    site.team.call("alice", "POST", "/_forge/faults", {"api": [fault]})

    def calls() -> list[tuple[float, int]]:
        calls = list(site.forge.gateway.calls)
        return [
            (one.at_s, one.status) for one in calls if one.at_s > begun and not one.path.startswith("/app")
        ]

    refused = until(lambda: [at for at, status in calls() if status == 429], "GitHub refuses", STEP_S)[0]
    until(
        lambda: [at for at, status in calls() if status < 400 and at > refused + RETRY_S],
        "they go on",
        STEP_S,
    )
    early = [at - refused for at, _ in calls() if refused + UNDER_WAY_S < at < refused + RETRY_S - 0.5]
    assert not early, f"calls, by their seconds after GitHub's refusal: {early}"
