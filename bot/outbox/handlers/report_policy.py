"""Reports on the commit, as a check run, whether the policy file is valid."""

from bot.github.client import repository_path
from bot.outbox.contract import Act, ActResult
from bot.render.markdown.marker import text_digest
from bot.render.pull import policy_check
from bot.state import structure
from bot.state.outbox_context import OutboxContext
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from ledger.views import policies
from rules.intents.outbound import ReportPolicy

# One check per commit.
ACT = Act("policy:{card_id}:{commit}")


def carry_out(context: OutboxContext, intent: ReportPolicy, entry: Entry) -> ActResult:
    """Make the check run; a second attempt uses that of the first."""
    with context.reading() as db:
        policy = policies.current(db, BoardId(intent.card_id))
        missing = structure.unknown_to_board(db, BoardId(intent.card_id))
    problems = policy.problems if policy and policy.rejected_commit == intent.commit else ()
    title = policy_check.check_title(problems, earlier=bool(policy and policy.digest))
    summary = policy_check.check_summary(problems, missing)
    answered = write_check(context, intent.commit, entry, bool(problems), title, summary=summary)
    return ActResult(answered, text_digest(summary))


def write_check(
    context: OutboxContext, commit: str, entry: Entry, failed: bool, title: str, *, summary: str
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
