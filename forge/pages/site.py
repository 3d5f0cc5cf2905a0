"""What every page shares: the blueprint, who is looking, and the guard against other sites' requests."""

import hmac
import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Response, g, redirect, render_template, request
from flask.typing import ResponseReturnValue

from forge.errors import ForbiddenError, ForgeError, NotFoundError
from forge.pages.looks import FILTERS
from forge.store import Store
from forge.store.board import Project
from forge.store.models import Repo, Role, User, UserType

View = Callable[..., ResponseReturnValue]

PERSON_COOKIE = "forge_person"
VISIT_COOKIE = "forge_visit"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Site:
    """The pages over one store; a view runs with the store's lock held."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._secret = secrets.token_bytes(32)
        self._abroad: set[str] = set()  # views that change nothing, and that forms elsewhere lead to
        self.blueprint = Blueprint(
            "pages",
            __name__,
            template_folder="templates",
            static_folder="assets",
            static_url_path="/-/assets",
        )
        self.blueprint.before_request(self._guard)
        self.blueprint.after_request(self._finish)
        self.blueprint.register_error_handler(ForgeError, self._refuse)
        self.blueprint.context_processor(self._context)
        for name, looks in FILTERS.items():
            self.blueprint.add_app_template_filter(looks, name)

    def route(self, rule: str, *, post: bool = False, abroad: bool = False) -> Callable[[View], View]:
        """Mount a view under `rule`, for GET or for POST; other sites may post to one that is for "
        "`abroad`."""

        def mount(view: View) -> View:
            @wraps(view)
            def locked(**parts: Any) -> ResponseReturnValue:
                with self.store.lock:
                    return view(**parts)

            if abroad:
                self._abroad.add(f"{self.blueprint.name}.{view.__name__}")
            self.blueprint.add_url_rule(rule, view.__name__, locked, methods=["POST" if post else "GET"])
            return view

        return mount

    def people(self) -> list[User]:
        """Return the people that a visitor can be."""
        return [user for user in self.store.users.all() if user.type is UserType.USER]

    def person(self) -> User:
        """Return who the visitor is; raises NotFoundError on a forge without people."""
        people = self.people()
        if not people:
            raise NotFoundError("Nobody lives on this forge yet.")
        chosen = request.cookies.get(PERSON_COOKIE, "")
        return next((person for person in people if person.login == chosen), people[0])

    def highest_role(self, person: User) -> Role:
        """Return the highest role that a person has in any repository."""
        order = list(Role)
        roles = [self.store.repos.role_of(repo, person) for repo in self.store.repos.all()]
        return max(roles, key=order.index, default=Role.NONE)

    def reaches(self, repo: Repo, role: Role) -> bool:
        """Return whether the visitor has at least `role` in `repo`."""
        return self.store.repos.role_of(repo, self.person()).reaches(role)

    def require(self, repo: Repo, role: Role, deed: str) -> None:
        """Raise ForbiddenError when the visitor has less than `role` in `repo`."""
        if not self.reaches(repo, role):
            raise ForbiddenError(f"You need {role} access to {repo.full_name} to {deed}.")

    def may_arrange(self, project: Project) -> bool:
        """Return whether the visitor may change the board: members of its organisation may."""
        return self.person().login in project.owner.members or self.person() is project.owner

    def token(self) -> str:
        """Return the word that every change made by this visit must carry."""
        return hmac.new(self._secret, self._visit().encode(), "sha256").hexdigest()

    def _visit(self) -> str:
        if "forge_visit" not in g:
            g.forge_visit = request.cookies.get(VISIT_COOKIE) or secrets.token_urlsafe(16)
        return str(g.forge_visit)

    def _guard(self) -> None:
        # A page of another site must neither read this one (DNS rebinding) nor make it change something.
        if request.host.rsplit(":", 1)[0] not in LOOPBACK and request.host not in LOOPBACK:
            raise ForbiddenError("The forge answers on this machine only.")
        if request.method != "POST" or request.endpoint in self._abroad:
            return
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin != request.host_url.rstrip("/")
        given = request.headers.get("X-Forge-Token") or request.form.get("token", "")
        if foreign or not hmac.compare_digest(given.encode(), self.token().encode()):
            raise ForbiddenError("This page is too old or not from this forge. Load it again.")

    def _finish(self, response: Response) -> Response:
        response.headers.update(HEADERS)
        if "forge_way_out" in g:  # a form of this page ends at another site, which its policy must name
            policy = HEADERS["Content-Security-Policy"]
            allowed = policy.replace("form-action 'self'", f"form-action 'self' {g.forge_way_out}")
            response.headers["Content-Security-Policy"] = allowed
        response.set_cookie(VISIT_COOKIE, self._visit(), httponly=True, samesite="Strict")
        if response.status_code == 200 and request.method == "GET" and not response.direct_passthrough:
            response.add_etag()
            response.make_conditional(request)
        return response

    def _refuse(self, error: ForgeError) -> ResponseReturnValue:
        reasons = [fault["message"] for fault in error.errors if "message" in fault]
        said = "; ".join(reasons) or error.message
        if is_quiet() or request.host.rsplit(":", 1)[0] not in LOOPBACK:
            return Response(said, error.status, mimetype="text/plain")
        if "text/html" not in request.headers.get("Accept", ""):  # a program that lost its way
            return error.body(), error.status
        with self.store.lock:
            return render_template("error.html", said=said, status=error.status), error.status

    def _context(self) -> dict[str, Any]:
        people = self.people()
        return {
            "people": [(person, self.highest_role(person)) for person in people],
            "me": self.person() if people else None,
            "forge_token": self.token(),
            "settings": self.store.settings,
            "may_arrange_board": self.may_arrange,
        }


def is_quiet() -> bool:
    """Return whether the page's script made this request, and will refresh the page itself."""
    return request.headers.get("X-Forge-Quiet") == "1"


def way_out(address: str) -> None:
    """Let the forms of the page that is being made end at another site, by a redirect."""
    parts = urlsplit(address)
    g.forge_way_out = f"{parts.scheme}://{parts.netloc}"


def done(where: str) -> ResponseReturnValue:
    """Answer a change that was made: on to `where`, or nothing for the page's own script."""
    return Response(status=204) if is_quiet() else redirect(where, 303)


def local_path(wanted: str) -> str:
    """Return `wanted` when it is a path on this site, else the front page."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_path and wanted.isprintable() else "/"
