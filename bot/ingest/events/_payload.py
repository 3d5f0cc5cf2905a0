"""Reads a GitHub payload field by field: a wrong shape is a named error, text is fit for every database."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ledger.errors import CardinalError

Payload = Mapping[str, Any]
GHOST = "ghost"  # GitHub's stand-in for deleted accounts, which payloads hold as null


class UnreadablePayloadError(CardinalError):
    """A delivery does not have the shape that its event promises; trying again cannot help."""

    def __init__(self, path: str, wanted: str, value: object) -> None:
        self.path, self.wanted, self.actual = path, wanted, type(value).__name__
        super().__init__(f"the delivery has no readable {path}: wanted {wanted}, found {self.actual}")


def find(payload: Payload, path: str) -> Any:
    """Return the value at the dotted `path`, None where a step is absent or null."""
    value: Any = payload
    for step in path.split("."):
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise UnreadablePayloadError(path, "an object above it", value)
        value = value.get(step)
    return value


def text(payload: Payload, path: str) -> str:
    """Return a required text without NUL and halves of surrogate pairs, which no database takes."""
    value = find(payload, path)
    if not isinstance(value, str):
        raise UnreadablePayloadError(path, "text", value)
    return value.replace("\0", "�").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def text_or_empty(payload: Payload, path: str) -> str:
    """Return a text that GitHub may leave out or send as null."""
    return "" if find(payload, path) is None else text(payload, path)


def number(payload: Payload, path: str) -> int:
    """Return a required whole number that fits 64 bits."""
    value = find(payload, path)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise UnreadablePayloadError(path, "a whole number", value)
    return value


def number_or_zero(payload: Payload, path: str) -> int:
    """Return a whole number that GitHub may leave out or send as null."""
    return 0 if find(payload, path) is None else number(payload, path)


def flag(payload: Payload, path: str) -> bool:
    """Return a boolean; absent or null counts as false."""
    value = find(payload, path)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise UnreadablePayloadError(path, "true or false", value)
    return value


def moment(payload: Payload, path: str) -> datetime:
    """Return a required point in time, in UTC."""
    value = text(payload, path)
    try:
        return datetime.fromisoformat(value).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise UnreadablePayloadError(path, "a time as in RFC 3339", value) from error


def moment_or_none(payload: Payload, path: str) -> datetime | None:
    """Return a point in time that GitHub may leave out or send as null."""
    return None if find(payload, path) is None else moment(payload, path)


def objects(payload: Payload, path: str) -> tuple[Payload, ...]:
    """Return a list of objects; absent or null counts as empty."""
    value = find(payload, path)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise UnreadablePayloadError(path, "a list of objects", value)
    return tuple(value)


def login(payload: Payload, path: str) -> str:
    """Return the login of the account at `path`, `ghost` for a deleted one."""
    return GHOST if find(payload, path) is None else text(payload, f"{path}.login")


def account(payload: Payload, path: str) -> int:
    return 0 if find(payload, path) is None else number(payload, f"{path}.id")


def own(payload: Payload, bot_id: int) -> bool:
    """Return whether Cardinal itself caused the delivery: by its own id, for other bots are people here."""
    return account(payload, "sender") == bot_id
