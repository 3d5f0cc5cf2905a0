"""The check run on a commit of the policy's repository."""

from bot.github.client import repository_path
from bot.render.pull import policy_check
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry


def write_check(
    context: OutboxContext, commit: str, entry: Entry, failed: bool, title: str, summary: str
) -> str:
    """Make the check run and return its id; a second attempt uses that of the first.

    Source: docs.github.com/rest/checks/runs#create-a-check-run.
    """
    root = repository_path(context.board.home_repository)
    if entry.attempts > 1:
        path = f"{root}/commits/{commit}/check-runs"
        runs = context.hub.rest("GET", path, params={"check_name": policy_check.NAME}).body["check_runs"]
        if runs and runs[0]["output"]["title"] == title:  # a commit is previewed, and reported on once merged
            return str(runs[0]["id"])
    body = {
        "name": policy_check.NAME,
        "head_sha": commit,
        "status": "completed",
        "conclusion": "failure" if failed else "success",
        "output": {"title": title, "summary": summary},
    }
    return str(context.hub.rest("POST", f"{root}/check-runs", body=body).body["id"])
