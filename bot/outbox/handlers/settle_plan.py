"""Edits the plan's comment to name the person who approved or redirected it; the boxes go."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.handlers import post_plan
from bot.outbox.posting import edit_posted
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import SettlePlan

# A plan's revision is settled once.
ACT = Act("plan-settled:{run_id}:{revision}", ordered=True)


def carry_out(context: OutboxContext, intent: SettlePlan, _entry: Entry) -> ActResult:
    """Edit the plan's comment."""
    talk, body = post_plan.comment_of(context, intent)
    return edit_posted(context, post_plan.ACT.key(intent), talk.repository, body) if body else ActResult()
