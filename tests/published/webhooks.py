"""The published webhooks: what is wrong with the headers and the payload of a delivery."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from tests.published import fetching
from tests.published.gaps import mend_payloads
from tests.published.shapes import Shapes

SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
TARGETS = {"integration", "organization", "repository", "business", "app"}


class Webhooks:
    """The payloads of GitHub's webhooks, by event and action."""

    def __init__(self, described: dict[str, Any]) -> None:
        schemas = described["components"]["schemas"]
        mend_payloads(schemas)
        self._shapes = Shapes(schemas)
        self._hooks = described["webhooks"]
        names = (hook["post"]["operationId"].split("/")[0] for hook in self._hooks.values())
        self._events = {name.replace("-", "_") for name in names}

    @classmethod
    def published(cls) -> "Webhooks":
        """Return the pinned description; raises NotFetchedError."""
        return cls(json.loads(fetching.read("webhooks.json")))

    def events(self) -> set[str]:
        """Return the names of all events, as the header X-GitHub-Event has them."""
        return self._events

    def faults(self, headers: Mapping[str, str], body: bytes) -> Iterator[str]:
        """Yield what is wrong with a delivery. The header of an event is its name with underscores."""
        lower = {name.lower(): value for name, value in headers.items()}
        payload = json.loads(body)
        event, action = lower.get("x-github-event", ""), payload.get("action")
        name = "-".join(filter(None, (event, action))).replace("_", "-")
        hook = self._hooks.get(name)
        if hook is None or event not in self._events:
            yield f"there is no webhook {event}.{action}"
            return
        yield from self._header_faults(hook["post"]["parameters"], lower)
        schema = hook["post"]["requestBody"]["content"]["application/json"]["schema"]
        yield from self._shapes.faults(schema, payload)

    @staticmethod
    def _header_faults(parameters: list[dict[str, Any]], lower: Mapping[str, str]) -> Iterator[str]:
        needed = {one["name"].lower() for one in parameters if one.get("required")}
        yield from (f"the header {name} is missing" for name in sorted(needed - set(lower)))
        if "x-hub-signature-256" in lower and not SIGNATURE.fullmatch(lower["x-hub-signature-256"]):
            yield "X-Hub-Signature-256 is no signature"
        if lower.get("x-github-hook-installation-target-type", "integration") not in TARGETS:
            yield "X-GitHub-Hook-Installation-Target-Type is none of GitHub's"
        for name in ("x-github-hook-id", "x-github-hook-installation-target-id"):
            if not lower.get(name, "0").isdigit():
                yield f"{name} is no number"
        try:
            UUID(lower.get("x-github-delivery", "0" * 32))
        except ValueError:
            yield "X-GitHub-Delivery is no GUID"
