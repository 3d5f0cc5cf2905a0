"""Price of a GraphQL document in points of the hourly budget.

Every connection counts as one request, times the nodes of the connections around it. A hundred requests are a
point, and no document is cheaper than one point.
Source: docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api.
"""

from typing import Any

from graphql import FieldNode, FragmentDefinitionNode, OperationDefinitionNode, SelectionSetNode
from graphql.language import FragmentSpreadNode, InlineFragmentNode, IntValueNode, VariableNode

from forge.graphql.schema import read

REQUESTS_PER_POINT = 100
DEEPEST = 20  # a document may not spread a fragment into itself


def points(document: object, variables: object) -> int:
    """Return the price of a document; one that cannot be read costs as much as the cheapest."""
    parsed, _faults = read(str(document))
    if parsed is None:
        return 1
    fragments = {
        node.name.value: node for node in parsed.definitions if isinstance(node, FragmentDefinitionNode)
    }
    given = variables if isinstance(variables, dict) else {}
    count = _Count(fragments, given)
    requests = sum(
        count.of(node.selection_set, 1, 0)
        for node in parsed.definitions
        if isinstance(node, OperationDefinitionNode)
    )
    return max(1, round(requests / REQUESTS_PER_POINT))


class _Count:
    def __init__(self, fragments: dict[str, FragmentDefinitionNode], variables: dict[str, Any]) -> None:
        self._fragments, self._variables = fragments, variables

    def of(self, selections: SelectionSetNode | None, times: int, depth: int) -> int:
        """Return the requests of all connections below, each made `times` times."""
        if selections is None or depth > DEEPEST:
            return 0
        total = 0
        for selection in selections.selections:
            if isinstance(selection, FieldNode):
                size = self._size(selection)
                total += times * (size > 0) + self.of(selection.selection_set, times * (size or 1), depth + 1)
            elif isinstance(selection, InlineFragmentNode):
                total += self.of(selection.selection_set, times, depth + 1)
            elif isinstance(selection, FragmentSpreadNode) and selection.name.value in self._fragments:
                total += self.of(self._fragments[selection.name.value].selection_set, times, depth + 1)
        return total

    def _size(self, field: FieldNode) -> int:
        """Return the number of nodes that a connection requests; 0 for any other field."""
        for argument in field.arguments:
            if argument.name.value in ("first", "last"):
                value = argument.value
                if isinstance(value, IntValueNode):
                    return int(value.value)
                if isinstance(value, VariableNode):
                    return int(self._variables.get(value.name.value) or 0)
        return 0
