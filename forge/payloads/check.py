"""Check runs, their suites and commit statuses as GitHub writes them."""

from forge.clock import rfc3339, rfc3339_or_none
from forge.payloads import commit
from forge.payloads.account import user
from forge.payloads.application import app
from forge.payloads.view import Json, View, attributes
from forge.store.models import CheckRun, CommitStatus, Pull


def check_run(view: View, check: CheckRun) -> Json:
    """Return a `check-run`."""
    url = view.repo_api(check.repo, f"/check-runs/{check.id}")
    page = view.repo_html(check.repo, f"/runs/{check.id}")
    output = check.output
    return {
        **attributes(check, "id", "name", "node_id", "head_sha", "external_id", "status", "conclusion"),
        **attributes(check, "started_at", "completed_at"),
        "url": url,
        "html_url": page,
        "details_url": check.details_url or page,
        "output": {
            **{name: output.get(name) for name in ("title", "summary", "text")},
            "annotations_count": len(output.get("annotations") or []),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": check.suite_id},
        "app": app(view, view.store.apps.by_slug(check.app_slug)),
        "pull_requests": [
            pull_stub(view, pull)
            for pull in view.store.pulls.all(check.repo)
            if pull.head_sha == check.head_sha and pull.issue.state == "open"
        ],
    }


def pull_stub(view: View, pull: Pull) -> Json:
    """Return a `pull-request-minimal`."""
    repo = {**attributes(pull.repo, "id", "name"), "url": view.repo_api(pull.repo)}
    return {
        **attributes(pull, "id", "number"),
        "url": view.repo_api(pull.repo, f"/pulls/{pull.number}"),
        "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": repo},
        "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": repo},
    }


def hook_check_run(view: View, check: CheckRun) -> Json:
    """Return a check run as webhooks carry it: with all of its suite."""
    run = check_run(view, check)
    branch = run["pull_requests"][0]["head"]["ref"] if run["pull_requests"] else None
    run["check_suite"] = {
        "id": check.suite_id,
        "node_id": view.store.identifiers.node_id("check_suite", check.suite_id),
        **attributes(check, "head_sha", "status", "conclusion"),
        "head_branch": branch,
        "url": view.repo_api(check.repo, f"/check-suites/{check.suite_id}"),
        "before": None,
        "after": check.head_sha,
        "pull_requests": run["pull_requests"],
        "app": run["app"],
        "created_at": rfc3339(check.started_at),
        "updated_at": rfc3339(check.started_at),
    }
    return run


RANKS = ("failure", "timed_out", "action_required", "cancelled", "stale", "success", "neutral", "skipped")


def hook_check_suite(view: View, last: CheckRun) -> Json:
    """Return the suite that ended with the check run `last`, as webhooks carry it."""
    suite: Json = hook_check_run(view, last)["check_suite"]
    runs = view.store.checks.in_suite(last)
    conclusions = {run.conclusion or "neutral" for run in runs}
    return {
        **suite,
        "app": _without(suite["app"], "installations_count"),
        "conclusion": min(conclusions, key=RANKS.index),
        "updated_at": rfc3339_or_none(last.completed_at),
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{suite['url']}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": True,
        "head_commit": commit.simple_commit(view.store.repos.git(last.repo), last.head_sha),
    }


def status(view: View, commit_status: CommitStatus) -> Json:
    """Return a `simple-commit-status`."""
    return {
        **attributes(
            commit_status, "id", "node_id", "state", "context", "description", "target_url", "created_at"
        ),
        "avatar_url": user(view, commit_status.creator)["avatar_url"],
        "url": view.repo_api(commit_status.repo, f"/statuses/{commit_status.sha}"),
        "updated_at": rfc3339(commit_status.created_at),
    }


def hook_status(view: View, commit_status: CommitStatus) -> Json:
    """Return the fields that only a `status` event has; they are at the top of the payload."""
    git = view.store.repos.git(commit_status.repo)
    shown = commit.commit(view, commit_status.repo, git.commit(commit_status.sha))
    people = {
        role: shown[role] and _without(shown[role], "user_view_type") for role in ("author", "committer")
    }
    return {
        **_without(status(view, commit_status), "node_id", "url"),
        "sha": commit_status.sha,
        "name": commit_status.repo.full_name,
        "commit": {**shown, **people},
        "branches": [
            commit.branch(view, commit_status.repo, name, sha)
            for name, sha in git.branches().items()
            if sha == commit_status.sha
        ],
    }


def _without(whole: Json, *names: str) -> Json:
    return {name: value for name, value in whole.items() if name not in names}
