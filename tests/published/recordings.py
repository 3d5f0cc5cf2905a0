"""GitHub's recorded deliveries, as they are and changed as GitHub may change them."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from tests.published import fetching

STRANGE = {"deep": [1, None, {"x": "‮"}]}
# Always there though not demanded by every description: without them it is no delivery of that event.
SUBJECTS = {"action", "sender", "repository", "organization"}


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded delivery; `changed` says what was done to it, empty for the one that was recorded."""

    name: str
    event: str
    payload: dict[str, Any]
    needed: frozenset[str]
    changed: str = ""

    @property
    def body(self) -> bytes:
        """The payload as it comes."""
        return json.dumps(self.payload).encode()


@cache
def recordings() -> tuple[Recording, ...]:
    """Return every recorded delivery of every event; raises NotFetchedError."""
    described = json.loads(fetching.read("webhooks.json"))
    found = []
    for event in json.loads(fetching.read("examples.json")):
        for n, example in enumerate(event["examples"]):
            payload = {key: value for key, value in example.items() if key != "$schema"}
            needed = _needed(described, event["name"], payload.get("action"))
            found.append(Recording(f"{event['name']}.{n}", event["name"], payload, needed))
    return tuple(found)


def _needed(described: dict[str, Any], event: str, action: object) -> frozenset[str]:
    """Return the keys that the published description demands; all of them where there is none."""
    name = "-".join(filter(None, (event, action if isinstance(action, str) else ""))).replace("_", "-")
    hook = described["webhooks"].get(name)
    if hook is None:
        return frozenset(SUBJECTS)
    schema = hook["post"]["requestBody"]["content"]["application/json"]["schema"]
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]]
    return frozenset(schema.get("required", ()))


def grown(one: Recording) -> Recording:
    """Return the recording with an unknown key in every object of it."""
    return replace(one, payload=_with_strangers(one.payload), changed="with unknown keys")


def shrunken(one: Recording) -> Iterator[Recording]:
    """Yield the recording without one of its optional keys, for each of them."""
    for key in one.payload.keys() - one.needed:
        yield _without(one, key)


def maimed(one: Recording) -> Iterator[Recording]:
    """Yield the recording without one of the keys that it must have, for each of them."""
    for key in one.payload.keys() & one.needed:
        yield _without(one, key)


def _without(one: Recording, gone: str) -> Recording:
    rest = {key: value for key, value in one.payload.items() if key != gone}
    return replace(one, payload=rest, changed=f"without {gone}")


def _with_strangers(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_strangers(one) for one in node]
    if isinstance(node, dict):
        return {key: _with_strangers(value) for key, value in node.items()} | {"not_invented_yet": STRANGE}
    return node
