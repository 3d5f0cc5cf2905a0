"""What every REST resource needs of the request that it answers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlencode

from flask import Response, g, jsonify, request
from werkzeug.local import LocalProxy

from forge.access import Caller, require
from forge.errors import BadRequestError, UnprocessableError
from forge.payloads.view import View
from forge.store import Store
from forge.store.models import Repo, Role, User

if TYPE_CHECKING:
    from forge.gateway import Gateway
    from forge.payloads.webhook import Announcer

T = TypeVar("T")
MAX_PER_PAGE = 100
# Under these names a forge puts its parts into the environment of each request that it answers.
STORE, GATEWAY, ANNOUNCER = "forge.store", "forge.gateway", "forge.announcer"


def store() -> Store:
    """Return the state of the forge that answers this request."""
    found = request.environ[STORE]
    assert isinstance(found, Store)
    return found


# The forge that answers the request at hand, for what is mounted once for all of them.
current_store = cast(Store, LocalProxy(store))
current_gateway = cast("Gateway", LocalProxy(lambda: request.environ[GATEWAY]))
current_announcer = cast("Announcer", LocalProxy(lambda: request.environ[ANNOUNCER]))


def view() -> View:
    """Return the builders' view, with the host that this request asked."""
    return View(store(), request.host_url.rstrip("/"))


def caller() -> Caller:
    """Return who sent this request."""
    found = g.caller
    assert isinstance(found, Caller)
    return found


def actor() -> User:
    """Return the account that acts; raises UnauthorizedError for nobody."""
    return caller().actor


def repo_for(owner: str, name: str, permissions: str, level: str = "read", role: Role = Role.READ) -> Repo:
    """Return a repository that the caller may use so; raises as `access.require` and NotFoundError."""
    repo = store().repos.get(owner, name)
    require(store(), caller(), repo, permissions, level, role)
    return repo


def body() -> dict[str, Any]:
    """Return the JSON object of the request, empty without one; raises BadRequestError."""
    if not request.get_data(cache=True):
        return {}
    found = request.get_json(force=True, silent=True)
    if found is None:
        raise BadRequestError("Problems parsing JSON")
    if not isinstance(found, dict):
        raise BadRequestError("Body should be a JSON object")
    return found


def text_of(source: dict[str, Any], key: str, resource: str, *, needed: bool = False) -> str | None:
    """Return a text of the body; raises UnprocessableError when it is missing or no text."""
    found = source.get(key)
    if found is None and not needed:
        return None
    if not isinstance(found, str):
        raise UnprocessableError.on_field(resource, key, "missing_field" if found is None else "invalid")
    return found


def needed_text(source: dict[str, Any], key: str, resource: str) -> str:
    """Return a text that the body must have; raises UnprocessableError."""
    return text_of(source, key, resource, needed=True) or ""


def page_of(things: Sequence[T]) -> tuple[list[T], dict[str, str]]:
    """Return the page that the request asks for and its Link header.

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


def answer(content: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Return a JSON response."""
    response = jsonify(content)
    response.status_code = status
    response.headers.update(headers or {})
    return response


def no_content() -> Response:
    """Return 204."""
    return Response(status=204)
