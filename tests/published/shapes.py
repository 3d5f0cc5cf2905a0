"""Judges JSON by GitHub's published schemas, and tells what no schema mentions.

The schemas are not the truth to the letter. What is read more kindly than it is written:
* `null` where `nullable` (or the type `null`) stands beside an enum or a choice that leaves it out;
* a choice of one (`oneOf`) that several fit: GitHub's alternatives overlap.
What is read more strictly: a key that no alternative lists is a stranger, though the schemas allow it.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError, relevance
from jsonschema.validators import extend

Schema = dict[str, Any]
ABOUT = {
    "example",
    "examples",
    "description",
    "title",
    "externalDocs",
    "deprecated",
    "default",
    "discriminator",
}
PREFIX = "#/components/schemas/"
MAX_TOLD = 5
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time")  # type: ignore[untyped-decorator]  # jsonschema publishes no types
def _is_time(text: object) -> bool:
    return not isinstance(text, str) or (
        TIME.fullmatch(text) is not None and bool(datetime.fromisoformat(text))
    )


@FORMATS.checks("uri")  # type: ignore[untyped-decorator]  # jsonschema publishes no types
def _is_address(text: object) -> bool:
    return not isinstance(text, str) or re.match(r"[a-z][a-z0-9+.-]*:\S+$", text) is not None


@FORMATS.checks("email")  # type: ignore[untyped-decorator]  # jsonschema publishes no types
def _is_mailbox(text: object) -> bool:
    return not isinstance(text, str) or re.match(r"\S+@\S+$", text) is not None  # a bot's has brackets


CHECKS = {name: check for name, (check, _) in FORMATS.checkers.items()}


class Shapes:
    """The component schemas of one description, read when they are needed."""

    def __init__(self, components: dict[str, Schema]) -> None:
        self._components = components
        self._read: dict[str, Schema] = {}
        self._listings: dict[tuple[int, ...], _Listing] = {}
        self._judges: dict[int, tuple[Schema, Schema, jsonschema_rs.Draft202012Validator, Any]] = {}
        # Every reference is to a component as a whole. jsonschema's own way of following them searches the
        # component anew each time, which was nine tenths of all judging.
        self._judge = extend(Draft202012Validator, {"$ref": self._follow})

    def faults(self, schema: Schema, value: Any) -> Iterator[str]:
        """Yield what is wrong with `value` by a schema of the description, at most a few sentences."""
        kept = self._judges.get(id(schema))
        if kept is None:
            form = readable(schema)
            fast = jsonschema_rs.Draft202012Validator(
                form, retriever=self._component, formats=CHECKS, validate_formats=True
            )
            judge = self._judge(form, format_checker=FORMATS)
            # the schema too: else its id is reused
            kept = self._judges[id(schema)] = (schema, form, fast, judge)
        _, form, fast, judge = kept
        if not fast.is_valid(value):  # its sentences say little
            errors = sorted(judge.iter_errors(value), key=relevance)
            yield from (_sentence(error) for error in errors[:MAX_TOLD])
        if isinstance(value, list | dict):
            strangers = islice(self._strangers((form,), value), MAX_TOLD)
            yield from (f"{path.lstrip('.')} is in no schema" for path in strangers)

    def _follow(self, judge: Any, name: str, value: Any, _: Schema) -> Iterator[ValidationError]:
        yield from judge.descend(value, self._component(name))

    def _component(self, name: str) -> Schema:
        name = name.removeprefix("urn:published:")
        if name not in self._read:
            self._read[name] = readable(self._components[name])
        return self._read[name]

    def _flat(self, schema: Schema) -> Iterator[Schema]:
        """Yield all that a schema is made of, and itself."""
        if "$ref" in schema:
            yield from self._flat(self._component(schema["$ref"]))
        for word in ("allOf", "anyOf"):
            for part in schema.get(word, ()):
                yield from self._flat(part)
        yield schema

    def _listing(self, schemas: tuple[Schema, ...]) -> "_Listing":
        """Return what these schemas list together, read once."""
        key = tuple(map(id, schemas))
        if key not in self._listings:
            self._listings[key] = _Listing(schemas, [one for schema in schemas for one in self._flat(schema)])
        return self._listings[key]

    def _strangers(self, schemas: tuple[Schema, ...], value: Any) -> Iterator[str]:
        """Yield the paths of keys that none of the schemas lists, where they list any."""
        listing = self._listing(schemas)
        if isinstance(value, list):
            for n, element in enumerate(value):
                if isinstance(element, list | dict):
                    yield from (f"[{n}]{path}" for path in self._strangers(listing.items, element))
            return
        for key, inner in value.items():
            if key not in listing.keys:
                if listing.closed:
                    yield f".{key}"
            elif isinstance(inner, list | dict):
                yield from (f".{key}{path}" for path in self._strangers(listing.keys[key], inner))


class _Listing:
    """What schemas, and all that they are made of, list together."""

    def __init__(self, schemas: tuple[Schema, ...], flat: list[Schema]) -> None:
        self._schemas = schemas  # kept, or their ids are reused
        self.items = tuple(one["items"] for one in flat if "items" in one)
        self.keys: dict[str, tuple[Schema, ...]] = {}
        for key, schema in (pair for one in flat for pair in one.get("properties", {}).items()):
            self.keys[key] = (*self.keys.get(key, ()), schema)
        self.closed = bool(self.keys) and not any(one.get("additionalProperties") for one in flat)


def readable(node: Any, *, names: bool = False) -> Any:
    """Return a schema of OpenAPI 3.0 or 3.1 as JSON Schema 2020-12; with `names`, a map of schemas."""
    if isinstance(node, list):
        return [readable(one) for one in node]
    if not isinstance(node, dict):
        return node
    if names:
        return {key: readable(value) for key, value in node.items()}
    if "$ref" in node:
        return {"$ref": "urn:published:" + node["$ref"].removeprefix(PREFIX)}
    may_be_null = bool(node.get("nullable"))
    made = {key: value for key, value in node.items() if key not in ABOUT and not key.startswith("x-")}
    made.pop("nullable", None)
    if isinstance(made.get("type"), list) and "null" in made["type"]:
        made["type"] = [one for one in made["type"] if one != "null"] or "null"
        may_be_null = True
    made = {
        "anyOf" if key == "oneOf" else key: value
        if key in ("enum", "const", "required")
        else readable(value, names=key == "properties")
        for key, value in made.items()
    }
    return {"anyOf": [made, {"type": "null"}]} if may_be_null else made


def _sentence(error: ValidationError) -> str:
    """Return where the fault is and what it is, from the alternative that fits best."""
    while error.context:
        deepest = max(len(one.absolute_path) for one in error.context)
        error = min((one for one in error.context if len(one.absolute_path) == deepest), key=relevance)
    where = "/".join(map(str, error.absolute_path)) or "the whole"
    return f"{where}: {error.message[:160]}"
