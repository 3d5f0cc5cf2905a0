"""The published GraphQL schema: what is wrong with a document and its variables."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    build_schema,
    parse,
    validate,
)
from graphql.execution.values import get_variable_values

from tests.published import fetching

DESCRIPTION = re.compile(r'"""(?:\\"""|.)*?"""', re.DOTALL)  # more than half of the schema; judges nothing


class Documents:
    """GitHub's schema, which every document must fit."""

    def __init__(self, text: str) -> None:
        self.schema: GraphQLSchema = build_schema(text, assume_valid=True, no_location=True)
        self._judged = lru_cache(maxsize=500)(self._judge)

    @classmethod
    def published(cls) -> "Documents":
        """Return the pinned schema; raises NotFetchedError."""
        return cls(DESCRIPTION.sub("", fetching.read("schema.graphql").decode()))

    def faults(self, text: str, variables: Mapping[str, Any] | None = None) -> Iterator[str]:
        """Yield what is wrong with a document, and with its variables if they are given."""
        document, problems = self._judged(text)
        yield from problems
        if document is None or problems or variables is None:
            return
        for operation in document.definitions:
            if isinstance(operation, OperationDefinitionNode):
                yield from self._variable_faults(operation, variables)

    def _judge(self, text: str) -> tuple[DocumentNode | None, tuple[str, ...]]:
        try:
            document = parse(text)
        except GraphQLError as error:
            return None, (error.message,)
        return document, tuple(error.message for error in validate(self.schema, document))

    def _variable_faults(self, operation: OperationDefinitionNode, given: Mapping[str, Any]) -> Iterator[str]:
        declared = list(operation.variable_definitions)
        values = get_variable_values(self.schema, tuple(declared), dict(given))
        if isinstance(values, list):
            yield from (error.message for error in values)
        unknown = set(given) - {one.variable.name.value for one in declared}
        yield from (f"the variable ${name} is not declared" for name in sorted(unknown))
