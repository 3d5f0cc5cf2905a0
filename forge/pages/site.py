"""Shared by all pages: their blueprint, the visitor, and the guard against other sites' requests."""

import hmac
import secrets
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from flask import Blueprint, Response, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, ForgeError, NotFoundError
from forge.pages.looks import FILTERS
from forge.rest.context import is_loopback_request, store
from forge.store.board import Project
from forge.store.models import Repo, Role, User, UserType

Page = TypeVar("Page", bound=Callable[..., ResponseReturnValue])

PERSON_COOKIE = "forge_person"
VISIT_COOKIE = "forge_visit"
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Pages(Blueprint):
    """The blueprint of the pages. Every view runs with the store's lock held, see `ForgeApp`."""

    def __init__(self) -> None:
        super().__init__(
            "pages",
            __name__,
            template_folder="templates",
            static_folder="assets",
            static_url_path="/-/assets",
        )
        self.abroad: set[str] = set()  # views that change nothing, and that forms of other sites lead to
        for name, look in FILTERS.items():
            self.add_app_template_filter(look, name)

    def on(self, rule: str, *, post: bool = False, abroad: bool = False) -> Callable[[Page], Page]:
        """Mount a view for GET or POST; other sites may post to one that is for `abroad`."""

        def mount(view: Page) -> Page:
            if abroad:
                self.abroad.add(f"{self.name}.{view.__name__}")
            self.add_url_rule(rule, view.__name__, view, methods=["POST" if post else "GET"])
            return view

        return mount

    def below_repo(self, rule: str, *, post: bool = False) -> Callable[[Page], Page]:
        """Mount a view below a repository that the visitor may see; the view gets the repository."""

        def mount(view: Page) -> Page:
            @wraps(view)
            def in_repo(owner: str, name: str, **parts: Any) -> ResponseReturnValue:
                return view(repo_named(f"{owner}/{name}"), **parts)

            self.on(f"/<owner>/<name>{rule}", post=post)(in_repo)
            return view

        return mount


pages = Pages()


def people() -> list[User]:
    return [user for user in store().users.all() if user.type is UserType.USER]


def person() -> User:
    """Return the visitor; raises NotFoundError on a forge without people."""
    everybody = people()
    if not everybody:
        raise NotFoundError("Nobody lives on this forge yet.")
    chosen = request.cookies.get(PERSON_COOKIE, "")
    return next((user for user in everybody if user.login == chosen), everybody[0])


def highest_role(user: User) -> Role:
    """Return the highest role that a person has in any repository."""
    roles = [store().repos.role_of(repo, user) for repo in store().repos.all()]
    return max(roles, key=list(Role).index, default=Role.NONE)


def repo_named(full_name: str) -> Repo:
    """Return the repository if the visitor may see it; raises NotFoundError."""
    owner, _, name = full_name.partition("/")
    repo = store().repos.get(owner, name)
    if not reaches(repo, Role.READ):
        raise NotFoundError
    return repo


def reaches(repo: Repo, role: Role) -> bool:
    """Return whether the visitor has at least `role` in `repo`."""
    return store().repos.role_of(repo, person()).reaches(role)


def require(repo: Repo, role: Role, act: str) -> None:
    """Raise ForbiddenError when the visitor has less than `role` in `repo`."""
    if not reaches(repo, role):
        raise ForbiddenError(f"You need {role} access to {repo.full_name} to {act}.")


def may_arrange(project: Project) -> bool:
    """Return whether the visitor may change the board: members of its organisation may."""
    return person().login in project.owner.members or person() is project.owner


@cache
def _secret() -> bytes:
    return secrets.token_bytes(32)


def _token() -> str:
    """Return the word that every change made by this visit must carry."""
    return hmac.new(_secret(), _visit().encode(), "sha256").hexdigest()


def _visit() -> str:
    if "forge_visit" not in g:
        g.forge_visit = request.cookies.get(VISIT_COOKIE) or secrets.token_urlsafe(16)
    return str(g.forge_visit)


@pages.before_request
def guard() -> None:
    """Refuse other sites: their pages must neither read this one (DNS rebinding) nor change anything."""
    if not is_loopback_request():
        raise ForbiddenError("The forge answers on this machine only.")
    if request.method != "POST" or request.endpoint in pages.abroad:
        return
    origin = request.headers.get("Origin")
    foreign = origin is not None and origin != request.host_url.rstrip("/")
    given = request.headers.get("X-Forge-Token") or request.form.get("token", "")
    if foreign or not hmac.compare_digest(given.encode(), _token().encode()):
        raise ForbiddenError("This page is too old or not from this forge. Load it again.")


@pages.after_request
def finish(response: Response) -> Response:
    """Add the headers of a page, the visit's cookie, and an ETag."""
    response.headers.update(HEADERS)
    if "forge_way_out" in g:  # a form of this page ends at another site, which its policy must name
        policy = HEADERS["Content-Security-Policy"]
        allowed = policy.replace("form-action 'self'", f"form-action 'self' {g.forge_way_out}")
        response.headers["Content-Security-Policy"] = allowed
    response.set_cookie(VISIT_COOKIE, _visit(), httponly=True, samesite="Strict")
    if response.status_code == 200 and request.method == "GET" and not response.direct_passthrough:
        response.add_etag()
        response.make_conditional(request)
    return response


@pages.errorhandler(ForgeError)
def refuse(error: ForgeError) -> ResponseReturnValue:
    """Answer a refused request: a page for people, text for the page's script, JSON for other programs."""
    if is_quiet() or not is_loopback_request():
        return Response(error.reasons, error.status, mimetype="text/plain")
    if "text/html" not in request.headers.get("Accept", ""):
        return error.body(), error.status
    with store().lock:
        return render_template("error.html", said=error.reasons, status=error.status), error.status


@pages.context_processor
def shared_context() -> dict[str, Any]:
    """Return the variables that every template has."""
    everybody = people()
    return {
        "people": [(user, highest_role(user)) for user in everybody],
        "me": person() if everybody else None,
        "forge_token": _token(),
        "settings": store().settings,
        "may_arrange_board": may_arrange,
    }


def is_quiet() -> bool:
    """Return whether the page's script made this request, and will refresh the page itself."""
    return request.headers.get("X-Forge-Quiet") == "1"


def leave_for(address: str, fields: dict[str, str]) -> ResponseReturnValue:
    """Redirect to another site with these fields in the query; the page's policy names the site."""
    allow_leaving_for(address)
    given = {name: text for name, text in fields.items() if text or name != "state"}
    return redirect(f"{address}{'&' if '?' in address else '?'}{urlencode(given)}", 302)


def allow_leaving_for(address: str) -> None:
    """Let the forms of the current page end at another site, by a redirect."""
    parts = urlsplit(address)
    g.forge_way_out = f"{parts.scheme}://{parts.netloc}"


def answer_change(where: str) -> ResponseReturnValue:
    """Answer a change: a redirect to `where`, or nothing for the page's own script."""
    return Response(status=204) if is_quiet() else redirect(where, 303)


def came_from(otherwise: str) -> str:
    """Return the path of the page whose form was sent, as the browser names it; else `otherwise`."""
    page = urlsplit(request.referrer or "")
    return local_path(page.path) if page.netloc == request.host else otherwise


def local_path(wanted: str) -> str:
    """Return `wanted` when it is a path on this site, else the front page."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_path and wanted.isprintable() else "/"
