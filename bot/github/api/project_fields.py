"""Fields of a board: made, chosen from, and turned into fields of another kind without losing values."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.github.api import project_queries, projects
from bot.github.api.projects import MAX_PAGES, Choice
from bot.github.client import Hub
from bot.github.errors import RefusedError
from ledger.events.board import Field
from ledger.ids import BoardId, CardId

NEW, EARLIER = "{} (new)", "{} (text)"  # names of a field while it is made, and of the one before it


def create_field(hub: Hub, board_id: BoardId, name: str, kind: str, options: Mapping[str, str]) -> Field:
    """Make a field; `options`: colours by name, of a single-select field.

    Raises RefusedError when the name is taken.
    """
    given = [{"name": option, "color": color, "description": ""} for option, color in options.items()]
    variables = {"board": board_id, "name": name, "kind": kind, "options": given or None}
    field = hub.graphql(project_queries.CREATE_FIELD, variables)["createProjectV2Field"]["projectV2Field"]
    made = projects.options_in(field)
    hub.remember(_options_name(field["id"]), lambda: made, fresh=True)
    return Field(field["id"], field["name"], field["dataType"])


def ensure_options(
    hub: Hub, field_id: str, options: Mapping[str, str], *, fresh: bool = False
) -> dict[str, str]:
    """Return the ids of a single-select field's options by name, after making those of `options` that are
    missing. They are kept: `fresh` reads them, for an option that was made anew has another id.
    """

    known = _read_options(hub, field_id, fresh=fresh)
    if options.keys() <= known.keys():
        return known
    there = (hub.graphql(project_queries.OPTIONS, {"field": field_id}).get("node") or {}).get("options") or []
    names = {option["name"] for option in there}
    made = [
        {"name": option, "color": color, "description": ""}
        for option, color in options.items()
        if option not in names
    ]
    if made:
        hub.graphql(project_queries.DESCRIBE_COLUMNS, {"field": field_id, "options": [*there, *made]})
    return _read_options(hub, field_id, fresh=True)


def are_own_options(hub: Hub, field_id: str, options: Iterable[str]) -> bool:
    """Tell whether the field has most of these options, or none at all: else it is people's own."""
    known, own = _read_options(hub, field_id), {*options}
    return not known or 2 * len(own & known.keys()) > len(own)


def _read_options(hub: Hub, field_id: str, *, fresh: bool = False) -> dict[str, str]:
    def read() -> dict[str, str]:
        return projects.options_of(hub, field_id)

    known: dict[str, str] = hub.remember(_options_name(field_id), read, fresh=fresh)
    return known


def _options_name(field_id: str) -> str:
    return f"options of {field_id}"


def convert_text_field(
    hub: Hub,
    board_id: BoardId,
    fields: Mapping[str, Field],
    name: str,
    kind: str,
    *,
    options: Mapping[str, str],
) -> int:
    """Put a single-select field in the place of the text field `name`; return how many cards have a text that
    is no option. `fields`: the board's, by name.

    GitHub changes no field's kind. So the values are copied into a new field, and only then the names change;
    the text field stays under another name. Stopped anywhere, the next call goes on.
    """
    earlier, new = fields.get(name), fields.get(NEW.format(name))
    new = new or create_field(hub, board_id, NEW.format(name), kind, options)
    strange = 0
    if earlier is not None:
        ids = ensure_options(hub, new.field_id, options, fresh=True)
        for card_id, text, chosen in _text_values(hub, board_id, name, new.name):
            if text in ids and not chosen:
                projects.set_fields(hub, board_id, card_id, {new.field_id: Choice(ids[text])})
            strange += text not in ids
        _rename_field(hub, earlier.field_id, EARLIER.format(name))
    _rename_field(hub, new.field_id, name)
    return strange


def _rename_field(hub: Hub, field_id: str, name: str) -> None:
    hub.graphql(project_queries.RENAME_FIELD, {"field": field_id, "name": name})


def _text_values(hub: Hub, board_id: BoardId, name: str, other: str) -> Iterator[tuple[CardId, str, str]]:
    """Yield the cards with a text in the field `name`, and the option that each has in the field `other`."""
    after: str | None = None
    for _ in range(MAX_PAGES):
        variables = {"board": board_id, "name": name, "other": other, "after": after}
        items: Any = (hub.graphql(project_queries.TEXTS, variables).get("node") or {})["items"]
        for item in items["nodes"]:
            text = ((item or {}).get("text") or {}).get("text")
            if text and not item["isArchived"]:
                yield CardId(item["id"]), str(text), str((item.get("chosen") or {}).get("name") or "")
        if not items["pageInfo"]["hasNextPage"]:
            return
        after = items["pageInfo"]["endCursor"]
    raise RefusedError(f"the board {board_id}", 200, f"it has more than {MAX_PAGES * 100} cards")
