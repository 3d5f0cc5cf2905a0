"""The API's description, made from its operations. Source: spec.openapis.org/oas/v3.1.0."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from bot.system import release
from bot.web.api.operation import OPERATIONS, Operation
from ledger.parts import charter
from ledger.queue.api_tokens import MEANING

REFERENCES = "#/components/schemas/{model}"
PROBLEM: Mapping[str, Any] = {
    "type": "object",
    "description": "Why a request failed (RFC 9457)",
    "required": ["type", "title", "status", "code", "detail", "remedy"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "description": "For programs"},
        "detail": {"type": "string", "description": "The reason, for people"},
        "remedy": {"type": "string", "description": "Next step"},
    },
}
KEY: Mapping[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Repeating a request with the same key within a day has no further effect",
    "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,200}$"},
}


@cache
def document() -> dict[str, Any]:
    """Return the description."""
    schemas: dict[str, Any] = {"Problem": PROBLEM}
    paths: dict[str, dict[str, Any]] = {}
    for name, operation in OPERATIONS.all():
        paths.setdefault(operation.PATH, {})[operation.METHOD.lower()] = _operation(name, operation, schemas)
    scopes = "; ".join(f"`{scope}`: {meaning}" for scope, meaning in MEANING.items())
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cardinal",
            "version": release.version(),
            "description": f"A job is a card on a board, as programs see it. Token scopes: {scopes}.",
        },
        "servers": [{"url": "/api/v1"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def fits_path(path: str, queried: str) -> bool:
    """Tell whether an address is one of that path."""
    return re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), queried) is not None


def _operation(name: str, operation: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    given = operation.Input.model_json_schema(ref_template=REFERENCES)
    schemas.update(given.pop("$defs", {}))
    fields, required = given.get("properties", {}), set(given.get("required", ()))
    in_path = set(re.findall(r"\{(\w+)\}", operation.PATH))
    is_get = operation.METHOD == "GET"
    output = operation.Output.model_json_schema(ref_template=REFERENCES, mode="serialization")
    schemas.update(output.pop("$defs", {}))
    described: dict[str, Any] = {
        "operationId": name,
        "summary": charter(operation),
        "description": f"Needs the scope `{operation.SCOPE}`.",
        "parameters": [
            {
                "name": field,
                "in": "path" if field in in_path else "query",
                "required": field in in_path or field in required,
                "schema": schema,
            }
            for field, schema in fields.items()
            if is_get or field in in_path
        ],
        "responses": {
            "200": {
                "description": "Done",
                "content": {
                    "application/json": {"schema": output},
                    **{kind: {"schema": {"type": "string"}} for kind in operation.AS_TEXT},
                },
            },
            "default": {
                "description": "Not done",
                "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        },
    }
    if not is_get:
        described["parameters"].append(KEY)
        body = {
            "type": "object",
            "additionalProperties": False,
            "properties": {field: schema for field, schema in fields.items() if field not in in_path},
            "required": sorted(required - in_path),
        }
        described["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    return described
