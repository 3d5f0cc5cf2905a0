"""Shared by all REST resources: the forge that answers, the caller, the body, pages, repository routes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode

from flask import Blueprint, g, request
from flask.typing import ResponseReturnValue

from forge.errors import BadRequestError, UnprocessableError
from forge.payloads.view import Json, View
from forge.rest.access import Caller, require
from forge.store import Store
from forge.store.models import Repo, Role, User

if TYPE_CHECKING:
    from forge.web.server import Forge

T = TypeVar("T")
Answering = TypeVar("Answering", bound=Callable[..., ResponseReturnValue])
MAX_PER_PAGE = 100
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
FORGE = "forge"  # the key of the answering forge in a request's environment: all forges share one application


def forge() -> "Forge":
    return cast("Forge", request.environ[FORGE])


def store() -> Store:
    """Return the state that answers this request: the forge's, or a copy of it that is behind."""
    return cast(Store, g.get("behind") or forge().store)


def view() -> View:
    """Return the builders' view, with the host of this request."""
    return View(store(), request.host_url.rstrip("/"))


def caller() -> Caller:
    return cast(Caller, g.caller)


def actor() -> User:
    """Return the account that acts; raises UnauthorizedError for nobody."""
    return caller().actor


class RepositoryRoutes(Blueprint):
    """Routes below a repository. Views get the repository, after the caller's permission was checked."""

    def __init__(self, name: str, below: str = "") -> None:
        super().__init__(name, __name__, url_prefix=f"/repos/<owner>/<name>{below}")

    def on(
        self, method: str, rule: str, permissions: str, role: Role = Role.READ
    ) -> Callable[[Answering], Answering]:
        """Mount a view; a token needs one of `permissions` (split by `|`), a person `role`.

        GET needs the level `read`, any other method `write`.
        """

        def mount(function: Answering) -> Answering:
            def view(owner: str, name: str, **parts: Any) -> ResponseReturnValue:
                repo = store().repos.get(owner, name)
                require(
                    store(), caller(), repo, permissions, "read" if method == "GET" else "write", role=role
                )
                return function(repo, **parts)

            self.add_url_rule(rule, f"{method} {rule}", view, methods=[method])
            return function

        return mount


def require_author(author: User, repo: Repo, permissions: str, role: Role) -> None:
    """Raise unless the caller is the author, or has `role` in the repository."""
    if author is not actor():
        require(store(), caller(), repo, permissions, "write", role=role)


def is_loopback_request() -> bool:
    """Return whether the request named this machine itself as its host, whatever the port."""
    return request.host in LOOPBACK or request.host.rsplit(":", 1)[0] in LOOPBACK


def body() -> dict[str, Any]:
    """Return the JSON object of the request, empty without one; raises BadRequestError."""
    if not request.get_data(cache=True):
        return {}
    content = request.get_json(force=True, silent=True)
    if content is None:
        raise BadRequestError("Problems parsing JSON")
    if not isinstance(content, dict):
        raise BadRequestError("Body should be a JSON object")
    return content


def text_of(source: dict[str, Any], key: str, resource: str, *, needed: bool = False) -> str | None:
    """Return a text of the body; raises UnprocessableError when it is missing or no text."""
    text = source.get(key)
    if text is None and not needed:
        return None
    if not isinstance(text, str):
        raise UnprocessableError.on_field(resource, key, "missing_field" if text is None else "invalid")
    return text


def require_text(source: dict[str, Any], key: str, resource: str) -> str:
    """Return a text that the body must have; raises UnprocessableError."""
    return text_of(source, key, resource, needed=True) or ""


def require_texts(source: dict[str, Any], resource: str, *keys: str) -> list[str]:
    """Return several texts that the body must have; raises UnprocessableError."""
    return [require_text(source, key, resource) for key in keys]


def page_of(things: Sequence[T]) -> tuple[list[T], dict[str, str]]:
    """Return the page that the request asks for, and its Link header.

    Source: docs.github.com/rest/using-the-rest-api/using-pagination-in-the-rest-api.
    """
    per_page = min(MAX_PER_PAGE, max(1, request.args.get("per_page", 30, type=int)))
    page = max(1, request.args.get("page", 1, type=int))
    last = max(1, -(-len(things) // per_page))
    links = []
    for rel, number in (("prev", page - 1), ("next", page + 1), ("last", last), ("first", 1)):
        wanted = page < last if rel in {"next", "last"} else page > 1
        if wanted:
            query = urlencode({**request.args.to_dict(), "page": number, "per_page": per_page})
            links.append(f'<{request.base_url}?{query}>; rel="{rel}"')
    start = (page - 1) * per_page
    return list(things[start : start + per_page]), {"Link": ", ".join(links)} if links else {}


def answer_page(things: Sequence[T], show: Callable[[View, T], Json]) -> ResponseReturnValue:
    """Answer with the page that the request asks for, each thing as `show` builds it."""
    page, links = page_of(things)
    return [show(view(), thing) for thing in page], links
