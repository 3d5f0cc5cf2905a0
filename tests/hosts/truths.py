"""What must be true of a site in the end, whatever broke on the way."""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, select

from forge.demo.people import REPOSITORY
from forge.demo.stage import BOT
from ledger.db.tables import VIEWS
from ledger.db.transactions import writing
from ledger.events.run import PlanApproved, PlanProposed, ToolUsed
from ledger.lifecycle.rebuild import refold
from ledger.log import event_store
from ledger.rows.runs import RunRow
from ledger.views import runs
from tests.chaos import tally
from tests.chaos.tally import MARKER
from tests.hosts.people import ALL, ANSWER, Card
from tests.hosts.site import Site

ONCE = ("plan", "question", "report")
SETTLED_S = 300.0  # what is told of late waits for the minute's budget of writes


def check_card(card: Card, questions: int = 1) -> None:
    """One plan, each question, one report and one pull request, with every commit and file of the run."""
    run = card.run()
    assert run is not None
    (pull,) = card.pulls()
    told = [one["body"] for number in (card.number, pull["number"]) for one in _ours(card.site, number)]
    keys = Counter(key for body in told for key in MARKER.findall(body))
    assert not [key for key, times in keys.items() if key.split(":")[0] in ONCE and times > 1], keys
    mine = {key: 1 for key in keys if key.split(":")[0] in ONCE and re.split("[:-]", key)[1] == run.run_id}
    # Work that goes on in another run goes by the plan that was approved in the one before.
    wanted = [f"report:{run.run_id}", *([f"plan:{run.run_id}:1"] if _planned(card, run) else [])]
    wanted += [f"question:{run.run_id}-q{number}" for number in range(1, questions + 1)]
    assert mine == dict.fromkeys(wanted, 1), f"{card.title}: {mine}"
    where = f"/repos/{REPOSITORY}/pulls/{pull['number']}"
    said = {
        one["commit"]["message"].splitlines()[0] for one in _call(card.site, f"{where}/commits?per_page=100")
    }
    lost = {summary for summary in _committed(card) if summary not in said}
    assert not lost, f"{card.title}: commits are lost: {lost}; there are {said}"
    patch = "\n".join(one.get("patch", "") for one in _call(card.site, f"{where}/files"))
    for words in ("+Begun.", f"+Answered: {ANSWER}", "+Ended"):
        assert words in patch, f"{card.title}: {words!r} is not in\n{patch}"


def _planned(card: Card, run: RunRow) -> bool:
    """Tell whether the run made a plan; fails where none of the card's runs had one approved."""
    with event_store.reading(card.site.engine) as db:
        events = [recorded.event for recorded in event_store.read(db, limit=ALL)]
        run_ids = {row.run_id for row in runs.of_card(db, run.card_id)}
    assert any(isinstance(event, PlanApproved) and event.run_id in run_ids for event in events), card.title
    return any(isinstance(event, PlanProposed) and event.run_id == run.run_id for event in events)


def check_ledger(site: Site) -> None:
    """Wait until nothing waits; the log is whole, nothing was given up, and a replay gives the same views."""
    tally.settled(site.engine, SETTLED_S)
    tally.check_ledger(site.engine)
    check_replay(site)


def check_replay(site: Site) -> None:
    """The views, folded again from all events, are the same; nothing of that is kept."""
    with writing(site.engine, alone=True) as db:  # a late delivery is no difference
        before = _views(db)
        refold(db)
        after = _views(db)
        db.rollback()
    differ = {name: (rows ^ after[name]) for name, rows in before.items() if rows != after[name]}
    assert not differ, f"views differ from their replay: {differ}"


def _views(db: Connection) -> dict[str, set[str]]:
    return {
        table.name: {str(tuple(row)) for row in db.execute(select(table))} for table in VIEWS.sorted_tables
    }


def _committed(card: Card) -> Iterable[str]:
    """Return the messages of the commits that the run's agent reported."""
    run = card.run()
    assert run is not None
    with event_store.reading(card.site.engine) as db:
        events = [recorded.event for recorded in event_store.read(db, stream=f"run:{run.run_id}", limit=ALL)]
    return [one.summary for one in events if isinstance(one, ToolUsed) and one.tool == "commit" and one.ok]


def _ours(site: Site, number: int) -> list[dict[str, Any]]:
    return [comment for comment in site.team.comments(number) if comment["user"]["login"] == BOT]


def _call(site: Site, path: str) -> list[dict[str, Any]]:
    answer: list[dict[str, Any]] = site.team.call("alice", "GET", path)
    return answer
