"""The executable schema: the published names with the resolvers of this folder."""

from functools import cache
from importlib.resources import files

from graphql import GraphQLObjectType, GraphQLSchema, build_schema

from forge.graphql import boards, cards, conversation, merging, reviewing, roots
from forge.graphql.resolving import Resolvers


@cache
def schema() -> GraphQLSchema:
    """Return the schema, built once."""
    made = build_schema(files("forge").joinpath("schema.graphql").read_text())
    for part in (roots, boards, cards, conversation, merging, reviewing):
        attach(made, part.resolvers)
    return made


def attach(made: GraphQLSchema, resolvers: Resolvers) -> None:
    """Give the fields of a schema their resolvers; raises KeyError for a field that is not in it."""
    for type_name, fields in resolvers.by_type.items():
        kind = made.type_map[type_name]
        assert isinstance(kind, GraphQLObjectType)
        for name, resolve in fields.items():
            kind.fields[name].resolve = resolve
