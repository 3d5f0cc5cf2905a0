"""Declaring resolvers: a function under the names of a type and a field, or of a mutation."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from graphql import GraphQLResolveInfo

from forge.graphql.scope import Scope

Resolver = Callable[..., Any]
Input = dict[str, Any]


class Resolvers:
    """The resolvers of one module."""

    def __init__(self) -> None:
        self.by_type: dict[str, dict[str, Resolver]] = defaultdict(dict)

    def field(self, *places: str) -> Callable[[Resolver], Resolver]:
        """Declare a resolver of `Type.field`s; it is called with (source, scope, **arguments)."""

        def declare(function: Resolver) -> Resolver:
            def resolve(source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
                return function(source, info.context, **arguments)

            for place in places:
                type_name, _, name = place.partition(".")
                self.by_type[type_name][name] = resolve
            return function

        return declare

    def mutation(self, name: str) -> Callable[[Callable[[Scope, Input], Input]], Resolver]:
        """Declare a mutation; it is called with (scope, input) and returns the payload."""

        def declare(function: Callable[[Scope, Input], Input]) -> Resolver:
            def resolve(_source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
                given: Input = arguments["input"]
                payload = function(info.context, given)
                return {**payload, "clientMutationId": given.get("clientMutationId")}

            self.by_type["Mutation"][name] = resolve
            return function

        return declare
