"""What the parts of the store share: the one lock, and the announcement of a change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from forge.errors import UnprocessableError
from forge.store.models import Repo, User

if TYPE_CHECKING:
    from forge.store import Store

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Part")

MAX_BODY_CHARACTERS = 65_536  # the API's own message: "body is too long (maximum is 65536 characters)"
MAX_TITLE_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One thing that happened, before it is turned into a payload for each App.

    `subjects` are resources by their key in the payload; `plain` is JSON that goes in as it is.
    """

    event: str
    action: str | None
    actor: User
    repo: Repo | None
    organization: User | None
    subjects: Mapping[str, Any] = field(default_factory=dict)
    plain: Mapping[str, Any] = field(default_factory=dict)


class Part:
    """One part of the store; every part shares the lock of the store it belongs to."""

    def __init__(self, store: "Store") -> None:
        self.store = store


def exclusive(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Run `method` of a store part while holding the store's lock."""

    @wraps(method)
    def locked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.store.lock:
            return method(self, *args, **kwargs)

    return locked


def check_body(resource: str, body: str | None, *, needed: bool = False) -> None:
    """Raise UnprocessableError when a body is missing, too long or has a NUL."""
    if needed and not (body or "").strip():
        raise UnprocessableError.on_field(resource, "body", "missing_field", "body cannot be blank")
    if body is not None and len(body) > MAX_BODY_CHARACTERS:
        message = f"body is too long (maximum is {MAX_BODY_CHARACTERS} characters)"
        raise UnprocessableError.on_field(resource, "body", "unprocessable", message)


def check_title(resource: str, title: str) -> None:
    """Raise UnprocessableError when a title is blank or too long."""
    if not title.strip():
        raise UnprocessableError.on_field(resource, "title", "missing_field", "title can't be blank")
    if len(title) > MAX_TITLE_CHARACTERS:
        message = f"title is too long (maximum is {MAX_TITLE_CHARACTERS} characters)"
        raise UnprocessableError.on_field(resource, "title", "custom", message)
