"""Reports the changes by a branch's policy file, as a check run on its commit."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.handlers.report_policy import write_check
from bot.render.markdown.marker import text_digest
from bot.render.pull import policy_check
from bot.state.outbox_context import OutboxContext
from ledger.ids import BoardId
from ledger.queue.outbox import Entry
from ledger.views import policies
from rules.intents.outbound import PreviewPolicy

# One check per commit.
ACT = Act("policy-preview:{card_id}:{commit}")


def carry_out(context: OutboxContext, intent: PreviewPolicy, entry: Entry) -> ActResult:
    """Make the check run; a second attempt uses that of the first."""
    with context.reading() as db:
        proposal = policies.proposal(db, BoardId(intent.card_id), intent.commit)
    if proposal is None:
        return ActResult()
    title, summary = policy_check.preview_title(proposal), policy_check.preview(proposal)
    answered = write_check(context, intent.commit, entry, bool(proposal.problems), title, summary=summary)
    return ActResult(answered, text_digest(summary))
