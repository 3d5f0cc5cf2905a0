"""The policy file's shape as JSON Schema, for editors; Cardinal itself reads the file more strictly."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from ledger.model.column_names import same_column
from ledger.parts import charter
from rules.policy.model import RepositoryFile
from rules.policy.settings import plain_meaning
from rules.policy.yaml_reader import Path
from rules.registry import ACTIONS, ARCHETYPES
from rules.text import sentence

Spec = Mapping[str, Any]  # a part of the schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILE = "cardinal.schema.json"  # beside the policy
ADDRESS = "/policy.schema.json"  # on Cardinal's pages
# Source: github.com/redhat-developer/yaml-language-server#using-inlined-schema.
LINE = "# yaml-language-server: $schema="
_LINE = re.compile(r"(?:^|[\r\n\ufeff])#\s*yaml-language-server\s*:\s*\$schema=")


@cache
def policy_schema() -> dict[str, Any]:
    """Return the schema of a policy file, `board:` optional. A file that it refuses, Cardinal refuses."""
    schema = RepositoryFile.model_json_schema(mode="validation")
    archetype = schema["$defs"]["ColumnPolicy"]["properties"]["archetype"]
    archetype["enum"] = sorted(ARCHETYPES.names())
    actions = {f"Action_{name}": _describe_action(name) for name in ACTIONS.names()}
    _complete(schema, {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in actions]})
    schema["$defs"] |= actions
    _describe_plainly(schema)
    title = {"title": "A policy of Cardinal", "description": "Columns, limits and checks of a board."}
    return {"$schema": DIALECT, **schema, **title}


def schema_text() -> str:
    """Return the schema as it stands in a file."""
    return f"{json.dumps(policy_schema(), indent=2)}\n"


def follow_reference(spec: Spec) -> Spec:
    """Return a part of the schema with what it refers to."""
    while "$ref" in spec:
        named = policy_schema()["$defs"][spec["$ref"].rpartition("/")[2]]
        spec = {**named, **{name: value for name, value in spec.items() if name != "$ref"}}
    return spec


def alternatives_of(spec: Spec) -> tuple[Spec, ...]:
    """Return what a value may be, each alternative for itself; not that it may be nothing."""
    spec = follow_reference(spec)
    parts = spec.get("anyOf") or spec.get("oneOf")
    if parts is None:
        return () if spec.get("type") == "null" else (spec,)
    return tuple(each for part in parts for each in alternatives_of(part))


def properties_of(spec: Spec) -> Mapping[str, Spec]:
    """Return the keys of a group, each with what its value may be."""
    name = spec.get("propertyNames", {}).get("const")
    return {name: spec["additionalProperties"]} if name else spec.get("properties", {})


def _value_of_map(spec: Spec) -> Spec | None:
    """Return what the values of a map's own names may be; None for a group that is no map."""
    by_pattern = spec.get("patternProperties", {}).values()
    others = next(iter(by_pattern), spec.get("additionalProperties"))
    return others if isinstance(others, Mapping) else None


def spec_at(*path: str) -> Spec:
    """Return the part of the schema for the value at a path, in which any name of a map will do."""
    spec: Spec = policy_schema()
    for name in path:
        (group,) = (each for each in alternatives_of(spec) if each.get("type") == "object")
        spec = properties_of(group).get(name) or _value_of_map(group) or {}
    return follow_reference(spec)


def find_columns(value: object, name: str, spec: Spec | None = None, path: Path = ()) -> Iterator[Path]:
    """Yield the path of each text of a file's tree that names the column, such as a route to it."""
    for each in alternatives_of(policy_schema() if spec is None else spec):
        match value:
            case dict() if each.get("type") == "object":
                keys, others = properties_of(each), _value_of_map(each)
                for key, part in value.items():
                    if inner := keys.get(key, others):
                        yield from find_columns(part, name, inner, (*path, key))
            case list() if each.get("type") == "array":
                for index, part in enumerate(value):
                    yield from find_columns(part, name, each["items"], (*path, index))
            case str() if each.get("format") == "column" and same_column(value, name):
                yield path


def lead_elsewhere(tree: dict[str, Any], name: str, other: str) -> None:
    """Have what names the column in a file's tree name another one."""
    for path in list(find_columns(tree, name)):
        here: Any = tree
        for part in path[:-1]:
            here = here[part]
        here[path[-1]] = other


def _describe_action(name: str) -> dict[str, Any]:
    """Return the schema of an entry of `on_entry` and `on_exit`."""
    part = ACTIONS.load(name)
    said = charter(part).removeprefix(f"{name}: ")
    return {
        **part.Settings.model_json_schema(mode="validation"),
        "title": name,
        "description": sentence(said),
    }


def _complete(part: object, actions: Spec) -> None:
    """Put in the actions, which the model does not know: each is a file of its own."""
    match part:
        case dict() if part.get("format") == "action":
            part.clear()
            part.update(actions)
        case dict():
            for each in part.values():
                _complete(each, actions)
        case list():
            for each in part:
                _complete(each, actions)


def name_schema(text: str, where: str) -> str:
    """Return the policy file with a first line that tells editors where its schema is, unless it has one."""
    if _LINE.search(text):
        return text
    start = 1 if text.startswith("\ufeff") else 0
    first = re.search(r"\r\n?|\n", text)
    return f"{text[:start]}{LINE}{where}{first[0] if first else chr(10)}{text[start:]}"


def _describe_plainly(part: object) -> None:
    """Take Markdown out of the descriptions: editors show them as they are."""
    if isinstance(part, dict):
        if isinstance(part.get("description"), str):
            part["description"] = plain_meaning(part["description"])
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            _describe_plainly(each)
