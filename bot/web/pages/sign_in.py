"""Sign-in by GitHub, and sign-out: a state that works once in one browser, then a visit."""

import json
import logging
import re
import secrets
from hmac import compare_digest

from flask import Response, make_response, redirect, request

from bot.github import oauth
from bot.github.oauth import AGAIN, BACK, Person, SignInError
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


def mount(site: Site) -> None:
    """Mount sign-in and sign-out."""

    @site.blueprint.get("/sign-in")
    def begin() -> Response:
        """Redirect to GitHub, with a state that only this browser can return."""
        state, verifier = secrets.token_urlsafe(WORD_BYTES), secrets.token_urlsafe(WORD_BYTES)
        kept = {"state": state, "verifier": verifier, "next": own_path(request.args.get("next", ""))}
        answer = make_response(redirect(oauth.way_to_github(site.config, state, verifier), 302))
        site.keep(answer, _cookie(site), _seal(site).close(json.dumps(kept)), VALID_S)
        return answer

    @site.blueprint.get(BACK)
    def come_back() -> Response:
        """Begin a visit for the person that GitHub names."""
        try:
            answer = _came_back(site)
        except SignInError as error:
            log.warning("sign-in refused reason=%s", error.because)
            answer = site.page("You are not signed in", f"{error}.", status=403, sign_in="/")
        site.keep(answer, _cookie(site), "", 0)
        return answer

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


def _came_back(site: Site) -> Response:
    begun = _read_sign_in(site)
    if not compare_digest(begun["state"].encode(), request.args.get("state", "").encode()):
        raise SignInError(f"this sign-in was started in another browser: {AGAIN}")
    code = request.args.get("code", "")
    if not CODE.fullmatch(code):
        raise oauth.sign_in_error(request.args.get("error", ""))
    person = _person(site, code, begun)
    now = site.clock()
    word = secrets.token_urlsafe(WORD_BYTES)
    with event_store.writing(site.engine) as db:
        sign_ins.end(db, site.word())
        sign_ins.begin_sign_in(db, word, user_id=person.user_id, login=person.login, now=now, ttl_s=VISIT_S)
    log.info("signed in login=%s", person.login)
    answer = make_response(redirect(begun["next"], 303))  # so that the code leaves the address bar
    site.keep(answer, site.cookie, word, VISIT_S)
    site.keep_token(answer, person.user_id, person.token)
    return answer


def _person(site: Site, code: str, begun: dict[str, str]) -> Person:
    """Return the person by GitHub's answer; few threads may wait for it at once, and attempts are limited.

    The state is spent only after these limits: a stranger cannot fill the ledger.
    """
    if not site.at_github.acquire(blocking=False):
        raise SignInError(MANY)
    try:
        if not site.sign_ins.take("sign-in"):
            raise SignInError(MANY)
        with event_store.writing(site.engine) as db:
            first = sign_ins.spend(db, begun["state"], now=site.clock(), ttl_s=VALID_S)
        if not first:
            raise SignInError(f"this sign-in was already used: {AGAIN}")
        return oauth.who(site.config, code, begun["verifier"])
    finally:
        site.at_github.release()


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
