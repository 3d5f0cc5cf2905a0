"""Project cards and status updates as webhooks carry them."""

from forge.clock import rfc3339, rfc3339_or_none
from forge.payloads.account import user
from forge.payloads.view import Json, View
from forge.store.board import Item, StatusUpdate


def item(view: View, one: Item) -> Json:
    """Return a `projects_v2_item`."""
    return {
        "id": one.id,
        "node_id": one.node_id,
        "project_node_id": one.project.node_id,
        "content_node_id": one.content.node_id,
        "content_type": one.content_type,
        "creator": user(view, one.creator),
        "created_at": rfc3339(one.created_at),
        "updated_at": rfc3339(one.updated_at),
        "archived_at": rfc3339_or_none(one.archived_at),
    }


def status_update(view: View, one: StatusUpdate) -> Json:
    """Return a `projects_v2_status_update`; a date that nobody set is left out, for it may not be null."""
    answer: Json = {
        "id": one.id,
        "node_id": one.node_id,
        "project_node_id": one.project.node_id,
        "creator": user(view, one.creator),
        "body": one.body,
        "status": one.status,
        "created_at": rfc3339(one.created_at),
        "updated_at": rfc3339(one.updated_at),
    }
    dates = {"start_date": one.start_date, "target_date": one.target_date}
    return answer | {name: date for name, date in dates.items() if date is not None}
