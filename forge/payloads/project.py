"""Project cards and status updates as webhooks carry them."""

from forge.payloads.account import user
from forge.payloads.view import Json, View, attributes
from forge.store.board import Item, StatusUpdate


def item(view: View, one: Item) -> Json:
    """Return a `projects_v2_item`."""
    return {
        **attributes(one, "id", "node_id", "content_type", "created_at", "updated_at", "archived_at"),
        "project_node_id": one.project.node_id,
        "content_node_id": one.content.node_id,
        "creator": user(view, one.creator),
    }


def status_update(view: View, one: StatusUpdate) -> Json:
    """Return a `projects_v2_status_update`; a date that is not set is left out, for it may not be null."""
    answer: Json = {
        **attributes(one, "id", "node_id", "body", "status", "created_at", "updated_at"),
        "project_node_id": one.project.node_id,
        "creator": user(view, one.creator),
    }
    dates = {"start_date": one.start_date, "target_date": one.target_date}
    return answer | {name: date for name, date in dates.items() if date is not None}
