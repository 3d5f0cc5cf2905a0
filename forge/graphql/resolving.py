"""Declarations of resolvers: functions, attributes and connections under the names of GitHub's schema."""

from collections import defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

from graphql import GraphQLResolveInfo

from forge.graphql.connections import connection
from forge.payloads.view import plain

Resolver = Callable[..., Any]
Input = dict[str, Any]


class Resolvers:
    """The resolvers of one module. A field without one is the attribute of the same name, see `naming`."""

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

    def attributes(self, type_name: str, **paths: str) -> None:
        """Declare fields that are attributes, each by its dotted path."""
        for name, path in paths.items():
            read = attrgetter(path)
            self.field(f"{type_name}.{name}")(lambda source, _scope, read=read: plain(read(source)))

    def presences(self, type_name: str, **paths: str) -> None:
        """Declare fields that say whether an attribute is set."""
        for name, path in paths.items():
            read = attrgetter(path)
            self.field(f"{type_name}.{name}")(lambda source, _scope, read=read: read(source) is not None)

    def connections(self, type_name: str, **paths: str) -> None:
        """Declare connections over attributes that are sequences."""
        for name, path in paths.items():
            read = attrgetter(path)

            def page(source: Any, _scope: Any, name: str = name, read: Any = read, **arguments: Any) -> Any:
                return connection(read(source), name, arguments)

            self.field(f"{type_name}.{name}")(page)

    def mutation(self, name: str, *more: Any) -> Callable[[Resolver], Resolver]:
        """Declare a mutation; it is called with (scope, input, *more) and returns the payload."""

        def declare(function: Resolver) -> Resolver:
            def resolve(_source: Any, info: GraphQLResolveInfo, **arguments: Any) -> Any:
                return function(info.context, arguments["input"], *more)

            self.by_type["Mutation"][name] = resolve
            return function

        return declare
