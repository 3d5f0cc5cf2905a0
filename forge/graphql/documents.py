"""Documents that were read and held against the schema: a client sends the same few again and again."""

from functools import lru_cache

from graphql import DocumentNode, GraphQLError, parse, validate

from forge.graphql.schema import schema

MAX_KEPT = 500
MAX_KEPT_CHARACTERS = 20_000


def read(text: str) -> tuple[DocumentNode | None, tuple[GraphQLError, ...]]:
    """Return the parsed document, or None where it cannot be parsed, and what is wrong with it."""
    return (_kept if len(text) <= MAX_KEPT_CHARACTERS else _read)(text)


def _read(text: str) -> tuple[DocumentNode | None, tuple[GraphQLError, ...]]:
    try:
        document = parse(text)
    except GraphQLError as error:
        return None, (error,)
    return document, tuple(validate(schema(), document))


_kept = lru_cache(maxsize=MAX_KEPT)(_read)
