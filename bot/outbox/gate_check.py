"""Cardinal's check run on a commit: read out of the ledger, made once, then kept up to date."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult
from bot.outbox.posting import last_of
from bot.outbox.targets import MAX_RUNS
from bot.render.markdown.marker import digest_of
from bot.render.pull import log_head
from bot.render.pull.gate_check import NAME, Seen
from ledger.log import event_store, hash_chain
from ledger.queue.outbox import Entry
from ledger.states import Gate, RunState
from ledger.views import checks, runs
from ledger.views.cards import CardRow

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext


def seen_of(db: Connection, card: CardRow, head: str, site: str = "") -> Seen:
    """Return what is known of the commit `head` of the card's pull request. `site`: where the pages are."""
    of_card = runs.of_card(db, card.card_id, limit=MAX_RUNS)
    live = next((run for run in of_card if run.state is not RunState.ENDED), None)
    pusher = next((run for run in of_card if run.pushed_head == head), None)
    last = checks.gate_of(db, card.card_id)
    waived = checks.standing(db, card.card_id, head) is Gate.NOTHING
    seen = Seen(head, pusher, None, (), live, waived, last.head if last else "", site=site)
    found = checks.gate_of(db, card.card_id, head)
    if found is None or waived:  # a waiver that is newer than the result
        return seen
    ran = tuple(one for one in checks.of_run(db, found.run_id) if one.head == head)
    return replace(
        seen,
        passed=found.passed,
        checks=ran,
        by=found.run_id,
        image=found.image,
        base=found.base,
        definition=found.definition,
    )


def publish(
    hub: "Hub", context: "OutboxContext", entry: Entry, *, repository: str, head: str, says: Mapping[str, Any]
) -> ActResult:
    """Make the check run on `head`, or bring the one that was made for this entry up to date.

    Its `external_id` is the card's, by which a press of its buttons is found again. Its text has the head of
    the log at that moment, out of reach of whoever can write the ledger.
    Source: docs.github.com/rest/checks/runs (create, update).
    """
    digest = digest_of(json.dumps(says, sort_keys=True))
    last = last_of(context, entry.key)
    known = last.remote_id if last else ""
    if last is not None and known and last.digest == digest:
        return ActResult(known, digest)
    with event_store.reading(context.engine) as db:
        head_of_log = log_head.text(hash_chain.newest(db))
    told = {**says, "output": {**says.get("output", {}), "text": head_of_log}}
    root = repository_path(repository)
    if not known and entry.attempts > 1:
        known = _made_before(hub, repository, head, entry.card_id)
    if known:
        try:
            hub.rest("PATCH", f"{root}/check-runs/{known}", body=told)
            return ActResult(known, digest)
        except NotFoundError:  # GitHub forgets check runs after a while: made anew
            pass
    asked = {"name": NAME, "head_sha": head, "external_id": entry.card_id, **told}
    answer = hub.rest("POST", f"{root}/check-runs", body=asked)
    return ActResult(str(answer.body["id"]), digest)


def _made_before(hub: "Hub", repository: str, head: str, card_id: str) -> str:
    """Return the id of the check run that an earlier attempt left, or an empty string."""
    path = f"{repository_path(repository)}/commits/{head}/check-runs"
    for run in hub.rest("GET", path, params={"check_name": NAME}).body["check_runs"]:
        slug = str((run.get("app") or {}).get("slug") or "")
        if f"{slug}[bot]" == hub.bot_login and run.get("external_id") == card_id:
            return str(run["id"])
    return ""
