"""The forge's GraphQL schema is a part of the one that GitHub publishes: nothing in it is made up."""

import re
from collections.abc import Iterator
from importlib.resources import files

from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    build_schema,
    is_introspection_type,
    is_required_argument,
    is_required_input_field,
    is_specified_scalar_type,
    parse,
    validate,
)

from bot.github.api import project_queries, repositories
from tests.published.court import Court

OPERATION = re.compile(r"^(?:query|mutation) ", re.MULTILINE)
Fielded = GraphQLObjectType | GraphQLInterfaceType


def strange(ours: GraphQLSchema, theirs: GraphQLSchema) -> Iterator[str]:
    """Yield what `ours` has and `theirs` has not, or has otherwise, and what `theirs` demands beyond."""
    for name, kind in ours.type_map.items():
        if is_introspection_type(kind) or is_specified_scalar_type(kind):
            continue
        published = theirs.type_map.get(name)
        if published is None or type(published) is not type(kind):
            yield f"{name} is not published, or is something else"
        else:
            yield from _strange_type(kind, published)


def _strange_type(kind: GraphQLNamedType, published: GraphQLNamedType) -> Iterator[str]:
    match kind, published:
        case (GraphQLEnumType(), GraphQLEnumType()):
            yield from (
                f"{kind.name}.{one}: no such value" for one in kind.values if one not in published.values
            )
        case (GraphQLUnionType(), GraphQLUnionType()):
            known = {one.name for one in published.types}
            yield from (f"{kind.name}: {one} is no member" for one in kind.types if one.name not in known)
        case (GraphQLInputObjectType(), GraphQLInputObjectType()):
            yield from _strange_inputs(kind, published)
        case (GraphQLObjectType() | GraphQLInterfaceType(), GraphQLObjectType() | GraphQLInterfaceType()):
            known = {one.name for one in published.interfaces}
            yield from (f"{kind.name} is no {one}" for one in kind.interfaces if one.name not in known)
            yield from _strange_fields(kind, published)


def _strange_fields(kind: Fielded, published: Fielded) -> Iterator[str]:
    for name, field in kind.fields.items():
        theirs = published.fields.get(name)
        if theirs is None:
            yield f"{kind.name}.{name}: no such field"
            continue
        if str(field.type) != str(theirs.type):
            yield f"{kind.name}.{name} is {field.type}, published as {theirs.type}"
        for argument, taken in field.args.items():
            there = theirs.args.get(argument)
            if there is None or str(there.type) != str(taken.type):
                yield f"{kind.name}.{name}({argument}: {taken.type}), published as {there and there.type}"
            elif there.default_value != taken.default_value:
                yield f"{kind.name}.{name}({argument}) has another default"
        needed = {one for one, taken in theirs.args.items() if is_required_argument(taken)}
        yield from (f"{kind.name}.{name} does not want {one}" for one in sorted(needed - set(field.args)))


def _strange_inputs(kind: GraphQLInputObjectType, published: GraphQLInputObjectType) -> Iterator[str]:
    for name, field in kind.fields.items():
        theirs = published.fields.get(name)
        if theirs is None or str(theirs.type) != str(field.type):
            yield f"{kind.name}.{name} is {field.type}, published as {theirs and theirs.type}"
    needed = {one for one, field in published.fields.items() if is_required_input_field(field)}
    yield from (f"{kind.name} does not want {one}" for one in sorted(needed - set(kind.fields)))


def test_the_forges_schema_is_a_part_of_the_published_one(published: Court) -> None:
    ours = build_schema(files("forge.graphql").joinpath("schema.graphql").read_text())
    assert list(strange(ours, published.documents.schema)) == []


def test_the_forge_understands_whatever_cardinal_may_ask() -> None:
    ours = build_schema(files("forge.graphql").joinpath("schema.graphql").read_text())
    texts = [text for module in (project_queries, repositories) for text in vars(module).values()]
    asked = [text for text in texts if isinstance(text, str) and OPERATION.search(text)]
    assert len(asked) > 30
    assert [error.message for text in asked for error in validate(ours, parse(text))] == []


def test_the_comparison_bites() -> None:
    theirs = build_schema(
        "interface Node { id: ID! } enum E { A B } union U = T input I { a: Int! b: Int }"
        "type T implements Node { id: ID! e(x: Int!, y: Int): E } type Query { t: T u: U }"
    )
    bad = build_schema(
        "interface Node { id: ID! } interface X { id: ID! } enum E { A C } type Z { a: Int } union U = T | Z "
        "input I { b: String } type T implements Node & X { id: ID! e(y: ID): E! z: Int } "
        "type Query { t: T u: U }"
    )
    assert list(strange(theirs, theirs)) == []
    assert sorted(strange(bad, theirs)) == [
        "E.C: no such value",
        "I does not want a",
        "I.b is String, published as Int",
        "T is no X",
        "T.e does not want x",
        "T.e is E!, published as E",
        "T.e(y: ID), published as Int",
        "T.z: no such field",
        "U: Z is no member",
        "X is not published, or is something else",
        "Z is not published, or is something else",
    ]
