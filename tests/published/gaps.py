"""Where GitHub's own descriptions are known to be wrong or behind, what is read instead, and why."""

from typing import Any

Described = dict[str, Any]
REPLY = {"type": "object", "properties": {"body": {"type": "string"}, "in_reply_to": {"type": "integer"}}}


def mend(described: Described) -> None:
    """Mend the description of the REST API in place."""
    schemas, paths = described["components"]["schemas"], described["paths"]
    # Every error has said its status since 2024, but only basic-error lists it.
    for name in ("validation-error", "validation-error-simple"):
        schemas[name]["properties"]["status"] = {"type": "string"}
    for operation in (one for methods in paths.values() for one in methods.values() if isinstance(one, dict)):
        _let_errors_say_their_status(operation)
    # An outdated comment has no place any more. The webhook's description and the GraphQL schema have null.
    for name in ("pull-request-review-comment", "review-comment"):
        for place in ("line", "position"):
            schemas[name]["properties"][place]["nullable"] = True
    # "You can also pass an `array` of labels directly", says the description of the other alternative.
    labels = paths["/repos/{owner}/{repo}/issues/{issue_number}/labels"]["post"]
    _body(labels)["oneOf"].append({"type": "array", "items": {"type": "string"}})
    # "When specified, all parameters other than `body` in the request body are ignored", says in_reply_to.
    comments = paths["/repos/{owner}/{repo}/pulls/{pull_number}/comments"]["post"]
    comment = _body(comments)
    reply = {**REPLY, "required": ["body", "in_reply_to"]}
    comments["requestBody"]["content"]["application/json"]["schema"] = {"anyOf": [comment, reply]}


def mend_payloads(schemas: Described) -> None:
    """Mend the descriptions of webhooks in place."""
    # The values of a number field are any numbers, and a value that was not there is null.
    for change in schemas["webhook-projects-v2-item-edited"]["properties"]["changes"]["oneOf"]:
        value = change["properties"].get("field_value", {}).get("properties", {})
        for side in value.keys() & {"from", "to"}:
            value[side] = {"oneOf": [{"type": "number"}, *value[side]["oneOf"]], "nullable": True}
    # The lists of an App's events and permissions stopped growing years ago; those of REST went on.
    for schema in schemas.values():
        _catch_up(schema)


def _body(operation: Described) -> Described:
    found: Described = operation["requestBody"]["content"]["application/json"]["schema"]
    return found


def _let_errors_say_their_status(operation: Described) -> None:
    for status, answer in operation.get("responses", {}).items():
        schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
        if status >= "400" and "message" in schema.get("properties", ()):
            schema["properties"]["status"] = {"type": "string"}


def _catch_up(node: Any) -> None:
    """Take the lists of what an App hears and may do for open or complete, wherever they stand."""
    if isinstance(node, list):
        for one in node:
            _catch_up(one)
    elif isinstance(node, dict):
        known = node.get("properties")
        if isinstance(known, dict):
            if "enum" in (known.get("events") or {}).get("items", ()):
                del known["events"]["items"]["enum"]
            may = (known.get("permissions") or {}).get("properties", {})
            if "pull_requests" in may:
                may.setdefault("merge_queues", {"type": "string", "enum": ["read", "write"]})
            projects = may.get("organization_projects", {})
            if projects.get("enum") == ["read", "write"]:
                projects["enum"].append("admin")
        for one in node.values():
            _catch_up(one)
