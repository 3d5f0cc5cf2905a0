"""Acknowledges a comment with a reaction."""

from typing import TYPE_CHECKING

from bot.github.client import repository_path
from bot.github.errors import NotFoundError
from bot.outbox.contract import ActResult
from bot.outbox.targets import card_of, place_of
from ledger.ids import EntryKey
from ledger.log import event_store
from ledger.queue.outbox import Entry
from rules.intents.outbound import React

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

LANE = "github"
PRIORITY = 0
ORDERED = False
COALESCE = False
WAIT_S = 0.0


def key(intent: React) -> EntryKey:
    """Return the key: one reaction of a kind for each comment."""
    return EntryKey(f"react:{intent.place}:{intent.comment_id}:{intent.content}")


def carry_out(hub: "Hub", context: "OutboxContext", intent: React, _entry: Entry) -> ActResult:
    """Add the reaction; GitHub keeps one of a kind per user, so a repeat changes nothing.

    A comment that is gone needs none. Source: docs.github.com/rest/reactions/reactions.
    """
    with event_store.reading(context.engine) as db:
        talk = place_of(card_of(db, intent.card_id), intent.place, context)
    family = "pulls" if intent.place == "review" else "issues"
    path = f"{repository_path(talk.repository)}/{family}/comments/{intent.comment_id}/reactions"
    try:
        answer = hub.rest("POST", path, body={"content": intent.content})
    except NotFoundError:
        return ActResult("", "")
    return ActResult(str(answer.body["id"]), intent.content)
