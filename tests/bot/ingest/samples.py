"""Deliveries of our own making, with the fields that GitHub documents for each event and no others."""

import copy
from typing import Any

BOT_ID = 900
BOT = {"login": "cardinal[bot]", "id": BOT_ID, "type": "Bot"}
ALICE = {"login": "alice", "id": 1, "type": "User"}
BOB = {"login": "bob", "id": 2, "type": "User"}
AUTOMATION = {"login": "github-project-automation[bot]", "id": 77, "type": "Bot"}
REPOSITORY = {"id": 5, "full_name": "acme/shop", "default_branch": "main"}
AT = "2026-11-20T10:00:00Z"
ZEROS = "0" * 40

UNTICKED = "Plan\n- [ ] Approve <!-- box:approve -->\n- [ ] Cancel <!-- box:cancel -->\n"
TICKED = UNTICKED.replace("[ ] Approve", "[x] Approve")

CARD = {
    "id": 11,
    "node_id": "PVTI_1",
    "project_node_id": "PVT_1",
    "content_node_id": "I_1",
    "content_type": "Issue",
    "updated_at": AT,
}
COMMENT = {
    "id": 21,
    "user": ALICE,
    "body": "/cardinal approve",
    "created_at": AT,
    "updated_at": "2026-11-20T10:05:00Z",
}
ISSUE = {"id": 70, "number": 7, "state_reason": None, "title": "Prices", "user": ALICE}
PULL = {
    "number": 8,
    "node_id": "PR_8",
    "state": "open",
    "draft": True,
    "merged": False,
    "updated_at": AT,
    "head": {"sha": "a" * 40, "ref": "cardinal/7-prices"},
}
REVIEW = {"id": 31, "user": BOB, "state": "changes_requested", "body": "Two things."}
COMMIT = {"id": "b" * 40, "added": [], "modified": ["README.md"], "removed": []}

DELIVERIES: dict[str, dict[str, Any]] = {
    "projects_v2_item": {"action": "edited", "projects_v2_item": CARD, "changes": {}, "sender": ALICE},
    "issues": {"action": "edited", "issue": ISSUE, "repository": REPOSITORY, "sender": ALICE},
    "issue_comment": {
        "action": "created",
        "issue": ISSUE,
        "comment": COMMENT,
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "pull_request": {
        "action": "opened",
        "number": 8,
        "pull_request": PULL,
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "pull_request_review": {
        "action": "submitted",
        "review": REVIEW,
        "pull_request": PULL,
        "repository": REPOSITORY,
        "sender": BOB,
    },
    "pull_request_review_comment": {
        "action": "created",
        "comment": COMMENT
        | {"user": BOB, "body": "Why?", "pull_request_review_id": 31, "in_reply_to_id": 20},
        "pull_request": PULL,
        "repository": REPOSITORY,
        "sender": BOB,
    },
    "push": {
        "ref": "refs/heads/main",
        "before": "c" * 40,
        "after": "b" * 40,
        "forced": False,
        "created": False,
        "commits": [COMMIT],
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "check_run": {
        "action": "completed",
        "check_run": {"id": 41, "name": "tests", "head_sha": "a" * 40, "conclusion": "failure"},
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "merge_group": {
        "action": "checks_requested",
        "merge_group": {
            "head_sha": "d" * 40,
            "head_ref": f"refs/heads/gh-readonly-queue/main/pr-8-{'b' * 40}",
            "base_sha": "b" * 40,
            "base_ref": "refs/heads/main",
        },
        "repository": REPOSITORY,
        "sender": BOT,
    },
    "check_suite": {
        "action": "completed",
        "check_suite": {"id": 42, "head_sha": "a" * 40, "conclusion": "failure"},
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "workflow_run": {
        "action": "completed",
        "workflow_run": {
            "id": 9,
            "name": "Nightly",
            "path": ".github/workflows/nightly.yml@refs/heads/main",
            "event": "schedule",
            "conclusion": "failure",
            "head_branch": "main",
            "head_repository": REPOSITORY,
            "html_url": "https://github.com/acme/shop/actions/runs/9",
            "updated_at": "2026-11-21T03:10:00Z",
        },
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "status": {
        "sha": "a" * 40,
        "context": "ci",
        "state": "failure",
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "ping": {"zen": "Keep it logically awesome.", "hook_id": 1, "sender": ALICE},
    "repository": {"action": "archived", "repository": REPOSITORY, "sender": ALICE},
    "installation": {
        "action": "deleted",
        "repositories": [{"id": 5, "full_name": "acme/shop"}],
        "sender": ALICE,
    },
    "issue_dependencies": {
        "action": "blocked_by_added",
        "blocked_issue_id": 70,
        "blocked_issue": ISSUE,
        "blocking_issue_id": 90,
        "blocking_issue": ISSUE | {"number": 9},
        "blocking_issue_repo": REPOSITORY | {"full_name": "acme/till"},
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "sub_issues": {
        "action": "parent_issue_added",
        "sub_issue_id": 70,
        "sub_issue": ISSUE,
        "parent_issue_id": 90,
        "parent_issue": ISSUE | {"number": 9},
        "parent_issue_repo": REPOSITORY | {"full_name": "acme/till"},
        "repository": REPOSITORY,
        "sender": ALICE,
    },
    "installation_repositories": {
        "repositories_added": [],
        "action": "removed",
        "repositories_removed": [{"id": 5, "full_name": "acme/shop"}],
        "sender": ALICE,
    },
}


def sample(event: str, **changed: Any) -> dict[str, Any]:
    """Return a delivery of `event`; a name with double underscores reaches into it: `comment__user=BOT`."""
    payload = copy.deepcopy(DELIVERIES[event])
    for path, value in changed.items():
        *steps, last = path.split("__")
        inside = payload
        for step in steps:
            inside = inside.setdefault(step, {})
        inside[last] = value
    return payload
