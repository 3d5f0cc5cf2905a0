"""Checks of a commit: check runs, commit statuses, required checks, job logs."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import requests

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, PermissionMissingError, RefusedError, UnavailableError
from bot.github.transport import send_plain
from rules.runs.branch_rules import BranchRule, list_required_checks

log = logging.getLogger(__name__)
PAGE, MAX_PAGES = 100, 5  # 500 checks on one commit
ACTIONS = "github-actions"  # the App whose check runs are jobs, with a log under the same id
TAIL_BYTES = 16_000
_MAX_BYTES = 20_000_000  # of a log whose sender ignores the range
_WAIT_S = (10.0, 20.0)
_NO_LOG = (NotFoundError, PermissionMissingError, RefusedError, UnavailableError, requests.RequestException)
# docs.github.com/rest/checks/runs (conclusion). Checks that are cancelled or wait for a person are not red.
_RED = ("failure", "timed_out")


class Light(StrEnum):
    """The state of a check; `grey`: ended without a result."""

    PENDING = "pending"
    GREEN = "green"
    RED = "red"
    GREY = "grey"


# A workflow for pushes and pull requests has two runs of one name; a pending one counts before all others.
_WORSE = (Light.PENDING, Light.RED, Light.GREEN, Light.GREY)


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a commit. `job_id`: of its log in GitHub Actions, 0 without one."""

    name: str
    light: Light
    url: str
    said: str
    job_id: int


def of_commit(hub: Hub, repository: str, sha: str) -> tuple[Check, ...]:
    """Return the newest check of each name, without Cardinal's own; of two that share a name, the worse one.

    Source: docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference and
    docs.github.com/rest/commits/statuses#get-the-combined-status-for-a-specific-reference.
    """
    checks: list[Check] = []
    for run in _runs(hub, repository, sha):
        slug = str((run.get("app") or {}).get("slug") or "")
        if f"{slug}[bot]" != hub.bot_login:
            checks.append(_of_run(run, slug))
    checks += map(_of_status, _statuses(hub, repository, sha))
    by_name: dict[str, Check] = {}
    for check in checks:
        known_check = by_name.setdefault(check.name, check)
        if _WORSE.index(check.light) < _WORSE.index(known_check.light):
            by_name[check.name] = check
    return tuple(by_name.values())


def list_required(hub: Hub, repository: str, branch: str, rules: Iterable[BranchRule]) -> frozenset[str]:
    """Return the names of the checks that a merge into the branch requires, by its protection or `rules`.

    Source: docs.github.com/rest/branches/branches#get-a-branch (protection).
    """
    path = f"{repository_path(repository)}/branches/{quote(branch, safe='')}"
    protection = hub.rest("GET", path).body.get("protection") or {}
    names = (protection.get("required_status_checks") or {}).get("contexts") or ()
    return frozenset(names) | list_required_checks(rules)


def log_tail(hub: Hub, repository: str, check: Check) -> str:
    """Return the end of the check's output: its job's log if available, else its own text.

    Source: docs.github.com/rest/actions/workflow-jobs#download-job-logs-for-a-workflow-run (a redirection).
    """
    if not check.job_id:
        return check.said
    try:
        address = hub.address_of(f"{repository_path(repository)}/actions/jobs/{check.job_id}/logs")
        return _download_end(address) or check.said
    except _NO_LOG as error:
        # Not the error's message: it holds the address, which gives anybody access to the log.
        kind = type(error).__name__
        log.info("no log of a check repository=%s job=%s reason=%s", repository, check.job_id, kind)
        return check.said


def _statuses(hub: Hub, repository: str, sha: str) -> list[dict[str, Any]]:
    path = f"{repository_path(repository)}/commits/{quote(sha, safe='')}/status"
    try:
        return list(hub.rest("GET", path, params={"per_page": PAGE}).body["statuses"])
    except PermissionMissingError:  # an installation older than this permission: most checks are check runs
        return []


def _runs(hub: Hub, repository: str, sha: str) -> list[dict[str, Any]]:
    path = f"{repository_path(repository)}/commits/{quote(sha, safe='')}/check-runs"
    runs: list[dict[str, Any]] = []
    for page in range(1, MAX_PAGES + 1):
        body = hub.rest("GET", path, params={"filter": "latest", "per_page": PAGE, "page": page}).body
        runs += body["check_runs"]
        if len(runs) >= int(body["total_count"]) or not body["check_runs"]:
            break
    return runs


def _of_run(run: dict[str, Any], slug: str) -> Check:
    output = run.get("output") or {}
    said = "\n\n".join(str(output[part]) for part in ("title", "summary", "text") if output.get(part))
    if run["status"] != "completed":
        light = Light.PENDING
    elif run["conclusion"] in ("success", "neutral", "skipped"):
        light = Light.GREEN
    else:
        light = Light.RED if run["conclusion"] in _RED else Light.GREY
    job_id = int(run["id"]) if slug == ACTIONS else 0
    return Check(str(run["name"]), light, str(run.get("html_url") or ""), said, job_id)


def _of_status(status: dict[str, Any]) -> Check:
    light = {"success": Light.GREEN, "pending": Light.PENDING}.get(str(status["state"]), Light.RED)
    url, said = str(status.get("target_url") or ""), str(status.get("description") or "")
    return Check(str(status["context"]), light, url, said, 0)


def _download_end(address: str) -> str:
    """Return the end of a text; read without a token, for the address itself is the key."""
    tail = b""
    headers = {"Range": f"bytes=-{TAIL_BYTES}"}
    with send_plain("GET", address, headers=headers, timeout_s=_WAIT_S, stream=True) as answer:
        if answer.status_code not in (200, 206):
            return ""
        seen = 0
        for piece in answer.iter_content(65_536):
            tail = (tail + piece)[-TAIL_BYTES:]
            seen += len(piece)
            if seen > _MAX_BYTES:
                break
    return tail.decode("utf-8", "replace")
