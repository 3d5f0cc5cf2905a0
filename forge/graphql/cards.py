"""Changing projects: values, fields, cards, status updates."""

from typing import Any

from forge.errors import ForbiddenError, NotFoundError, UnprocessableError
from forge.graphql.connections import connection
from forge.graphql.resolving import Input, Resolvers
from forge.graphql.scope import Scope
from forge.store.board import Field, FieldType, Item, Option, Project, StatusUpdate
from forge.store.models import Issue, Pull, Repo, UserType

resolvers = Resolvers()


@resolvers.field("UpdateProjectV2ItemPositionPayload.items")
def list_moved_items(source: Input, _scope: Scope, **arguments: Any) -> Any:
    return connection(source["project"].items, "items", arguments)


def _project(scope: Scope, given: Input) -> Project:
    project = scope.node(given["projectId"], Project)
    scope.require(project, "write")
    return project


def _item(scope: Scope, given: Input) -> Item:
    item = scope.node(given["itemId"], Item)
    if "projectId" in given and item.project is not _project(scope, given):
        raise NotFoundError("The item does not exist in the project.")
    scope.require(item, "write")
    return item


def _options(given: list[Input] | None) -> list[Option] | None:
    if given is None:
        return None
    return [
        Option(option.get("id") or "", option["name"], option["color"], option["description"])
        for option in given
    ]


@resolvers.mutation("updateProjectV2ItemFieldValue")
@resolvers.mutation("clearProjectV2ItemFieldValue")
def set_value(scope: Scope, given: Input) -> Input:
    """Set the value of a card in a field; clear it when none is given."""
    item, field = _item(scope, given), scope.node(given["fieldId"], Field)
    values = given.get("value", {"none": None})
    if len(values) != 1:
        raise UnprocessableError("Exactly one value must be given")
    scope.store.projects.set_value(item, field, *values.values(), actor=scope.actor)
    return {"projectV2Item": item}


@resolvers.mutation("createProjectV2Field")
def create_field(scope: Scope, given: Input) -> Input:
    """Make a field; dates and iterations are not kept by the forge."""
    project = _project(scope, given)
    kind = FieldType(given["dataType"])
    options = _options(given.get("singleSelectOptions")) or []
    return {"projectV2Field": scope.store.projects.create_field(project, given["name"], kind, options)}


@resolvers.mutation("updateProjectV2Field")
def update_field(scope: Scope, given: Input) -> Input:
    """Rename a field or replace its options; an unknown option id is refused."""
    field = scope.node(given["fieldId"], Field)
    scope.require(field, "write")
    options = _options(given.get("singleSelectOptions"))
    for option in options or []:
        if option.id and field.option_with_id(option.id) is None:
            raise UnprocessableError(f"The option {option.id} does not exist on this field")
    scope.store.projects.update_field(field, name=given.get("name"), options=options)
    return {"projectV2Field": field}


@resolvers.mutation("addProjectV2ItemById")
def add_item(scope: Scope, given: Input) -> Input:
    """Put an issue or pull request on a board; an existing card is returned."""
    project = _project(scope, given)
    content: Any = scope.node(given["contentId"], Issue, Pull)
    scope.require(content, "read")
    return {"item": scope.store.projects.add(project, content, actor=scope.actor)}


@resolvers.mutation("addProjectV2DraftIssue")
def add_draft(scope: Scope, given: Input) -> Input:
    project, words = _project(scope, given), (given["title"], given.get("body") or "")
    return {"projectItem": scope.store.projects.add_draft(project, *words, actor=scope.actor)}


@resolvers.mutation("convertProjectV2DraftIssueItemToIssue")
def convert_draft(scope: Scope, given: Input) -> Input:
    item, repo = _item(scope, given), scope.node(given["repositoryId"], Repo)
    scope.require(repo, "write")
    if scope.actor.type is UserType.BOT and not scope.store.settings.apps_convert_drafts:
        raise ForbiddenError
    scope.store.projects.convert_draft(item, repo, actor=scope.actor)
    return {"item": item}


@resolvers.mutation("updateProjectV2ItemPosition")
def move_item(scope: Scope, given: Input) -> Input:
    """Put a card behind another one, or first."""
    item = _item(scope, given)
    after = scope.node(given["afterId"], Item) if given.get("afterId") else None
    if after is not None and after.project is not item.project:
        raise NotFoundError("The item does not exist in the project.")
    scope.store.projects.move(item, after, actor=scope.actor)
    return {"project": item.project}


@resolvers.mutation("archiveProjectV2Item", True)
@resolvers.mutation("unarchiveProjectV2Item", False)
def set_archived(scope: Scope, given: Input, archived: bool) -> Input:
    item = _item(scope, given)
    scope.store.projects.set_archived(item, archived, actor=scope.actor)
    return {"item": item}


@resolvers.mutation("deleteProjectV2Item")
def delete(scope: Scope, given: Input) -> Input:
    item = _item(scope, given)
    scope.store.projects.delete_item(item, actor=scope.actor)
    return {"deletedItemId": item.node_id}


@resolvers.mutation("createProjectV2StatusUpdate")
def create_status_update(scope: Scope, given: Input) -> Input:
    project = _project(scope, given)
    update = scope.store.projects.add_status_update(
        project,
        given.get("body") or "",
        given.get("status"),
        actor=scope.actor,
    )
    return {"statusUpdate": update}


@resolvers.mutation("updateProjectV2StatusUpdate")
def update_status_update(scope: Scope, given: Input) -> Input:
    update = scope.node(given["statusUpdateId"], StatusUpdate)
    scope.require(update, "write")
    scope.store.projects.edit_status_update(
        update, body=given.get("body"), status=given.get("status"), actor=scope.actor
    )
    return {"statusUpdate": update}
