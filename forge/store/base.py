"""Shared by the parts of the store: the one lock, ids, new nodes, look-ups, occurrences, limits of texts."""

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import isfunction
from threading import Lock
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from forge.errors import NotFoundError, UnprocessableError
from forge.store.models import Node, Repo, User

if TYPE_CHECKING:
    from forge.store import Store

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
N = TypeVar("N", bound=Node)

MAX_BODY_CHARACTERS = 65_536  # the API's own message: "body is too long (maximum is 65536 characters)"
MAX_TITLE_CHARACTERS = 256
# docs.github.com/graphql/guides/using-global-node-ids: opaque, a type prefix, then base64url.
PREFIXES = {
    "user": "U",
    "bot": "BOT",
    "organization": "O",
    "repository": "R",
    "label": "LA",
    "issue": "I",
    "pull": "PR",
    "comment": "IC",
    "review": "PRR",
    "thread": "PRRT",
    "review_comment": "PRRC",
    "reaction": "REA",
    "check_run": "CR",
    "check_suite": "CS",
    "status": "SC",
    "project": "PVT",
    "item": "PVTI",
    "draft_issue": "DI",
    "field": "PVTF",
    "single_select_field": "PVTSSF",
    "value": "PVTFV",
    "status_update": "PVTSU",
    "view": "PVTV",
    "status_change": "PVTISC",
    "app": "A",
    "installation": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9u",
}
# What has passed 2**31 there: GraphQL's 32-bit `databaseId` cannot say these numbers. Repositories, accounts
# and Apps have not. Source: github.com/rust-lang/rfcbot-rs, issue 325; linear/linear-release, 51.
LARGE = frozenset(
    {"issue", "pull", "comment", "review", "review_comment", "reaction", "check_run", "check_suite", "status"}
)
LARGE_FROM = 3_000_000_000


class Identifiers:
    """Source of ids like GitHub's; no number is given twice, whatever the resource."""

    def __init__(self, first: int = 1001) -> None:
        self._next = first
        self._lock = Lock()

    def __reduce__(self) -> tuple[type["Identifiers"], tuple[int]]:
        return Identifiers, (self._next,)

    def next_id(self) -> int:
        """Return a number that was not given before."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            return number

    def node_id(self, kind: str, number: int) -> str:
        """Return the global node id of resource `number` of `kind` (a key of PREFIXES)."""
        tail = base64.urlsafe_b64encode(number.to_bytes(6, "big")).decode().rstrip("=")
        return f"{PREFIXES[kind]}_kwDO{tail}"

    def pair(self, kind: str) -> tuple[int, str]:
        """Return a new number and its node id."""
        number = self.next_id() + (LARGE_FROM if kind in LARGE else 0)
        return number, self.node_id(kind, number)


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


@dataclass(eq=False)
class Part:
    """One part of the store. Every public method holds the lock of the store, which all parts share."""

    store: "Store"

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_"):
                setattr(cls, name, _lock(method))

    def _new(
        self, kind: str, make: Callable[Concatenate[int, str, P], N], *args: P.args, **kwargs: P.kwargs
    ) -> N:
        """Return a new node that is found by its node id; `kind` is a key of PREFIXES."""
        node = make(*self.store.identifiers.pair(kind), *args, **kwargs)
        self.store.nodes[node.node_id] = node
        return node


def _lock(method: Callable[..., R]) -> Callable[..., R]:
    @wraps(method)
    def run_locked(self: Part, *args: Any, **kwargs: Any) -> R:
        with self.store.lock:
            return method(self, *args, **kwargs)

    return run_locked


def first(things: Iterable[T], message: str = "Not Found") -> T:
    """Return the first of `things`; raises NotFoundError when there is none."""
    return existing(next(iter(things), None), message)


def existing(thing: T | None, message: str = "Not Found") -> T:
    """Return `thing`; raises NotFoundError when there is none."""
    if thing is None:
        raise NotFoundError(message)
    return thing


def check_body(resource: str, body: str | None, *, needed: bool = False) -> None:
    """Raise UnprocessableError when a body is missing or too long."""
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
