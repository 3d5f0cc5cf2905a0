"""The published REST API: which operation a request is, and what is wrong with request and answer."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote

from tests.published import fetching
from tests.published.gaps import mend
from tests.published.shapes import Schema, Shapes

METHODS = ("get", "post", "put", "patch", "delete")
JSON = "application/json"
# What may hold slashes; the description gives no hint of it.
GREEDY = {"{ref}", "{path}", "{basehead}", "{branch}"}
# Every operation may be answered so, though few declare it; the body is the one of all errors.
# Source: docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api.
ANYWHERE = {400, 401, 403, 404, 422, 429, *range(500, 600)}
ERROR = {
    "anyOf": [
        {"$ref": "#/components/schemas/basic-error"},
        {"$ref": "#/components/schemas/validation-error"},
    ]
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path template, as it is described."""

    method: str
    template: str
    described: dict[str, Any]

    @property
    def name(self) -> str:
        """Return `GET /repos/{owner}/{repo}` and the like."""
        return f"{self.method} {self.template}"

    @property
    def for_apps(self) -> bool:
        """Tell whether installation tokens may call it."""
        return bool(self.described.get("x-github", {}).get("enabledForGitHubApps", True))


class Rest:
    """The operations of GitHub's REST API."""

    def __init__(self, described: dict[str, Any]) -> None:
        mend(described)
        self._components = described["components"]
        self._shapes = Shapes(self._components["schemas"])
        self._known: dict[tuple[str, str], Operation | None] = {}  # of tests, which ask for few paths
        self._operations: dict[str, list[tuple[re.Pattern[str], Operation]]] = {}
        for template, methods in sorted(described["paths"].items(), key=_breadth):
            for method in METHODS:
                if method in methods:
                    found = Operation(method.upper(), template, methods[method])
                    self._operations.setdefault(found.method, []).append((_pattern(template), found))

    @classmethod
    def published(cls) -> "Rest":
        """Return the pinned description; raises NotFetchedError."""
        return cls(json.loads(fetching.read("rest.json")))

    def operation(self, method: str, path: str) -> Operation | None:
        """Return the operation of a path without its query; the one with the fewest parameters wins."""
        key = (method, path)
        if key not in self._known:
            matching = (one for pattern, one in self._operations.get(method, ()) if pattern.fullmatch(path))
            self._known[key] = next(matching, None)
        return self._known[key]

    def request_faults(self, operation: Operation, path: str, query: str, body: bytes) -> Iterator[str]:
        """Yield what is wrong with a request."""
        declared = {(one["in"], one["name"]): one for one in self._parameters(operation)}
        given = [("query", name, text) for name, text in parse_qsl(query, keep_blank_values=True)]
        match = _pattern(operation.template).fullmatch(path)
        given += [
            ("path", name, unquote(text)) for name, text in (match.groupdict() if match else {}).items()
        ]
        for place, name, text in given:
            known = declared.get((place, name))
            if known is None:
                yield f"the {place} parameter {name} is unknown"
            else:
                faults = self._shapes.faults(known["schema"], _typed(known["schema"], text))
                yield from (f"the {place} parameter {name}: {fault}" for fault in faults)
        needed = {name for (place, name), one in declared.items() if place == "query" and one.get("required")}
        yield from (
            f"the query parameter {name} is missing" for name in needed - {name for _, name, _ in given}
        )
        yield from self._body_faults(operation, body)

    def _body_faults(self, operation: Operation, body: bytes) -> Iterator[str]:
        described = operation.described.get("requestBody")
        if described is None:
            if body not in (b"", b"{}"):
                yield "a body that nobody asked for"
        elif body:
            try:
                found = json.loads(body)
            except ValueError:
                yield "the body is not JSON"
            else:
                yield from self._shapes.faults(described["content"][JSON]["schema"], found)
        elif described.get("required"):
            yield "the body is missing"

    def answer_faults(self, operation: Operation, status: int, kind: str, body: bytes) -> Iterator[str]:
        """Yield what is wrong with an answer; `kind` is its media type without parameters."""
        answers = operation.described["responses"]
        declared = answers.get(str(status))
        if declared is None and status not in ANYWHERE:
            yield f"the status {status} is none of {', '.join(answers)}"
            return
        if declared is not None and "$ref" in declared:
            declared = self._components["responses"][declared["$ref"].rsplit("/", 1)[-1]]
        contents = (declared or {}).get("content") or ({JSON: {"schema": ERROR}} if status >= 400 else {})
        if not contents:
            if body:
                yield f"a body where {status} has none"
        elif kind == JSON or not kind.startswith("application/vnd.github."):
            yield from self._content_faults(contents, kind, body)

    def _content_faults(self, contents: dict[str, Any], kind: str, body: bytes) -> Iterator[str]:
        content = contents.get(kind)
        if content is None:
            yield f"the media type {kind} is none of {', '.join(contents)}"
            return
        try:
            found = json.loads(body)
        except ValueError:
            yield "the answer is not JSON"
        else:
            yield from self._shapes.faults(content["schema"], found)

    def _parameters(self, operation: Operation) -> Iterator[dict[str, Any]]:
        for one in operation.described.get("parameters", ()):
            yield self._components["parameters"][one["$ref"].rsplit("/", 1)[-1]] if "$ref" in one else one


def _breadth(path: tuple[str, Any]) -> tuple[int, int]:
    """Order what is more exact before what takes more."""
    return path[0].count("{"), -len(path[0])


def _pattern(template: str) -> re.Pattern[str]:
    def group(match: re.Match[str]) -> str:
        return f"(?P<{match[1].replace('-', '_')}>{'.+' if match[0] in GREEDY else '[^/]+'})"

    return re.compile(re.sub(r"\{([^}]+)\}", group, template.replace(".", r"\.")))


def _typed(schema: Schema, text: str) -> Any:
    """Return a parameter's text as its schema means it; what does not fit stays text."""
    try:
        match schema.get("type"):
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean" if text in ("true", "false"):
                return text == "true"
            case "array":
                return text.split(",")
    except ValueError:
        pass
    return text
