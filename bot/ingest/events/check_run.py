"""A check of a commit has finished, or somebody pressed a button of one of Cardinal's own.

Of all checks only those on Cardinal's own pull requests matter.
Source: docs.github.com/webhooks/webhook-events-and-payloads#check_run.
"""

from bot.ingest.events._payload import (
    Payload,
    account,
    login,
    number,
    number_or_zero,
    own,
    text,
    text_or_empty,
)
from bot.ingest.facts import ButtonPressed, ChecksMoved, Fact

SUBJECT = ("check_run",)


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return that the commit's checks moved or who pressed which button, nothing for Cardinal's own doing."""
    if own(payload, bot_id):
        return ()
    match text_or_empty(payload, "action"):
        case "completed":
            return (ChecksMoved(text(payload, "repository.full_name"), text(payload, "check_run.head_sha")),)
        case "requested_action":
            # Another App's check has no mark of Cardinal's, or one that leads nowhere.
            return (_read_press(payload),) if text_or_empty(payload, "check_run.external_id") else ()
        case _:
            return ()


def _read_press(payload: Payload) -> ButtonPressed:
    return ButtonPressed(
        repository=text(payload, "repository.full_name"),
        check_id=number(payload, "check_run.id"),
        app_id=number_or_zero(payload, "check_run.app.id"),
        mark=text_or_empty(payload, "check_run.external_id"),
        button=text_or_empty(payload, "requested_action.identifier"),
        by=login(payload, "sender"),
        by_id=account(payload, "sender"),
    )
