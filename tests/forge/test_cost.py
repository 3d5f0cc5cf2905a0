"""What the forge charges for GraphQL, as GitHub's formula says, and how its cursors go with their nodes."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.github.api import project_queries
from forge.graphql.connections import connection
from forge.web.gateway import points


@pytest.mark.parametrize(
    ("document", "variables", "price"),
    [
        ("{ viewer { login } }", {}, 1),
        ("{ a { items(first: 100) { nodes { id } } } }", {}, 1),
        ("{ repos(first: 100) { nodes { issues(first: 50) { nodes { id } } } } }", {}, 1),
        # the example of GitHub's own page: 1 + 100 + 100 * 50 connections
        (
            "{ viewer { repositories(first: 100) { edges { repository: node {"
            " issues(first: 50) { edges { node { labels(first: 60) { edges { node { id } } } } } } } } } } }",
            {},
            51,
        ),
        ("query Q($n: Int) { a(first: $n) { b(first: 100) { c(first: 10) { id } } } }", {"n": 100}, 101),
        ("{ ...F } fragment F on Query { a(first: 100) { b(first: 100) { c(first: 1) { id } } } }", {}, 101),
        ("fragment F on Query { ...F } { ...F }", {}, 1),
        ("{ broken", {}, 1),
        (None, None, 1),
        (project_queries.SWEEP, {}, 1),
        (project_queries.CARDS, {}, 1),
    ],
)
def test_a_document_costs_what_githubs_formula_says(document: object, variables: object, price: int) -> None:
    assert points(document, variables) == price


def page(nodes: list[Any], after: str | None) -> tuple[list[str], str]:
    """Return the ids of two nodes behind the cursor, and the cursor of the last of them."""
    found = connection(nodes, "items", {"first": 2, "after": after})
    return [node.node_id for node in found["nodes"]], found["pageInfo"]["endCursor"]


def test_a_cursor_goes_with_its_node_and_stays_in_place_where_that_is_gone() -> None:
    nodes = [SimpleNamespace(node_id=name) for name in "abcdef"]
    _, cursor = page(nodes, None)
    assert page(nodes, cursor)[0] == ["c", "d"]
    assert page([SimpleNamespace(node_id="new"), *nodes], cursor)[0] == ["c", "d"]
    assert page([node for node in nodes if node.node_id != "b"], cursor)[0] == ["d", "e"]
