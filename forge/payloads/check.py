"""Check runs, their suites and commit statuses as GitHub writes them."""

from forge.clock import rfc3339, rfc3339_or_none
from forge.payloads import commit
from forge.payloads.account import user
from forge.payloads.application import app
from forge.payloads.view import Json, View
from forge.store.models import CheckRun, CommitStatus, Pull


def check_run(view: View, one: CheckRun) -> Json:
    """Return a `check-run`."""
    url = view.repo_api(one.repo, f"/check-runs/{one.id}")
    page = view.repo_html(one.repo, f"/runs/{one.id}")
    output = one.output
    return {
        "id": one.id,
        "name": one.name,
        "node_id": one.node_id,
        "head_sha": one.head_sha,
        "external_id": one.external_id,
        "url": url,
        "html_url": page,
        "details_url": one.details_url or page,
        "status": one.status,
        "conclusion": one.conclusion,
        "started_at": rfc3339(one.started_at),
        "completed_at": rfc3339_or_none(one.completed_at),
        "output": {
            "title": output.get("title"),
            "summary": output.get("summary"),
            "text": output.get("text"),
            "annotations_count": len(output.get("annotations") or []),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": one.suite_id},
        "app": app(view, view.store.apps.by_slug(one.app_slug)),
        "pull_requests": [
            pull_stub(view, pull)
            for pull in view.store.pulls.all(one.repo)
            if pull.head_sha == one.head_sha and pull.issue.state == "open"
        ],
    }


def pull_stub(view: View, one: Pull) -> Json:
    """Return a `pull-request-minimal`."""
    repo = {"id": one.repo.id, "url": view.repo_api(one.repo), "name": one.repo.name}
    return {
        "url": view.repo_api(one.repo, f"/pulls/{one.number}"),
        "id": one.id,
        "number": one.number,
        "head": {"ref": one.head_ref, "sha": one.head_sha, "repo": repo},
        "base": {"ref": one.base_ref, "sha": one.base_sha, "repo": repo},
    }


def hook_check_run(view: View, one: CheckRun) -> Json:
    """Return a check run as webhooks carry it: with all of its suite."""
    run = check_run(view, one)
    branch = run["pull_requests"][0]["head"]["ref"] if run["pull_requests"] else None
    run["check_suite"] = {
        "id": one.suite_id,
        "node_id": view.store.identifiers.node_id("check_suite", one.suite_id),
        "head_branch": branch,
        "head_sha": one.head_sha,
        "status": one.status,
        "conclusion": one.conclusion,
        "url": view.repo_api(one.repo, f"/check-suites/{one.suite_id}"),
        "before": None,
        "after": one.head_sha,
        "pull_requests": run["pull_requests"],
        "app": run["app"],
        "created_at": rfc3339(one.started_at),
        "updated_at": rfc3339(one.started_at),
    }
    return run


RANKS = ("failure", "timed_out", "action_required", "cancelled", "stale", "success", "neutral", "skipped")


def hook_check_suite(view: View, last: CheckRun) -> Json:
    """Return the suite of which `last` was the last to end, as webhooks carry it."""
    suite: Json = hook_check_run(view, last)["check_suite"]
    runs = view.store.checks.in_suite(last)
    found = {one.conclusion or "neutral" for one in runs}
    return {
        **suite,
        "app": _without(suite["app"], "installations_count"),
        "conclusion": min(found, key=RANKS.index),
        "updated_at": rfc3339_or_none(last.completed_at),
        "latest_check_runs_count": len(runs),
        "check_runs_url": f"{suite['url']}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": True,
        "head_commit": commit.simple_commit(view.store.repos.git(last.repo), last.head_sha),
    }


def status(view: View, one: CommitStatus) -> Json:
    """Return a `simple-commit-status`."""
    return {
        "id": one.id,
        "node_id": one.node_id,
        "state": one.state,
        "context": one.context,
        "description": one.description,
        "target_url": one.target_url,
        "avatar_url": user(view, one.creator)["avatar_url"],
        "url": view.repo_api(one.repo, f"/statuses/{one.sha}"),
        "created_at": rfc3339(one.created_at),
        "updated_at": rfc3339(one.created_at),
    }


def hook_status(view: View, one: CommitStatus) -> Json:
    """Return what only a `status` carries: all of it stands at the top."""
    git = view.store.repos.git(one.repo)
    heads = ((ref, sha) for ref, sha in git.refs().items() if ref.startswith("refs/heads/"))
    told = _without(status(view, one), "node_id", "url")
    said = commit.commit(view, one.repo, git.commit(one.sha))
    people = {role: said[role] and _without(said[role], "user_view_type") for role in ("author", "committer")}
    return {
        **told,
        "sha": one.sha,
        "name": one.repo.full_name,
        "commit": {**said, **people},
        "branches": [
            {
                "name": ref.removeprefix("refs/heads/"),
                "commit": {"sha": sha, "url": view.repo_api(one.repo, f"/commits/{sha}")},
                "protected": ref.removeprefix("refs/heads/") in one.repo.protected,
            }
            for ref, sha in heads
            if sha == one.sha
        ],
    }


def _without(whole: Json, *names: str) -> Json:
    """Leave out what this payload does not carry."""
    return {name: value for name, value in whole.items() if name not in names}
