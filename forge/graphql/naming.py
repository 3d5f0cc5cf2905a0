"""Names of GitHub's schema: the type of a thing, and the attribute behind a field."""

import re
from typing import Any

from graphql import GraphQLAbstractType, GraphQLResolveInfo

from forge.payloads.view import plain
from forge.store.board import (
    DraftIssue,
    Field,
    FieldType,
    Item,
    Project,
    ProjectView,
    StatusChange,
    StatusUpdate,
    Value,
)
from forge.store.models import (
    Comment,
    Issue,
    Label,
    Pull,
    Repo,
    Review,
    ReviewComment,
    Thread,
    User,
    UserType,
)

TYPE_NAMES: dict[type, str] = {
    Repo: "Repository",
    Issue: "Issue",
    Pull: "PullRequest",
    Comment: "IssueComment",
    Review: "PullRequestReview",
    ReviewComment: "PullRequestReviewComment",
    Thread: "PullRequestReviewThread",
    Label: "Label",
    Project: "ProjectV2",
    ProjectView: "ProjectV2View",
    Item: "ProjectV2Item",
    StatusUpdate: "ProjectV2StatusUpdate",
    StatusChange: "ProjectV2ItemStatusChangedEvent",
    DraftIssue: "DraftIssue",
}
VALUE_NAMES = {
    FieldType.TEXT: "ProjectV2ItemFieldTextValue",
    FieldType.TITLE: "ProjectV2ItemFieldTextValue",
    FieldType.NUMBER: "ProjectV2ItemFieldNumberValue",
    FieldType.SINGLE_SELECT: "ProjectV2ItemFieldSingleSelectValue",
}
ACCOUNT_NAMES = {UserType.USER: "User", UserType.BOT: "Bot", UserType.ORGANIZATION: "Organization"}
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def type_name(source: Any, _info: GraphQLResolveInfo, _abstract: GraphQLAbstractType) -> str | None:
    """Return the schema's name of a thing's type."""
    if isinstance(source, User):
        return ACCOUNT_NAMES[source.type]
    if isinstance(source, Field):
        chosen = source.data_type is FieldType.SINGLE_SELECT
        return "ProjectV2SingleSelectField" if chosen else "ProjectV2Field"
    if isinstance(source, Value):
        return VALUE_NAMES[source.field.data_type]
    if isinstance(source, dict):
        return str(source["__typename"])
    return TYPE_NAMES.get(type(source))


def attribute(source: Any, info: GraphQLResolveInfo, **_arguments: Any) -> Any:
    """Return the value of a field that no resolver was written for: the attribute of the same name."""
    name = info.field_name
    if isinstance(source, dict):
        return source.get(name)
    match name:
        case "id":
            return source.node_id
        case "databaseId":
            return source.id
        case "fullDatabaseId":
            return str(source.id)
        case _:
            return plain(getattr(source, HUMP.sub("_", name).lower(), None))
