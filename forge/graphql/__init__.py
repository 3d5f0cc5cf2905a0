"""The GraphQL API: a part of GitHub's own schema over the state of the forge."""

from typing import Any

from flask import Blueprint, g
from flask.typing import ResponseReturnValue
from graphql import ExecutionResult, GraphQLError, execute_sync

from forge.errors import DOCUMENTATION_URL, ForgeError, UnauthorizedError
from forge.graphql.naming import attribute, type_name
from forge.graphql.schema import read, schema
from forge.graphql.scope import Scope
from forge.rest.context import body, caller, view

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
        return _written(ExecutionResult(errors=[*faults]))
    result = execute_sync(
        schema(),
        parsed,
        variable_values=wanted.get("variables") or {},
        operation_name=wanted.get("operationName"),
        context_value=Scope(view(), who),
        field_resolver=attribute,
        type_resolver=type_name,
    )
    return _written(result)


def _written(result: ExecutionResult) -> dict[str, Any]:
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
