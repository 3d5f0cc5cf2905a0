"""The work on a card as its page shows it: report, files with their sizes, evidence, what a merge takes."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

from bot.render.markdown import links
from bot.render.run.evidence import LOG, newest
from bot.runspec.host_paths import read_stored_text
from bot.state import patches
from bot.state.patches import KeptPatch
from bot.web.live.run_parts import describe_change
from bot.web.site.diff import parse_patch
from bot.web.site.layout import Site
from bot.web.site.lists import fit_rows
from bot.web.site.report import ReportView, report_view
from ledger.events.run import RERUN
from ledger.events.witness import witness_text
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.rows.runs import RunRow
from ledger.views import checks, ci, reports, runs
from ledger.views.checks import CheckRow
from rules.policy.model import Policy
from rules.runs.cost import cost_words
from rules.runs.gate import MergeCondition, list_merge_conditions
from rules.snapshot import CardPull, Snapshot
from rules.text import count, plain
from runner.artifacts.backend import StoreError

log = logging.getLogger(__name__)
MAX_PATCH_BYTES = 300_000  # of a patch that are read for its sizes
MAX_FILES = 40
MAX_CHECKS, MAX_LINE = 20, 300
_SIZES = LRUCache[str, tuple["FileSize", ...]](500)  # by a patch's digest: what has it never changes


class FileSize(NamedTuple):
    """A changed file, and how many lines were added and removed."""

    name: str
    added: int
    removed: int


class CheckView(NamedTuple):
    """The newest result of one command."""

    command: str
    passed: bool
    result: str
    tier: str
    log: str


@dataclass(frozen=True, slots=True)
class WorkView:
    """Each part is empty where there is none. `totals` sums the files up; `cut`: there are more of them."""

    run_id: str
    report: ReportView | None
    facts: str
    files: Sequence[FileSize]
    totals: str
    cut: bool
    checks: Sequence[CheckView]
    evidence: str
    conditions: Sequence[MergeCondition]


def work_of(site: Site, visit: SignIn, snapshot: Snapshot, policy: Policy) -> WorkView | None:
    """Return the work of the card's newest run that has any; None before. Raises BusyError."""
    with event_store.reading(site.engine) as db:
        listed = [run for run in runs.of_card(db, snapshot.card_id) if run.kind != RERUN]
        known = reports.of_runs(db, [run.run_id for run in listed])
        run = snapshot.live_run or next((it for it in listed if it.run_id in known), snapshot.run)
        if run is None:
            return None
        done = checks.of_run(db, run.run_id)
        gate = checks.newest_gate(db, run.run_id)
        patch = patches.newest(db, run)
        pull = snapshot.open_pull
        ci_row = ci.of_card(db, snapshot.card_id)
        red = ci.failures_of(db, snapshot.card_id, pull.head) if pull else ()
    files = _sizes(site, visit, run, patch)
    passed = gate is not None and gate.passed
    conditions = list(list_merge_conditions(policy, snapshot, pull)) if pull else []
    if pull is not None and ci_row is not None and ci_row.head == pull.head:
        conditions[1:1] = [_ci(pull, ci_row.settled, ci_row.pending, [plain(it.name, 60) for it in red])]
    results = [_check(it) for it in newest(done)[-MAX_CHECKS:]]
    cost = cost_words(run.usd, run.payer) if run.usd else ""
    view = WorkView(
        run_id=run.run_id,
        report=report_view(known.get(run.run_id), snapshot.brief, done),
        facts=" · ".join(filter(None, (run.run_id, plain(run.played), cost))),
        files=fit_rows(files[:MAX_FILES]),
        totals=_totals(run, files),
        cut=len(files) > MAX_FILES or len(files) < run.files_changed,
        checks=fit_rows(results),
        evidence="" if gate is None else f"{'passed' if passed else 'failed'} on {plain(gate.head[:7])}",
        conditions=conditions,
    )
    empty = not (view.report or view.files or view.totals or view.checks or view.conditions)
    return None if empty else view


def _totals(run: RunRow, files: Sequence[FileSize]) -> str:
    if files and len(files) >= run.files_changed:
        added, removed = sum(it.added for it in files), sum(it.removed for it in files)
        return f"{count(len(files), 'file')}, +{added:,} −{removed:,}"
    return describe_change(run)


def _sizes(site: Site, visit: SignIn, run: RunRow, patch: KeptPatch | None) -> Sequence[FileSize]:
    """Return the files of the patch; none of unfinished work for a reader: no guard has checked it."""
    if patch is None or not (patch.checked or site.readers.writes(visit, run.repository)):
        return ()
    try:
        return _read_sizes(site, patch.digest)
    except StoreError as error:
        log.warning("sizes not shown digest=%s reason=%s", patch.digest, error)
        return ()


def _read_sizes(site: Site, digest: str) -> Sequence[FileSize]:
    known = _SIZES.get(digest)
    if known is None:
        text = read_stored_text(site.config, site.engine, digest, most_bytes=MAX_PATCH_BYTES)
        if text is None:
            return ()
        known = tuple(FileSize(it.name, it.added, it.removed) for it in parse_patch(text).files)
        _SIZES[digest] = known
    return known


def _check(row: CheckRow) -> CheckView:
    passed = row.exit_code == 0 and row.believed
    said = plain(witness_text(row), MAX_LINE)
    result = "passed" if passed else f"exit code {row.exit_code}"
    where = row.log_digest and links.of_file("", row.run_id, row.log_digest, LOG)
    return CheckView(
        plain(row.command, MAX_LINE), passed, f"{result}{f' ({said})' if said else ''}", row.tier, where
    )


def _ci(pull: CardPull, settled: bool, pending: Sequence[str], red: Sequence[str]) -> MergeCondition:
    """Return how the checks on GitHub stand."""
    commit = plain(pull.head[:7])
    if red:
        return MergeCondition(False, f"Checks on GitHub failed: {plain(', '.join(red), MAX_LINE)}")
    if not settled:
        waits = f": {plain(', '.join(pending), MAX_LINE)}" if pending else ""
        return MergeCondition(False, f"Checks on GitHub still run{waits}")
    return MergeCondition(True, f"No failing checks on GitHub on {commit}")
