"""The operations of the API: each with its address, its scope and its example."""

from urllib.parse import urlencode

from bot.web.api.operation import OPERATIONS, Operation
from bot.web.api.sending import ROOT
from docs._make import wording
from ledger.parts import charter


def operations() -> str:
    """Return the table of all operations."""
    heads = ("operation", "what it does", "scope", "for example")
    rows = (
        (f"`{name}`", charter(part), f"`{part.SCOPE}`", f"`{example(part)}`")
        for name, part in OPERATIONS.all()
    )
    return wording.table(heads, rows)


def requests() -> str:
    """Return `bot/web/api/operations.json`: what a client has to know of each operation."""
    return wording.json_lines({name: _request(part) for name, part in OPERATIONS.all()})


def _request(part: Operation) -> dict[str, object]:
    schema = part.Input.model_json_schema()
    return {
        "about": charter(part),
        "method": part.METHOD,
        "path": part.PATH,
        "scope": part.SCOPE,
        "streams": part.stream is not None,
        "fields": schema.get("properties", {}),
        "required": schema.get("required", []),
        "example": part.EXAMPLE,
        "columns": part.COLUMNS,
    }


def example(operation: Operation) -> str:
    """Return the example's request in one line."""
    path = ROOT + operation.PATH.format(**operation.EXAMPLE)
    others = {name: it for name, it in operation.EXAMPLE.items() if f"{{{name}}}" not in operation.PATH}
    if operation.METHOD == "GET":
        return f"GET {path}{'?' if others else ''}{urlencode(others)}"
    return f"{operation.METHOD} {path} {others}".replace("'", '"')
