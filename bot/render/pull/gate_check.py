"""Cardinal's check on a pull request's commit: the gate's result, the buttons, the head of the log."""

import re
from dataclasses import dataclass, replace
from typing import Any

from bot.render import missing_checks
from bot.render.markdown import links
from bot.render.markdown.escape import code, fit_comment
from bot.render.pull import policy_check
from bot.render.run import evidence
from ledger.events.run import CHECK as CHECK_KIND
from ledger.ids import RunId
from ledger.log.hash_chain import ChainReport
from ledger.rows.runs import RunRow
from ledger.states import RUN_HELD
from ledger.views.checks import CheckRow
from rules.handlers.check_buttons import Button
from rules.runs.gate import CHECK
from rules.text import plain, sentence

NAME = "cardinal/gate"
OWN_CHECKS = frozenset({NAME, policy_check.NAME})
SUMMARY_LIMIT = 60_000  # GitHub refuses a check run's summary over 65,535 characters


_HEAD = re.compile(r"Cardinal's log here: event ([1-9][0-9]{0,17}), digest `([0-9a-f]{64})`")


@dataclass(frozen=True, slots=True)
class GateRecord:
    """Facts about one commit. `pusher` is the run that pushed it, None for a commit of no known run.

    `passed` is how the gate ended on it last, in the run `by`, None where it never ran; `live` is the run
    that lives now, `last` the commit that the gate saw last, of whatever run. `waived`: nothing was checked,
    because the policy says so. `judged` is the commit that the gate saw, where GitHub signed it anew.
    """

    head: str
    pusher: RunRow | None
    passed: bool | None
    checks: tuple[CheckRow, ...]
    live: RunRow | None
    waived: bool = False
    last: str = ""
    by: str = ""
    image: str = ""
    base: str = ""
    definition: str = ""
    paths: tuple[str, ...] = ()
    judged: str = ""
    site: str = ""  # where Cardinal's pages are, empty where they are not served


@dataclass(frozen=True, slots=True)
class GateConclusion:
    """Texts of the check; `conclusion` is GitHub's word, empty while it is not known."""

    conclusion: str
    title: str
    summary: str


def conclude(record: GateRecord) -> GateConclusion:
    """Return the gate's result on the commit: without one it has not passed."""
    if record.live is not None and record.live.kind == CHECK_KIND:
        said = f"{record.live.run_id} runs the checks on a clean checkout, without an agent."
        return GateConclusion("", f"{record.live.run_id} checks it", said)
    if record.passed is not None:
        return _of_evidence(record, record.passed)
    if record.waived:
        made = f"{record.pusher.run_id} made this commit. " if record.pusher is not None else ""
        said = f"{made}{missing_checks.WAIVED}"
        return GateConclusion("neutral", "Nothing was checked: validation is none", said)
    working = record.live is not None and record.live.state in RUN_HELD
    if record.pusher is not None and working and record.pusher == record.live:
        said = (
            f"{record.pusher.run_id} made this commit and is still working: the gate checks its last commit."
        )
        return GateConclusion("", f"{record.pusher.run_id} is working", said)
    if record.pusher is not None:
        said = f"{record.pusher.run_id} made this commit, but there is no record that its checks passed."
        return GateConclusion("action_required", "The gate has not checked this commit", said)
    if record.live is not None and working:
        said = f"{record.live.run_id} is working: its next push will have passed the gate."
        return GateConclusion("", f"{record.live.run_id} is working", said)
    last = (
        f"Cardinal checked {code(record.last[:7])}" if record.last else "Cardinal has checked nothing of it"
    )
    said = (
        f"{code(record.head[:12])} did not come from a Cardinal run, so it has not been checked. Results for"
        f" older commits do not count here. {sentence(CHECK)}"
    )
    return GateConclusion("action_required", f"Not checked: {last.replace('`', '')}", said)


def write(record: GateRecord, buttons: tuple[Button, ...]) -> dict[str, Any]:
    """Return the fields of the check run, without its name and commit.

    Source: docs.github.com/rest/checks/runs#create-a-check-run.
    """
    result = conclude(record)
    ended = {"status": "completed", "conclusion": result.conclusion}
    shown = [
        {"label": button.label, "identifier": button.identifier, "description": button.description}
        for button in buttons
    ]
    return {
        **(ended if result.conclusion else {"status": "in_progress"}),
        **_details(record),
        "output": {"title": result.title, "summary": result.summary},
        "actions": shown,
    }


def _details(record: GateRecord) -> dict[str, str]:
    """Return the target of GitHub's link "Details": the run that made or checks the commit."""
    checking = record.live is not None and record.live.kind == CHECK_KIND
    about = record.live if checking else record.pusher or record.live
    run_id = about.run_id if about is not None and (checking or not record.by) else record.by
    return {"details_url": links.run_link(record.site, RunId(run_id))} if record.site and run_id else {}


def of_group(record: GateRecord, number: int, objection: str = "") -> dict[str, Any]:
    """Return the check run's fields for a commit of the merge queue, which holds the commit that was record.
    `objection`: why the earlier result does not count any more.

    It always has a conclusion: the queue waits for one, and a gate that has not passed must not let through.
    """
    result = conclude(replace(record, live=None))
    if objection:
        again = f"{sentence(plain(objection, 300))} Then put #{number} into the queue again."
        result = GateConclusion("action_required", "The gate has to run again", again)
    said = (
        f"The queue merges #{number} at {code(record.head[:12])}. The gate ran on that commit and does not"
        " run again here: the repository's own checks test what is merged together."
    )
    return {
        "status": "completed",
        "conclusion": result.conclusion or "action_required",
        **_details(record),
        "output": {
            "title": result.title,
            "summary": fit_comment((said, result.summary), limit=SUMMARY_LIMIT),
        },
        "actions": [],
    }


def _of_evidence(record: GateRecord, passed: bool) -> GateConclusion:
    failed = sum(check.exit_code != 0 for check in evidence.newest(record.checks))
    title = "The checks passed" if passed else f"{failed or 'Some'} of the checks failed"
    by = f" by {record.by}" if record.by else ""
    head = record.judged or record.head
    intro = f"Checked{by} at {code(head[:12])}, on a clean checkout that the agent cannot touch."
    if head != record.head:
        intro += f" GitHub made {code(record.head[:12])} of it, signed and with the same files."
    needed = (intro, evidence.checks_table(record.checks), evidence.failing(record.checks))
    proof = evidence.proof(
        record.checks,
        head=head,
        base=record.base,
        image=record.image,
        definition=record.definition,
        paths=record.paths,
        site=record.site,
    )
    tails = evidence.tails(record.checks)
    return GateConclusion(
        "success" if passed else "failure", title, fit_comment(needed, (proof, *tails), limit=SUMMARY_LIMIT)
    )


def log_head(head: ChainReport) -> str:
    """Return the sentence of a check that names the log's newest event, for `cardinal audit verify`."""
    return f"Cardinal's log here: event {head.events}, digest `{head.head}`"


def read_log_head(text: str) -> ChainReport | None:
    """Return the head that a check's text names; None where it names none."""
    match = _HEAD.search(text)
    return ChainReport(int(match[1]), match[2]) if match else None
