"""Posts a comment of the rules: a reply, a refusal, the assistant's words."""

from bot.outbox.contract import Act, ActResult
from bot.outbox.posting import publish_comment
from bot.outbox.targets import current_card, issue_of, pull_of
from bot.render.markdown.escape import escape_mentions, fit_comment
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import Say

# One comment per `about`.
ACT = Act("say:{card_id}:{about}", ordered=True)


def carry_out(context: OutboxContext, intent: Say, entry: Entry) -> ActResult:
    """Post the text, escaped: it may quote people or agents."""
    card = current_card(context, intent.card_id)
    pull = pull_of(card) if intent.place != "issue" else None
    return publish_comment(
        context, entry, pull or issue_of(card, context), fit_comment((escape_mentions(intent.text),))
    )
