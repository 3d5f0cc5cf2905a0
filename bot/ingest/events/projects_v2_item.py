"""A card changed: every action is a refresh request, whoever caused it, for its column is read again anyway.

The one exception: a text or number field that Cardinal itself wrote. It reads none of those, and each face
that it writes would cost it several readings.

A drag has been seen to arrive as `edited` and as `reordered`; neither is documented, so neither is trusted.
The move that an `edited` names is kept: no reading shows that a card left and came back.
Source: docs.github.com/webhooks/webhook-events-and-payloads#projects_v2_item.
"""

from collections.abc import Mapping

from bot.ingest.events._payload import Payload, find, login, moment, moment_or_none, own, text, text_or_empty
from bot.ingest.facts import CardChange, CardTouched, Fact
from ledger.ids import BoardId, CardId
from ledger.queue.change_reports import About
from ledger.queue.refresh_requests import Move

SUBJECT = ("projects_v2_item",)
STATUS, SELECT = "Status", "single_select"
ABOUT = {  # whoever adds a card to the board has not put it into a column yet
    "reordered": About.COLUMN,
    "archived": About.ARCHIVED,
    "deleted": About.ARCHIVED,
    "restored": About.RESTORED,
}


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return one refresh request; nothing for an own face's echo. Own moves count, too."""
    written = text_or_empty(payload, "changes.field_value.field_type")
    if own(payload, bot_id) and written and not _is_about_column(payload):
        return ()
    return (
        CardTouched(
            card_id=CardId(text(payload, "projects_v2_item.node_id")),
            board_id=BoardId(text(payload, "projects_v2_item.project_node_id")),
            content_id=text_or_empty(payload, "projects_v2_item.content_node_id"),
            action=text_or_empty(payload, "action"),
            change=_change(payload),
            moved=None if own(payload, bot_id) else _read_move(payload),
        ),
    )


def _change(payload: Payload) -> CardChange | None:
    """Return the sender's change; only newer deliveries name the column."""
    action = text_or_empty(payload, "action")
    about, value = ABOUT.get(action), ""
    if action == "edited":
        kind = text_or_empty(payload, "changes.field_value.field_type")
        name = text_or_empty(payload, "changes.field_value.field_name")
        if _is_about_column(payload):
            now = find(payload, "changes.field_value").get("to")
            named = now.get("name") if isinstance(now, Mapping) else ""
            about, value = About.COLUMN, named if isinstance(named, str) else ""
        elif kind:
            about, value = About.FIELD, name
        elif not find(payload, "changes"):
            about = About.COLUMN
    if about is None:
        return None
    at = moment_or_none(payload, "projects_v2_item.updated_at")
    return CardChange(login(payload, "sender"), about, value, at)


def _is_about_column(payload: Payload) -> bool:
    """Tell whether the change is one of the field Status, which deliveries of 2022 do not name."""
    kind = text_or_empty(payload, "changes.field_value.field_type")
    return kind == SELECT and text_or_empty(payload, "changes.field_value.field_name") in ("", STATUS)


def _read_move(payload: Payload) -> Move | None:
    """Return where the card was moved to; None where the delivery does not say. The card is read anyway."""
    change = find(payload, "changes.field_value")
    at = find(payload, "projects_v2_item.updated_at")
    if at is None or not isinstance(change, Mapping) or not _is_about_column(payload):
        return None
    if "to" not in change:  # as in 2022: that something changed, and not what
        return None
    now = change["to"]
    to = now.get("id") if isinstance(now, Mapping) else ""
    return Move(moment(payload, "projects_v2_item.updated_at"), to) if isinstance(to, str) else None
