"""Acknowledges a comment with a reaction."""

from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import Act, ActResult
from bot.outbox.targets import current_card, place_of
from bot.state.outbox_context import OutboxContext
from ledger.queue.outbox import Entry
from rules.intents.outbound import React

# One reaction of a kind per comment.
ACT = Act("react:{place}:{comment_id}:{content}", priority=0)


def carry_out(context: OutboxContext, intent: React, _entry: Entry) -> ActResult:
    """Add the reaction; GitHub keeps one of a kind per user, so a repeat changes nothing.

    A deleted comment needs none. Source: docs.github.com/rest/reactions/reactions.
    """
    thread = place_of(current_card(context, intent.card_id), intent.place, context)
    family = "pulls" if intent.place == "review" else "issues"
    path = f"{repository_path(thread.repository)}/{family}/comments/{intent.comment_id}/reactions"
    try:
        answer = context.hub.rest("POST", path, body={"content": intent.content})
    except NotFoundError:
        return ActResult()
    return ActResult(str(answer.body["id"]), intent.content)
