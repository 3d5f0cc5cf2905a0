"""Deletes the card's branch on GitHub."""

from bot.github.api import pulls
from bot.outbox.contract import Act, ActResult
from bot.outbox.targets import current_card
from bot.state.outbox_context import OutboxContext
from ledger.events.pull import BranchDeleted
from ledger.queue.outbox import Entry
from rules.intents.outbound import DeleteBranch

# One branch of one card; coalesced, because a later run may push the branch again.
ACT = Act("branch:{card_id}:{branch}", ordered=True, coalesce=True)


def carry_out(context: OutboxContext, intent: DeleteBranch, _entry: Entry) -> ActResult:
    """Delete the branch, but not under an open pull request; a missing one counts as deleted."""
    card = current_card(context, intent.card_id)
    repository = card.pull_repository or card.repository
    if repository is None or not intent.branch or card.has_open_pull:
        return ActResult()
    pulls.delete_branch(context.hub, repository, intent.branch)
    deleted = BranchDeleted(intent.card_id, intent.branch)
    return ActResult(intent.branch, "deleted", lambda _: (deleted,))
