"""Shared by all pages: the visitor, the layout, the security headers."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from threading import BoundedSemaphore
from typing import Any, Concatenate
from urllib.parse import quote, urlsplit

from flask import Blueprint, Response, make_response, render_template, request
from flask.blueprints import BlueprintSetupState
from markupsafe import Markup, escape
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from bot.bootstrap import Services
from bot.github.oauth import SignInError
from bot.state import served_boards
from bot.state.card_filters import FilterError
from bot.system.github_address import GITHUB_API, web_root
from bot.system.secret import Secret
from bot.web.assets import files
from bot.web.authorization import BusyError, Readers, RequestLimiter
from bot.web.site.company import login as company_login
from bot.web.site.seal import Seal
from bot.web.site.visibility import VisibleLedger
from ledger.log import event_store
from ledger.queue import sign_ins as visits
from ledger.queue.sign_ins import SignIn
from rules.text import sentence
from runner.text.untrusted import without_invisible

TITLE = "Cardinal"
_CODE = re.compile(r"`([^`\n<]+)`")
VISIT_S = 8 * 3600  # as long as GitHub's tokens of people
NAV = (  # path, icon, and name
    ("/", "inbox", "Inbox"),
    ("/runs", "play", "Runs"),
    ("/money", "coins", "Money"),
    ("/notices", "bell", "Notices"),
    ("/tokens", "key-round", "Tokens"),
)
# For whoever may write to a board's policy.
OPERATORS_NAV = (("/health", "heart-pulse", "Health"), ("/hosts", "server", "Hosts"))
NOT_FOUND = (
    "Page not found, or you may not read the repository it is about.",
    "If a colleague can see it: you are signed in as {login}. Does that account have access?",
)
FOREIGN = "Nothing was done: the form must be sent from one of Cardinal's own pages."
FAULTS = {
    404: ("Not found", "Page not found."),
    405: (
        "Not allowed here",
        "This address does not accept that kind of request. Go back and use the links and forms on the page.",
    ),
    413: ("Too large", "What you sent is larger than this page takes. Go back and shorten it."),
    500: (
        "Cardinal failed",
        "Try again. If it keeps failing, your operator can find the reason in Cardinal's log.",
    ),
}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


# Scripts run from the folder of Cardinal's own alone: w3.org/TR/CSP3, 6.7.2.10.
POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self'; script-src {assets};"
    " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

SignedInPage = Callable[Concatenate[SignIn, ...], Response]


@dataclass(frozen=True, slots=True)
class Site(VisibleLedger):
    """The pages over one ledger."""

    readers: Readers
    sign_ins: RequestLimiter
    at_github: BoundedSemaphore  # for as many sign-ins at once
    services: Services  # for what people do
    blueprint: Blueprint = field(
        default_factory=lambda: Blueprint("dashboard", __name__, template_folder="../pages/templates")
    )

    def __post_init__(self) -> None:
        self.blueprint.after_request(self._protect)
        self.blueprint.register_blueprint(files.assets())
        self.blueprint.app_context_processor(lambda: {"nav": self.nav})
        self.blueprint.record_once(_hide_invisible)
        self.blueprint.register_error_handler(BusyError, self._busy)
        self.blueprint.register_error_handler(FilterError, self._misspelt)
        for code, lines in FAULTS.items():
            self.blueprint.app_errorhandler(code)(partial(self.faulty, lines))

    @property
    def cookie(self) -> str:
        """The name of the visit's cookie: with TLS one that no other host and no plain page can set.

        Source: developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Set-Cookie#cookie_prefixes.
        """
        return f"{'__Host-' if self.secure else ''}cardinal"

    @property
    def secure(self) -> bool:
        """Whether browsers come by TLS."""
        return self.config.public_url.startswith("https://")

    def keep(self, answer: Response, name: str, word: str, for_s: int) -> None:
        """Set a cookie that no script can read; 0 seconds delete it."""
        answer.set_cookie(
            name, word, max_age=for_s, path="/", httponly=True, secure=self.secure, samesite="Lax"
        )

    def is_from_here(self) -> bool:
        """Tell whether a form was sent from a page of Cardinal, as browsers say: others cannot make them."""
        named = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
        return (
            named != (None, None)
            and named[0] in (None, self.config.public_url)
            and named[1] in (None, "same-origin")
        )

    def foreign(self, visit: SignIn | None) -> Response:
        """Return the answer to a form that is from elsewhere."""
        return self.page("That came from another site", FOREIGN, status=403, visit=visit)

    def sender(self, max_bytes: int) -> SignIn | Response:
        """Return who sent a form from a page of Cardinal, or the answer to a request that is none."""
        visit = self.visit()
        if not self.is_from_here():
            return self.foreign(visit)
        request.max_content_length = max_bytes
        return visit or self.stranger()

    def get(self, *paths: str) -> Callable[[SignedInPage], SignedInPage]:
        """Return a decorator that mounts a page for whoever is signed in, whose visit its function gets."""

        def mount(show: SignedInPage) -> SignedInPage:
            @wraps(show)
            def signed_in(**places: Any) -> Response:
                visit = self.visit()
                return self.stranger() if visit is None else show(visit, **places)

            for path in paths:
                self.blueprint.get(path)(signed_in)
            return show

        return mount

    def word(self) -> str:
        """Return the value of the visit's cookie; empty without one."""
        return request.cookies.get(self.cookie, "")

    def visit(self) -> SignIn | None:
        """Return the visit of the person signed in in this browser; None without one."""
        word = self.word()
        if not word:
            return None
        with event_store.reading(self.engine) as db:
            visit = visits.find(db, word, self.clock())
        if visit is None or not self._may_stay(visit):
            return None
        self._lend_token(visit)
        return visit

    def _may_stay(self, visit: SignIn) -> bool:
        """Tell whether the company still knows the person; where it has a proxy, this very request came
        through it for the person who signed in.
        """
        if not company_login.may_stay(self.config, visit.login):
            return False
        if self.config.sign_in != "proxy":
            return True
        try:
            return company_login.login_from_proxy(self.config, request).casefold() == visit.login.casefold()
        except SignInError:
            return False

    @property
    def token_cookie(self) -> str:
        """The name of the cookie with the person's token, which only Cardinal can read."""
        return f"{self.cookie}-github"

    def keep_token(self, answer: Response, user_id: int, token: Secret) -> None:
        """Give the person's token to their browser alone, sealed."""
        self.keep(answer, self.token_cookie, self._seal.close(f"{user_id} {token.reveal()}"), VISIT_S)

    def person_token(self, visit: SignIn) -> Secret | None:
        """Return the token that the visitor's browser has; None without one, and for another person's."""
        kept = self._seal.open(request.cookies.get(self.token_cookie, ""), VISIT_S)
        whose, _, token = (kept or "").partition(" ")
        return Secret(token) if whose == str(visit.user_id) else None

    def _lend_token(self, visit: SignIn) -> None:
        """Let GitHub be asked with the visitor's own token."""
        token = self.person_token(visit)
        if token is not None:
            self.readers.lend(visit, token)

    @property
    def _seal(self) -> Seal:
        return Seal("token", self.config.client_secret, self.clock)

    def nav(self, visit: SignIn) -> tuple[tuple[str, str, str], ...]:
        """Return path, icon and name of the pages that each page links. GitHub is not asked."""
        with event_store.reading(self.engine) as db:
            homes = {board.home_repository for board in served_boards.all_served(db, self.config)}
        return (*NAV, *(OPERATORS_NAV if self.readers.wrote(visit, homes) else ()))

    def page(self, title: str, *lines: str, status: int = 200, sign_in: str = "", **more: object) -> Response:
        """Return a page of fixed texts; `sign_in` is the path to return to after signing in."""
        way_in = f"/sign-in?next={quote(sign_in, safe='/')}" if sign_in else ""
        button = "Sign in with GitHub" if self.config.sign_in == "github" else "Sign in"
        made = render_template("page.html", title=title, lines=lines, way_in=way_in, button=button, **more)
        answer = make_response(made, status)
        if status == 401:  # the header that has to go with it: RFC 9110, 15.5.2
            answer.headers["WWW-Authenticate"] = 'Cookie realm="cardinal"'
        return answer

    def stranger(self, title: str = "Sign in", status: int = 401) -> Response:
        """Return the sign-in page, the same for every path. It names a GitHub that is not github.com."""
        host, usual = (urlsplit(url).netloc for url in (self.config.git_url, web_root(GITHUB_API)))
        github = "GitHub" if host == usual else f"the GitHub at {host}"
        asks = f"Cardinal asks {github} whether you may read the repository."
        learns = (
            "It sees your login and what you may do there. It reviews, edits or comments as you only when you"
            " press a button that says so."
            if self.config.sign_in == "github"
            else "It sees what your GitHub account may do there, and cannot act as you."
        )
        return self.page(title, f"{asks} {learns}", status=status, sign_in=self.wanted())

    def wanted(self) -> str:
        """Return the address that was asked for, to return to after signing in."""
        return request.full_path if request.query_string else request.path

    def nothing(self, visit: SignIn) -> Response:
        """Return the same answer for a missing page and for one that the visitor may not see.

        Raises BusyError, as both would.
        """
        self.readers.must_be_able_to_ask(visit)
        lines = [line.format(login=visit.login) for line in NOT_FOUND]
        return self.page("Not found", *lines, status=404, visit=visit)

    def _protect(self, answer: Response) -> Response:
        for name, value in _headers(self.config.public_url).items():
            answer.headers.setdefault(name, value)
        return answer

    def _busy(self, error: BusyError) -> Response:
        answer = self.page("Try again", f"{error}.", status=503)
        answer.headers["Retry-After"] = "60"
        return answer

    def _misspelt(self, error: FilterError) -> Response:
        """Return the page of an address with a parameter that cannot be understood."""
        ways = [(request.path, "This page", "without everything after the question mark")]
        return self.page("Not understood", sentence(str(error)), status=400, visit=self.visit(), links=ways)

    def faulty(self, lines: tuple[str, str], error: HTTPException) -> Response:
        """Return the page of a request that led to no page."""
        ways = [("/", "The inbox", "has links to every page you may see")]
        answer = self.page(*lines, status=error.code or 500, links=ways)
        if isinstance(error, MethodNotAllowed):
            answer.headers["Allow"] = ", ".join(error.valid_methods or ())
        answer = self._protect(answer)
        # A file is a page of no origin: its browser asks for an icon, and would report it as blocked.
        del answer.headers["Cross-Origin-Resource-Policy"]
        return answer


@cache
def _headers(public_url: str) -> Mapping[str, str]:
    return {**HEADERS, "Content-Security-Policy": POLICY.format(assets=f"{public_url}{files.PATH}")}


def inline_code(text: str | Markup) -> Markup:
    """Return text as HTML, with what stands between backticks as code; a template's filter `code`."""
    shown = str(escape(without_invisible(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", shown))  # noqa: S704 - it is escaped


def _hide_invisible(setup: BlueprintSetupState) -> None:
    """Let no template show a character that nobody sees, or that turns the text beside it around; give it the
    filter `code`.
    """
    setup.app.jinja_env.filters["code"] = inline_code
    setup.app.jinja_env.finalize = lambda value: (
        without_invisible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
    )
