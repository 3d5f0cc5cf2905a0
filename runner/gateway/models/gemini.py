"""Google's Gemini API: `generateContent`, its stream, and `countTokens`.

Source: ai.google.dev/api/generate-content and /api/tokens.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from runner.gateway.models.protocol import Reading, Wire, count_text_bytes, held_in, length, parse_event
from runner.gateway.models.request_contents import MAX_PARTS, UnknownCostError, Weight, check_fields

_FIELDS = frozenset({
    "contents", "generationConfig", "safetySettings", "serviceTier", "store", "systemInstruction",
    "toolConfig", "tools",
})  # fmt: skip
_CONFIG = frozenset({
    "candidateCount", "enableEnhancedCivicAnswers", "frequencyPenalty", "logprobs", "maxOutputTokens",
    "mediaResolution", "presencePenalty", "responseJsonSchema", "responseLogprobs", "responseMimeType",
    "responseModalities", "responseSchema", "seed", "stopSequences", "temperature", "thinkingConfig", "topK",
    "topP",
})  # fmt: skip
# The price list has no other tier.
_ONE_VALUE: Mapping[str, object] = {
    "candidateCount": 1, "responseModalities": ["TEXT"], "serviceTier": "standard",
}  # fmt: skip
_TEXTS = frozenset({
    "text", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall",
    "toolResponse",
})  # fmt: skip
_NOTES = frozenset({"mediaResolution", "partMetadata", "thought", "thoughtSignature"})
_SEARCH, _FETCH = "googlesearch", "urlcontext"
_READ = ("contents", "systemInstruction")
_WRITTEN = ("text", "functionCall", "executableCode", "codeExecutionResult")
_TOO_DEEP = 4
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    502: "UNAVAILABLE",
}
_KINDS = {"budget": "FAILED_PRECONDITION", "tokens": "FAILED_PRECONDITION"}  # not tried again
_BAD_KEY = "API_KEY_INVALID"


class Gemini(Wire):
    """`models/<model>:generateContent` and `:streamGenerateContent`; the path names the model."""

    provider = "gemini"
    usage = ("google", "default")
    fields = _FIELDS
    limits = ("maxOutputTokens",)
    priced_by = "serviceTier"
    holder = "generationConfig"

    def check(self, given: Mapping[str, Any]) -> None:
        """Refuse what is not known, also inside the settings of the answer."""
        check_fields(given, self.fields, _ONE_VALUE)
        check_fields(held_in(given, self.holder), _CONFIG, _ONE_VALUE)

    def weigh(self, name: str, part: object) -> Weight:
        if name == "tools":
            return Weight(files=sum(tool in (_SEARCH, _FETCH) for tool in _tools_in(part)))
        return _read(part) if name in _READ else Weight()

    def network_tool(self, given: Mapping[str, Any]) -> str:
        tools = given.get("tools")
        reaching = (
            name
            for tool in (tools if isinstance(tools, list) else [tools])
            for name in (tool if isinstance(tool, Mapping) else ())
            if _plain(name) in (_SEARCH, _FETCH)
        )
        return next((f"the tool {name}" for name in reaching), "")

    def read_event(self, reading: Reading, payload: bytes) -> None:
        """Add one chunk: each has the usage so far; the last one says why the answer ended."""
        self._take(reading, parse_event(payload))

    def read_whole(self, reading: Reading, given: Mapping[str, Any]) -> None:
        self._take(reading, given)
        reading.ended = True

    def error(self, status: int, kind: str, message: str) -> bytes:
        named = _KINDS.get(kind, _STATUSES.get(status, "INTERNAL"))
        return json.dumps({"error": {"code": status, "message": message, "status": named}}).encode()

    def refuses_key(self, answer: Mapping[str, Any]) -> bool:
        """Whether Google does not know the key: it says 400, as to a request that it cannot read."""
        return reason_in(answer) == _BAD_KEY

    def _take(self, reading: Reading, given: Mapping[str, Any]) -> None:
        if given.get("error"):
            reading.fail(given["error"])
        feedback = given.get("promptFeedback")
        if isinstance(feedback, Mapping) and feedback.get("blockReason"):  # there will be no answer
            reading.ended = True
        for candidate in _objects(given.get("candidates")):
            content = candidate.get("content")
            for part in _objects(content.get("parts") if isinstance(content, Mapping) else None):
                reading.text_bytes += sum(count_text_bytes(part.get(name)) for name in _WRITTEN)
            grounding = candidate.get("groundingMetadata")
            queries = grounding.get("webSearchQueries") if isinstance(grounding, Mapping) else None
            reading.searches = max(reading.searches, len(queries) if isinstance(queries, list) else 0)
            reading.ended = reading.ended or bool(candidate.get("finishReason"))
        reading.take(given.get("usageMetadata"), last=reading.ended)


class Counting(Gemini):
    """`models/<model>:countTokens`."""

    fields = frozenset({"contents"})


def reason_in(answer: Mapping[str, Any]) -> str:
    """Return Google's own name for the cause of an error; empty without one."""
    error = answer.get("error")
    details = error.get("details") if isinstance(error, Mapping) else None
    return next((str(each["reason"]) for each in _objects(details) if each.get("reason")), "")


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    for each in value if isinstance(value, list) else ():
        if isinstance(each, Mapping):
            yield each


def _plain(name: object) -> str:
    return str(name).replace("_", "").casefold()  # `google_search` is `googleSearch`


def _tools_in(tool: object) -> Iterator[str]:
    """Yield the tools of one entry. Raises UnknownCostError for one of unknown cost."""
    if not isinstance(tool, Mapping):
        raise UnknownCostError("a tool that is not an object")
    for name, value in tool.items():
        if value is None:
            continue
        if (plain := _plain(name)) not in (_SEARCH, _FETCH, "functiondeclarations"):
            raise UnknownCostError(f"the tool {str(name)[:60]!r}")
        yield plain


def _read(content: object) -> Weight:
    """Return the correction of a content's bytes for the pictures and files in it."""
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return _read_parts(parts, 0)


def _read_parts(parts: object, depth: int) -> Weight:
    listed = parts if isinstance(parts, list) else [parts] if parts else []
    if len(listed) > MAX_PARTS or depth > _TOO_DEEP:
        raise UnknownCostError(f"a message with more than {MAX_PARTS:,} parts")
    return sum((_weigh_part(part, depth) for part in listed), Weight())


def _weigh_part(part: object, depth: int) -> Weight:
    if not isinstance(part, Mapping):
        raise UnknownCostError("a part that is not an object")
    total = Weight()
    for name, value in part.items():
        if value is None or name in _NOTES:
            continue
        if name in ("fileData", "file_data"):
            raise UnknownCostError("what is stored at the provider")
        if name == "inlineData":
            total += _weigh_data(value)
        elif name not in _TEXTS:
            raise UnknownCostError(f"a part with `{str(name)[:60]}`")
        elif name == "functionResponse" and isinstance(value, Mapping):
            total += _read_parts(value.get("parts"), depth + 1)
    return total


def _weigh_data(given: object) -> Weight:
    kind = given.get("mimeType") if isinstance(given, Mapping) else None
    data_bytes = length(given.get("data")) if isinstance(given, Mapping) else 0
    if isinstance(kind, str) and kind.startswith("image/"):
        return Weight(-data_bytes, pictures=1)
    if kind == "application/pdf":
        return Weight(-data_bytes, files=1)
    if isinstance(kind, str) and kind.startswith("text/"):
        return Weight()
    raise UnknownCostError(f"data of the type {str(kind)[:60]!r}")
