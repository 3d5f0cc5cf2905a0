"""Reading projects: fields, cards in board order, values, status updates."""

import shlex
from collections.abc import Callable
from typing import Any

from forge.graphql.connections import connection
from forge.graphql.resolving import Resolvers
from forge.graphql.scope import Scope
from forge.store.board import DraftIssue, Field, FieldType, Item, Option, Project, StatusUpdate, Value
from forge.store.models import Pull, UserType

resolvers = Resolvers()


@resolvers.field("ProjectV2.url")
def url(source: Project, scope: Scope) -> str:
    """Return the page of a project."""
    owners = "orgs" if source.owner.type is UserType.ORGANIZATION else "users"
    return scope.view.html(f"/{owners}/{source.owner.login}/projects/{source.number}")


@resolvers.field("ProjectV2.public")
def public(_source: Project, _scope: Scope) -> bool:
    """Return whether everybody may see it; the forge's boards belong to their organisation."""
    return False


@resolvers.field("ProjectV2.fields")
def fields(source: Project, _scope: Scope, **arguments: Any) -> Any:
    """Return the fields in their order."""
    return connection(source.fields, "fields", arguments)


@resolvers.field("ProjectV2.field")
def field(source: Project, _scope: Scope, name: str) -> Field | None:
    """Return one field; `None` when there is none of that name."""
    return source.field_named(name)


@resolvers.field("ProjectV2.statusUpdates")
def status_updates(source: Project, _scope: Scope, **arguments: Any) -> Any:
    """Return the status updates, by default the newest first."""
    order = arguments.get("orderBy") or {}
    updates: list[StatusUpdate] = list(source.status_updates)
    if order.get("direction") == "ASC":
        updates.reverse()
    return connection(updates, "statusUpdates", arguments)


@resolvers.field("ProjectV2.items")
def items(source: Project, _scope: Scope, **arguments: Any) -> Any:
    """Return the cards in board order that fit the filter; archived ones only when asked for."""
    fits = matcher(arguments.get("query") or "")
    found = [item for item in source.items if fits(item)]
    if (arguments.get("orderBy") or {}).get("direction") == "DESC":
        found.reverse()
    return connection(found, "items", arguments)


def matcher(query: str) -> Callable[[Item], bool]:
    """Return the test of a board filter; understands status:, is:, title words and a leading minus.

    Source: docs.github.com/issues/planning-and-tracking-with-projects/customizing-views-in-your-project/
    filtering-projects.
    """
    try:
        words = shlex.split(query)
    except ValueError:
        words = query.split()
    tests = [_word(word) for word in words]
    wants_archived = "is:archived" in words
    return lambda item: (item.archived_at is not None) is wants_archived and all(test(item) for test in tests)


def _word(word: str) -> Callable[[Item], bool]:
    negative, word = word.startswith("-"), word.removeprefix("-")
    key, colon, wanted = word.partition(":")
    options = {one.strip().casefold() for one in wanted.split(",")}
    if colon and key.casefold() == "status":
        return lambda item: (column_name(item) in options) is not negative
    if colon and key == "no" and wanted.casefold() == "status":
        return lambda item: (item.column() is None) is not negative
    if colon and key == "is":
        return lambda item: bool(options & _states(item)) is not negative
    return lambda item: (word.casefold() in item.title.casefold()) is not negative


def column_name(item: Item) -> str:
    """Return the name of a card's column in small letters; empty without one."""
    column = item.column()
    return column.name.casefold() if column else ""


def _states(item: Item) -> set[str]:
    states = {"draft" if isinstance(item.content, DraftIssue) else "", item.content_type.casefold()}
    content = item.content
    if not isinstance(content, DraftIssue):
        issue = content.issue if isinstance(content, Pull) else content
        states.add(issue.state)
        states.add("pr" if item.content_type == "PullRequest" else "issue")
    states.add("archived" if item.archived_at is not None else "")
    return states - {""}


@resolvers.field("ProjectV2Item.type")
def item_type(source: Item, scope: Scope) -> str:
    """Return what a card is; REDACTED for content that the caller may not see."""
    if not scope.may_see(source.content):
        return "REDACTED"
    return {"Issue": "ISSUE", "PullRequest": "PULL_REQUEST", "DraftIssue": "DRAFT_ISSUE"}[source.content_type]


@resolvers.field("ProjectV2Item.content")
def content(source: Item, scope: Scope) -> Any:
    """Return the issue, pull request or draft; `None` when the caller may not see it."""
    return source.content if scope.may_see(source.content) else None


@resolvers.field("ProjectV2Item.isArchived")
def is_archived(source: Item, _scope: Scope) -> bool:
    """Return whether a card is archived."""
    return source.archived_at is not None


@resolvers.field("ProjectV2Item.fieldValues")
def field_values(source: Item, _scope: Scope, **arguments: Any) -> Any:
    """Return what a card has in its fields, the title first, in the order of the fields."""
    order = {one.node_id: place for place, one in enumerate(source.project.fields)}
    values = sorted(source.values.values(), key=lambda value: order[value.field.node_id])
    return connection([_title(source), *values], "fieldValues", arguments)


@resolvers.field("ProjectV2Item.fieldValueByName")
def field_value(source: Item, _scope: Scope, name: str) -> Value | None:
    """Return what a card has in one field; `None` when it has nothing there."""
    found = source.project.field_named(name)
    if found is None:
        return None
    return _title(source) if found.data_type is FieldType.TITLE else source.values.get(found.node_id)


def _title(item: Item) -> Value:
    made = next(one for one in item.project.fields if one.data_type is FieldType.TITLE)
    node_id = f"PVTFV_{item.node_id}"
    return Value(item.id, node_id, item, made, item.title, item.creator, item.created_at, item.updated_at)


@resolvers.field("ProjectV2ItemFieldTextValue.text")
def text(source: Value, _scope: Scope) -> str:
    """Return the text of a value."""
    return str(source.content)


@resolvers.field("ProjectV2ItemFieldNumberValue.number")
def number(source: Value, _scope: Scope) -> float:
    """Return the number of a value."""
    return float(source.content)


@resolvers.field("ProjectV2ItemFieldSingleSelectValue.optionId")
def option_id(source: Value, _scope: Scope) -> str:
    """Return the id of the chosen option."""
    return str(source.content)


def _option(source: Value) -> Option:
    found = source.field.option_with_id(str(source.content))
    assert found is not None, "a value never outlives its option"
    return found


@resolvers.field("ProjectV2ItemFieldSingleSelectValue.name")
def option_name(source: Value, _scope: Scope) -> str:
    """Return the name of the chosen option."""
    return _option(source).name


@resolvers.field("ProjectV2ItemFieldSingleSelectValue.color")
def option_color(source: Value, _scope: Scope) -> str:
    """Return the colour of the chosen option."""
    return _option(source).color


@resolvers.field("ProjectV2ItemFieldSingleSelectValue.description")
def option_description(source: Value, _scope: Scope) -> str:
    """Return the description of the chosen option."""
    return _option(source).description


@resolvers.field("ProjectV2SingleSelectField.options")
def options(source: Field, _scope: Scope) -> Any:
    """Return the options of a field as plain records."""
    return [
        {"id": one.id, "name": one.name, "color": one.color, "description": one.description}
        for one in source.options
    ]


@resolvers.field("DraftIssue.projectV2Items")
def draft_items(source: DraftIssue, scope: Scope, **arguments: Any) -> Any:
    """Return the card of a draft."""
    return connection(scope.store.projects.items_of(source), "projectV2Items", arguments)
