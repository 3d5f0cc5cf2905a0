"""Reading projects: fields, cards in board order, values, status updates."""

import shlex
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from forge.graphql.connections import connection
from forge.graphql.resolving import Resolvers
from forge.graphql.scope import Scope
from forge.store.board import DraftIssue, FieldType, Item, Project, ProjectView, Value
from forge.store.models import Pull, UserType

resolvers = Resolvers()
resolvers.connections("ProjectV2", fields="fields", views="views")
resolvers.field("ProjectV2.field")(lambda project, _scope, name: project.field_named(name))
resolvers.field("ProjectV2.public")(lambda _project, _scope: False)
resolvers.presences("ProjectV2Item", isArchived="archived_at")
resolvers.attributes("ProjectV2ItemFieldTextValue", text="content")
resolvers.attributes("ProjectV2ItemFieldNumberValue", number="content")
resolvers.attributes(
    "ProjectV2ItemFieldSingleSelectValue",
    optionId="content",
    name="option.name",
    color="option.color",
    description="option.description",
)
resolvers.field("ProjectV2SingleSelectField.options")(lambda field, _scope: [*map(asdict, field.options)])


@resolvers.field("ProjectV2.url")
def url(source: Project, scope: Scope) -> str:
    owners = "orgs" if source.owner.type is UserType.ORGANIZATION else "users"
    return scope.view.html(f"/{owners}/{source.owner.login}/projects/{source.number}")


@resolvers.field("ProjectV2View.layout")
def layout(source: ProjectView, _scope: Scope) -> str:
    return f"{source.layout.upper()}_LAYOUT"


@resolvers.field("ProjectV2.statusUpdates")
def status_updates(source: Project, _scope: Scope, **arguments: Any) -> Any:
    """Return the status updates, by default the newest first."""
    updates = list(source.status_updates)
    if (arguments.get("orderBy") or {}).get("direction") == "ASC":
        updates.reverse()
    return connection(updates, "statusUpdates", arguments)


@resolvers.field("ProjectV2.items")
def items(source: Project, _scope: Scope, **arguments: Any) -> Any:
    """Return the cards in board order that fit the filter; archived ones only if the filter says so."""
    fits = matcher(arguments.get("query") or "")
    shown = [item for item in source.items if fits(item)]
    if (arguments.get("orderBy") or {}).get("direction") == "DESC":
        shown.reverse()
    return connection(shown, "items", arguments)


def matcher(query: str) -> Callable[[Item], bool]:
    """Return the test of a board filter: status:, no:status, is:, title words, and a leading minus.

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
    options = {option.strip().casefold() for option in wanted.split(",")}
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
    content, states = item.content, {item.content_type.casefold()}
    if isinstance(content, DraftIssue):
        states.add("draft")
    else:
        issue = content.issue if isinstance(content, Pull) else content
        states |= {issue.state, "pr" if isinstance(content, Pull) else "issue"}
    return states | {"archived"} if item.archived_at is not None else states


@resolvers.field("ProjectV2Item.type")
def item_type(source: Item, scope: Scope) -> str:
    """Return the type of a card's content; REDACTED if the caller may not see it."""
    if not scope.may_see(source.content):
        return "REDACTED"
    return {"Issue": "ISSUE", "PullRequest": "PULL_REQUEST", "DraftIssue": "DRAFT_ISSUE"}[source.content_type]


@resolvers.field("ProjectV2Item.content")
def content(source: Item, scope: Scope) -> Any:
    """Return the issue, pull request or draft; `None` when the caller may not see it."""
    return source.content if scope.may_see(source.content) else None


@resolvers.field("ProjectV2Item.fieldValues")
def field_values(source: Item, _scope: Scope, **arguments: Any) -> Any:
    """Return the values of a card, the title first, in the order of the fields."""
    order = {field.node_id: position for position, field in enumerate(source.project.fields)}
    values = sorted(source.values.values(), key=lambda value: order[value.field.node_id])
    return connection([_title(source), *values], "fieldValues", arguments)


@resolvers.field("ProjectV2Item.fieldValueByName")
def field_value(source: Item, _scope: Scope, name: str) -> Value | None:
    field = source.project.field_named(name)
    if field is None:
        return None
    return _title(source) if field.data_type is FieldType.TITLE else source.values.get(field.node_id)


def _title(item: Item) -> Value:
    field = next(field for field in item.project.fields if field.data_type is FieldType.TITLE)
    node_id = f"PVTFV_{item.node_id}"
    return Value(item.id, node_id, item, field, item.title)
