"""Sign-in by GitHub or by a company's own means, and sign-out: a state that works once in one browser, then a
visit.
"""

import json
import logging
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from hmac import compare_digest

from flask import Response, make_response, redirect, request

from bot.github import oauth
from bot.github.api import roles
from bot.github.errors import GithubError, NotFoundError
from bot.github.oauth import AGAIN, BACK, Person, SignInError
from bot.system.secret import Secret
from bot.web.site.company import login as company_login
from bot.web.site.company import openid
from bot.web.site.layout import VISIT_S, Site
from bot.web.site.seal import Seal
from ledger.log import event_store
from ledger.queue import sign_ins

log = logging.getLogger(__name__)
VALID_S = 600  # as long as GitHub's codes
WORD_BYTES = 32
OWN_PATH = re.compile(
    r"/(?:hosts|health|money|notices|tokens|runs|(?:runs|artifacts|boards|cards|policy)/[A-Za-z0-9._%-]+(?:/[A-Za-z0-9._%-]+)*)?"
)
OWN_QUERY = re.compile(
    r"(?:(?:search|state|status|repository|person|label|agent|reason|lane|lanes|column|part|page|zoom|before|after|days|layout)=[A-Za-z0-9._~*%+-]*(?:&(?!$)|$))*"
)
MAX_CHARS, MAX_QUERY = 400, 1000  # with the sign-in around them, a cookie holds both
MANY = "too many people are signing in right now: try again in a minute"
CODE = re.compile(r"[A-Za-z0-9_-]{1,200}")
OPENID_CODE = re.compile(r"[\x21-\x7e]{1,4000}")


def mount(site: Site) -> None:
    """Mount sign-in and sign-out."""

    @site.blueprint.get("/sign-in")
    def begin() -> Response:
        """Redirect to where people sign in, with a state that only this browser can return."""
        try:
            return _begin(site, own_path(request.args.get("next", "")))
        except SignInError as error:
            return _refuse(site, error)

    def come_back() -> Response:
        """Begin a visit for the person that GitHub or the company's provider names."""
        try:
            answer = _came_back(site)
        except SignInError as error:
            answer = _refuse(site, error)
        site.keep(answer, _cookie(site), "", 0)
        return answer

    # Only the way that the settings name: another one would lead around it.
    back = {"github": BACK, "oidc": openid.BACK}.get(site.config.sign_in)
    if back:
        site.blueprint.get(back)(come_back)

    @site.blueprint.post("/sign-out")
    def sign_out() -> Response:
        """End the visit in the browser and in the ledger."""
        if not site.is_from_here():
            return site.page(
                "That came from another site",
                "Use the Sign out button on one of Cardinal's pages.",
                status=403,
            )
        with event_store.writing(site.engine) as db:
            sign_ins.end(db, site.word())
        answer = make_response(redirect("/", 303))
        site.keep(answer, site.cookie, "", 0)
        site.keep(answer, site.token_cookie, "", 0)
        return answer


def own_path(wanted: str) -> str:
    """Return `wanted` if it is an address of these pages, else the front page's: nobody is sent elsewhere."""
    path, _, query = wanted.partition("?")
    fits = len(path) <= MAX_CHARS and len(query) <= MAX_QUERY
    return wanted if fits and OWN_PATH.fullmatch(path) and OWN_QUERY.fullmatch(query) else "/"


def _refuse(site: Site, error: SignInError) -> Response:
    log.warning("sign-in refused reason=%s from=%s", error.because, request.remote_addr)
    return site.page("You are not signed in", f"{error}.", status=403, sign_in="/")


def _begin(site: Site, wanted: str) -> Response:
    if site.config.sign_in == "proxy":
        with _asking(site):
            person = _account(site, company_login.login_from_proxy(site.config, request))
        return _enter(site, person, wanted)
    state, verifier, nonce = (secrets.token_urlsafe(WORD_BYTES) for _ in range(3))
    if site.config.sign_in == "oidc":
        with _few(site):
            way = openid.way_to_provider(site.config, state, verifier, nonce)
    else:
        way = oauth.way_to_github(site.config, state, verifier)
    kept = {"state": state, "verifier": verifier, "nonce": nonce, "next": wanted}
    answer = make_response(redirect(way, 302))
    site.keep(answer, _cookie(site), _seal(site).close(json.dumps(kept)), VALID_S)
    return answer


def _came_back(site: Site) -> Response:
    begun, by_company = _read_sign_in(site), site.config.sign_in == "oidc"
    if not compare_digest(begun["state"].encode(), request.args.get("state", "").encode()):
        raise SignInError(f"this sign-in was started in another browser: {AGAIN}")
    code = request.args.get("code", "")
    if by_company and request.args.get("iss", site.config.oidc_issuer) != site.config.oidc_issuer:
        raise SignInError(f"another provider answered than the company's: {AGAIN}")  # RFC 9207
    if not (OPENID_CODE if by_company else CODE).fullmatch(code):
        error = request.args.get("error", "")
        raise openid.read_refusal(error) if by_company else oauth.sign_in_error(error)
    with _asking(site):
        with event_store.writing(site.engine) as db:
            first = sign_ins.spend(db, begun["state"], now=site.clock(), ttl_s=VALID_S)
        if not first:
            raise SignInError(f"this sign-in was already used: {AGAIN}")
        if by_company:
            name = openid.name_behind(site.config, code, begun["verifier"], begun["nonce"])
            person = _account(site, company_login.login_of(site.config, name))
        else:
            person = oauth.who(site.config, code, begun["verifier"])
    return _enter(site, person, begun["next"])


def _enter(site: Site, person: Person, wanted: str) -> Response:
    """Begin a visit, and lead to the page that was wanted."""
    now, word = site.clock(), secrets.token_urlsafe(WORD_BYTES)
    with event_store.writing(site.engine) as db:
        sign_ins.end(db, site.word())
        sign_ins.begin_sign_in(db, word, user_id=person.user_id, login=person.login, now=now, ttl_s=VISIT_S)
    log.info("signed in login=%s", person.login)
    answer = make_response(redirect(wanted, 303))  # so that the code leaves the address bar
    site.keep(answer, site.cookie, word, VISIT_S)
    if person.token:
        site.keep_token(answer, person.user_id, person.token)
    else:
        site.keep(answer, site.token_cookie, "", 0)
    return answer


def _account(site: Site, login: str) -> Person:
    """Return the GitHub account of that login, without a token: a company gives none. Raises SignInError."""
    try:
        user_id, exact = roles.account_of(site.services.context.app, login)
    except NotFoundError as error:
        raise SignInError(f"GitHub has no account {login}: {company_login.ASK}") from error
    except GithubError as error:
        raise SignInError("GitHub did not answer: try again soon") from error
    return Person(user_id, exact, Secret())


@contextmanager
def _few(site: Site) -> Iterator[None]:
    """Let few threads ask elsewhere at once: deliveries need some, too. Raises SignInError."""
    if not site.at_github.acquire(blocking=False):
        raise SignInError(MANY)
    try:
        yield
    finally:
        site.at_github.release()


@contextmanager
def _asking(site: Site) -> Iterator[None]:
    """Ask who somebody is: few at once, and so many a minute. Raises SignInError.

    A state is spent only after these limits: a stranger cannot fill the ledger.
    """
    with _few(site):
        if not site.sign_ins.take("sign-in"):
            raise SignInError(MANY)
        yield


def _read_sign_in(site: Site) -> dict[str, str]:
    """Return the sign-in that this browser began; raises SignInError without one, or if it is too old."""
    kept = _seal(site).open(request.cookies.get(_cookie(site), ""), VALID_S)
    if kept is None:
        raise SignInError(f"it was not started in this browser, or it took more than ten minutes: {AGAIN}")
    content: dict[str, str] = json.loads(kept)
    return content


def _cookie(site: Site) -> str:
    return f"{site.cookie}-sign-in"


def _seal(site: Site) -> Seal:
    return Seal("sign-in", site.config.client_secret, site.clock)
