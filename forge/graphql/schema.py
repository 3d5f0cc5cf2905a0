"""The executable schema, and documents checked against it: a client sends the same few repeatedly."""

from functools import cache, lru_cache
from importlib.resources import files

from graphql import (
    DocumentNode,
    GraphQLError,
    GraphQLObjectType,
    GraphQLSchema,
    build_schema,
    parse,
    validate,
)

from forge.graphql import boards, cards, conversation, merging, reviewing, roots

MAX_KEPT = 500
MAX_KEPT_CHARACTERS = 20_000


@cache
def schema() -> GraphQLSchema:
    """Return the schema, built once."""
    made = build_schema(files("forge.graphql").joinpath("schema.graphql").read_text())
    for part in (roots, boards, cards, conversation, merging, reviewing):
        for type_name, fields in part.resolvers.by_type.items():
            kind = made.type_map[type_name]
            assert isinstance(kind, GraphQLObjectType)
            for name, resolve in fields.items():
                kind.fields[name].resolve = resolve
    return made


def read(text: str) -> tuple[DocumentNode | None, tuple[GraphQLError, ...]]:
    """Return the parsed document, or None where it cannot be parsed, and its errors."""
    return (_kept if len(text) <= MAX_KEPT_CHARACTERS else _read)(text)


def _read(text: str) -> tuple[DocumentNode | None, tuple[GraphQLError, ...]]:
    try:
        document = parse(text)
    except GraphQLError as error:
        return None, (error,)
    return document, tuple(validate(schema(), document))


_kept = lru_cache(maxsize=MAX_KEPT)(_read)
