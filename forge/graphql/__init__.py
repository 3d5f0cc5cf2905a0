"""The GraphQL API: a part of GitHub's own schema over the state of the forge."""

import re
from typing import Any

from flask import Blueprint, g
from flask.typing import ResponseReturnValue
from graphql import ExecutionResult, GraphQLAbstractType, GraphQLError, GraphQLResolveInfo, execute_sync

from forge.errors import DOCUMENTATION_URL, ForgeError, UnauthorizedError
from forge.graphql.schema import read, schema
from forge.graphql.scope import Scope
from forge.payloads.view import plain
from forge.rest.context import body, caller, view
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


blueprint = Blueprint("graphql", __name__)
LATE = "ProjectV2ItemStatusChangedEvent"  # Enterprise Servers have it since 3.20


@blueprint.post("/graphql")
def execute() -> ResponseReturnValue:
    """Run a document; errors of its content are answered with 200, as GitHub does."""
    who = caller()
    if who.user is None and who.token is None:
        raise UnauthorizedError("This endpoint requires you to be authenticated.")
    wanted = body()
    document = wanted.get("query")
    if not isinstance(document, str):
        message = "A query attribute must be specified and must be a string."
        return {"errors": [{"message": message}], "documentation_url": DOCUMENTATION_URL}, 400
    g.operation = " ".join(document.split())[:80]
    parsed, faults = read(document)
    if view().store.settings.is_before((3, 20)) and LATE in document:
        parsed, faults = None, (GraphQLError(f"No such type {LATE}, so it can't be a fragment condition"),)
    if parsed is None or faults:
        return _encode_result(ExecutionResult(errors=[*faults]))
    result = execute_sync(
        schema(),
        parsed,
        variable_values=wanted.get("variables") or {},
        operation_name=wanted.get("operationName"),
        context_value=Scope(view(), who),
        field_resolver=attribute,
        type_resolver=type_name,
    )
    return _encode_result(result)


def _encode_result(result: ExecutionResult) -> dict[str, Any]:
    if not result.errors:
        return {"data": result.data}
    errors = [_error(error) for error in result.errors]
    if all(error.original_error is None and error.path is None for error in result.errors):
        return {"errors": errors}
    return {"data": result.data, "errors": errors}


def _error(error: GraphQLError) -> dict[str, Any]:
    original = error.original_error
    if isinstance(original, GraphQLError):
        original = original.original_error
    if original is not None and not isinstance(original, ForgeError):
        raise original
    written: dict[str, Any] = {"message": error.message}
    if original is not None:
        written = {"type": original.graphql_type, "message": original.reasons}
    elif error.extensions:
        written["extensions"] = error.extensions
    if error.path is not None:
        written["path"] = error.path
    if error.locations:
        written["locations"] = [{"line": at.line, "column": at.column} for at in error.locations]
    return written
