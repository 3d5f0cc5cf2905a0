"""Connections: pages of nodes with cursors, bounded as GitHub bounds them."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from forge.errors import ForgeError

MAX_PAGE = 100  # docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#node-limit


class PaginationError(ForgeError):
    """A connection was requested without bounds or with bad ones."""

    status = 422

    def __init__(self, message: str, graphql_type: str) -> None:
        self.graphql_type = graphql_type
        super().__init__(message)


def connection(nodes: Sequence[Any], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the page of `nodes` that first/last and after/before ask for; raises PaginationError."""
    first, last = arguments.get("first"), arguments.get("last")
    if first is None and last is None:
        message = f"You must provide a `first` or `last` value to properly paginate the `{name}` connection."
        raise PaginationError(message, "MISSING_PAGINATION_BOUNDARIES")
    for key, wanted in (("first", first), ("last", last)):
        if wanted is not None and not 0 <= wanted <= MAX_PAGE:
            message = (
                f"Requesting {wanted} records on the `{name}` connection exceeds the `{key}` limit of "
                f"{MAX_PAGE} records."
            )
            raise PaginationError(message, "EXCESSIVE_PAGINATION")
    start = _place(arguments["after"], name, nodes) if arguments.get("after") else 0
    end = _place(arguments["before"], name, nodes) - 1 if arguments.get("before") else len(nodes)
    start, end = min(start, len(nodes)), min(max(end, start), len(nodes))
    if first is not None:
        end = min(end, start + first)
    elif last is not None:
        start = max(start, end - last)
    page = list(nodes[start:end])
    cursors = [_cursor(start + offset, node) for offset, node in enumerate(page, start=1)]
    return {
        "nodes": page,
        "edges": [{"node": node, "cursor": at} for node, at in zip(page, cursors, strict=True)],
        "totalCount": len(nodes),
        "pageInfo": {
            "hasNextPage": end < len(nodes),
            "endCursor": cursors[-1] if cursors else None,
        },
    }


def _cursor(place: int, node: Any) -> str:
    return base64.b64encode(f"cursor:{place}:{getattr(node, 'node_id', '')}".encode()).decode()


def _place(cursor: str, name: str, nodes: Sequence[Any]) -> int:
    """Return how many nodes a cursor lies behind: it goes with its node, and stays where that is gone."""
    try:
        _, place, node_id = base64.b64decode(cursor, validate=True).decode().split(":", 2)
        known = int(place)
    except (binascii.Error, ValueError) as error:
        message = f"`{cursor}` does not appear to be a valid cursor of the `{name}` connection."
        raise PaginationError(message, "INVALID_CURSOR_ARGUMENTS") from error
    if not node_id or (0 < known <= len(nodes) and getattr(nodes[known - 1], "node_id", "") == node_id):
        return known
    places = (at for at, node in enumerate(nodes, start=1) if getattr(node, "node_id", "") == node_id)
    return next(places, known)
