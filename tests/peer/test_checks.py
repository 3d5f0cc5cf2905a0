"""Check runs, commits and files: what Cardinal writes on a commit, and what it reads from one."""

from typing import Any

import pytest

from bot.github.client import Hub
from bot.github.errors import RefusedError
from bot.repo_config import policy_file
from rules.policy import locations
from tests.peer.side import Side

BRANCH = "cardinal/1-totals"


def check(hub: Hub, repository: str, head: str, **more: Any) -> Any:
    asked = {"name": "cardinal/gate", "head_sha": head, **more}
    answer = hub.rest("POST", f"/repos/{repository}/check-runs", body=asked)
    assert answer.status == 201
    return answer.body


def test_a_check_run_begins_and_is_completed(hub: Hub, side: Side, repository: str) -> None:
    head = side.write(repository, BRANCH)
    begun = check(hub, repository, head, status="in_progress", details_url="https://example.org/1")
    assert (begun["status"], begun["conclusion"], begun["head_sha"]) == ("in_progress", None, head)
    path = f"/repos/{repository}/check-runs/{begun['id']}"
    output = {"title": "All good", "summary": "3 checks passed", "text": "in detail"}
    done = hub.rest(
        "PATCH", path, body={"status": "completed", "conclusion": "success", "output": output}
    ).body
    assert (done["status"], done["conclusion"]) == ("completed", "success")
    assert done["completed_at"]
    found = hub.rest("GET", path).body
    assert {key: found["output"][key] for key in output} == output


def test_check_runs_are_found_by_commit_branch_and_name(hub: Hub, side: Side, repository: str) -> None:
    head = side.write(repository, BRANCH)
    mine = check(hub, repository, head, status="completed", conclusion="failure")
    asked = {"name": "other", "head_sha": head, "status": "queued"}
    hub.rest("POST", f"/repos/{repository}/check-runs", body=asked)
    for ref in (head, BRANCH):
        found = hub.rest("GET", f"/repos/{repository}/commits/{ref}/check-runs").body
        assert found["total_count"] == 2
        assert {one["name"] for one in found["check_runs"]} == {"cardinal/gate", "other"}
    path = f"/repos/{repository}/commits/{head}/check-runs"
    found = hub.rest("GET", path, params={"check_name": "cardinal/gate"}).body
    assert [one["id"] for one in found["check_runs"]] == [mine["id"]]


def test_a_check_run_without_a_name_or_commit_is_refused(side: Side, repository: str) -> None:
    token = side.token()
    for asked in ({"head_sha": side.head(repository)}, {"name": "cardinal/gate"}):
        assert side.ask("POST", f"/repos/{repository}/check-runs", asked, token=token).status == 422


def test_cardinal_reads_the_policy_at_the_commit_that_it_names(hub: Hub, side: Side, repository: str) -> None:
    assert policy_file.read(hub, repository) == policy_file.PolicyFile(None, side.head(repository))
    text = "version: 1\n# gr\u00fcn\n"
    commit = side.write(repository, "main", locations.PATH, text)
    assert policy_file.read(hub, repository) == policy_file.PolicyFile(text, commit)
    later = side.write(repository, "main", "other.txt")
    assert policy_file.read(hub, repository) == policy_file.PolicyFile(text, later)
    assert policy_file.read_at(hub, repository, commit) == text
    assert policy_file.read_at(hub, repository, "no-such-branch") is None


def test_a_branch_that_is_there_is_not_made_again(hub: Hub, side: Side, repository: str) -> None:
    made = {"ref": f"refs/heads/{BRANCH}", "sha": side.head(repository)}
    assert hub.rest("POST", f"/repos/{repository}/git/refs", body=made).status == 201
    with pytest.raises(RefusedError) as refused:
        hub.rest("POST", f"/repos/{repository}/git/refs", body=made)
    assert refused.value.status == 422
