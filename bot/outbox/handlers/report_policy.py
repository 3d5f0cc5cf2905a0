"""Reports on the commit, as a check run, whether the policy file is valid."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.policy_check import write_check
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
    """Make the check run; a second attempt uses that of the first.

    Source: docs.github.com/rest/checks/runs#create-a-check-run.
    """
    with context.reading() as db:
        policy = policies.current(db, BoardId(intent.card_id))
        missing = structure.unknown_to_board(db, BoardId(intent.card_id))
    problems = policy.problems if policy and policy.rejected_commit == intent.commit else ()
    title = policy_check.check_title(problems, earlier=bool(policy and policy.digest))
    summary = policy_check.check_summary(problems, missing)
    answered = write_check(context, intent.commit, entry, bool(problems), title, summary)
    return ActResult(answered, text_digest(summary))
