"""The operations of the API: each with its address, its scope and its example."""

from urllib.parse import urlencode

from bot.web.api.operation import OPERATIONS, Operation
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


def example(operation: Operation) -> str:
    """Return the example's request in one line."""
    path = operation.PATH.format(**operation.EXAMPLE)
    others = {name: it for name, it in operation.EXAMPLE.items() if f"{{{name}}}" not in operation.PATH}
    if operation.METHOD == "GET":
        return f"GET {path}{'?' if others else ''}{urlencode(others)}"
    return f"{operation.METHOD} {path} {others}".replace("'", '"')
