"""Cardinal's check run on a commit: made once, then kept up to date; and whether its result still counts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from bot.github.api import repositories
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult, GivenUpError
from bot.outbox.posting import failure_of, last_of
from bot.outbox.targets import MAX_RUNS
from bot.render.markdown.marker import text_digest
from bot.render.pull.gate_check import NAME, GateRecord, log_head
from bot.repo_config import policy_file, profiles
from bot.state import policies
from bot.state.outbox_context import OutboxContext
from ledger.events.run import RERUN
from ledger.log import hash_chain
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.states import Gate
from ledger.views import checks, runs
from ledger.views.remotes import RemoteRow
from rules.errors import PolicyError
from rules.policy import locations
from rules.runs.gate import CHECK

_BEGUN = "begun "  # leads the digest of a check that has no conclusion yet


def is_in_progress(check: RemoteRow | None) -> bool:
    """Tell whether Cardinal left this check in progress: GitHub shows it so for ever."""
    return check is not None and check.digest.startswith(_BEGUN)


def read_gate(db: Connection, card: CardRow, head: str, site: str = "") -> GateRecord:
    """Return the gate's record of the commit `head` of the pull request. `site`: the pages' address."""
    of_card = runs.of_card(db, card.card_id, limit=MAX_RUNS)
    live = next((run for run in of_card if run.alive and run.kind != RERUN), None)
    pusher = next((run for run in of_card if run.pushed_head == head), None)
    last = checks.gate_of(db, card.card_id)
    waived = checks.standing(db, card.card_id, head) is Gate.NOTHING
    record = GateRecord(head, pusher, None, (), live, waived, last.head if last else "", site=site)
    result = checks.gate_of(db, card.card_id, head)
    if result is None or waived:  # a waiver that is newer than the result
        return record
    return replace(
        record,
        passed=result.passed,
        checks=tuple(check for check in checks.of_run(db, result.run_id) if check.head == result.head),
        by=result.run_id,
        image=result.image,
        base=result.base,
        definition=result.definition,
        paths=result.paths,
        judged=result.head,
    )


def demand_same(context: OutboxContext, card: CardRow, head: str) -> None:
    """Raise GivenUpError if the default branch's checks are others than `head` passed, or cannot be read."""
    with context.reading() as db:
        checked = checks.definition_of(db, card.card_id, head)
        board = policies.in_force(db, card.board_id).board
    if not checked or card.pull_repository is None:
        return
    commit = repositories.base(context.hub, card.pull_repository).commit
    if commit:
        text = policy_file.read_at(context.hub, card.pull_repository, commit)
    else:
        text, commit = policy_file.read(context.hub, card.pull_repository)
    try:
        now = profiles.rules_of(context.hub, card.pull_repository, text, commit, board).definition
    except PolicyError as error:
        raise GivenUpError(f"{locations.PATH} cannot be read: {error.problems[0]}") from error
    if now != checked:
        raise GivenUpError(f"the checks were changed on the default branch since it passed them. {CHECK}")


def publish_check(
    context: OutboxContext, entry: Entry, *, repository: str, head: str, says: Mapping[str, Any]
) -> ActResult:
    """Make the check run on `head`, or update the one that this entry made.

    Its `external_id` is the card's id, which leads a pressed button back to the card. Its text holds the
    current head of the log, out of reach of whoever can write the ledger.
    Source: docs.github.com/rest/checks/runs (create, update).
    """
    digest = text_digest(json.dumps(says, sort_keys=True))
    if "conclusion" not in says:
        digest = f"{_BEGUN}{digest}"
    last = last_of(context, entry.key)
    known = last.remote_id if last else ""
    if last is not None and known and last.digest == digest:
        return ActResult(known, digest)
    with context.reading() as db:
        head_of_log = log_head(hash_chain.newest(db))
    body = {**says, "output": {**says.get("output", {}), "text": head_of_log}}
    root = repository_path(repository)
    if not known and (entry.attempts > 1 or failure_of(context, entry.key)):
        own_check = find_check(context.hub, repository, head, entry.card_id)
        known = own_check.check_id if own_check else ""
    if known:
        try:
            context.hub.rest("PATCH", f"{root}/check-runs/{known}", body=body)
            return ActResult(known, digest)
        except NotFoundError:  # GitHub forgets check runs after a while: make a new one
            pass
    body = {"name": NAME, "head_sha": head, "external_id": entry.card_id, **body}
    answer = context.hub.rest("POST", f"{root}/check-runs", body=body)
    return ActResult(str(answer.body["id"]), digest)


@dataclass(frozen=True, slots=True)
class OwnCheck:
    """A check run of Cardinal's own; `passed`: it says so, which nobody but the App can write."""

    check_id: str
    passed: bool


def find_check(hub: Hub, repository: str, head: str, card_id: str) -> OwnCheck | None:
    """Return Cardinal's check run of the card on that commit; None without one."""
    path = f"{repository_path(repository)}/commits/{head}/check-runs"
    for run in hub.rest("GET", path, params={"check_name": NAME}).body["check_runs"]:
        slug = str((run.get("app") or {}).get("slug") or "")
        if f"{slug}[bot]" == hub.bot_login and run.get("external_id") == card_id:
            return OwnCheck(str(run["id"]), run.get("conclusion") == "success")
    return None
