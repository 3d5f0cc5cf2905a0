"""Tokens for the programs of whoever is signed in: made and shown once, listed, revoked."""

from dataclasses import dataclass
from datetime import timedelta

from flask import Response, make_response, redirect, render_template, request
from markupsafe import Markup

from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from ledger.log import event_store
from ledger.queue import api_tokens
from ledger.queue.api_tokens import MAX_NAME, MEANING, Scope, TokenRow, TooManyTokensError
from ledger.queue.sign_ins import SignIn
from rules.text import plain

PATH = "/tokens"
MAX_BYTES = 4_000
DAYS = (7, 30, 90, 365)
UNFIT = "No token was created: give it a name, a scope and an expiry."


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token in the list."""

    token_id: str
    name: str
    scope: str
    made: str
    ends: str
    used: str


def mount(site: Site) -> None:
    """Mount the page and its two forms."""

    @site.get(PATH)
    def tokens(visit: SignIn) -> Response:
        parameters.check_names()
        return _page(site, visit)

    @site.blueprint.post(PATH)
    def make_token() -> Response:
        sender = site.sender(MAX_BYTES)
        return _make_token(site, sender) if isinstance(sender, SignIn) else sender

    @site.blueprint.post(f"{PATH}/revoke")
    def revoke_token() -> Response:
        sender = site.sender(MAX_BYTES)
        if not isinstance(sender, SignIn):
            return sender
        with event_store.writing(site.engine) as db:
            api_tokens.revoke(db, request.form.get("token", ""), site.clock(), user_id=sender.user_id)
        return make_response(redirect(PATH, 303))


def _make_token(site: Site, visit: SignIn) -> Response:
    name, scope, days = (request.form.get(field, "") for field in ("name", "scope", "days"))
    if not plain(name, MAX_NAME) or scope not in list(Scope) or days not in map(str, DAYS):
        return site.page("No token was created", UNFIT, status=400, visit=visit)
    try:
        with event_store.writing(site.engine) as db:
            text, _ = api_tokens.make(
                db,
                plain(name, MAX_NAME),
                login=visit.login,
                user_id=visit.user_id,
                scopes=(scope,),
                now=site.clock(),
                lives=timedelta(days=int(days)),
            )
    except TooManyTokensError as error:
        return site.page("No token was created", f"{error}.", status=409, visit=visit)
    return _page(site, visit, text)


def _page(site: Site, visit: SignIn, text: str = "") -> Response:
    now = site.clock()
    with event_store.reading(site.engine) as db:
        mine = api_tokens.list_living(db, now, user_id=visit.user_id)
    shown = render_template(
        "tokens.html",
        title="Tokens",
        lines=("A token lets a program act as you on Cardinal, within its scope.",),
        text=text,
        tokens=list(map(_view, reversed(mine))),
        scopes=[(scope.value, MEANING[scope]) for scope in Scope],
        days=DAYS,
        longest=MAX_NAME,
        visit=visit,
    )
    return make_response(shown)


def _view(row: TokenRow) -> TokenView:
    used = Markup("{:,} times, on {}").format(row.uses, stamp(row.used_at)) if row.used_at else "not yet"
    return TokenView(
        token_id=row.token_id,
        name=plain(row.name),
        scope=", ".join(row.scopes),
        made=stamp(row.made_at),
        ends=stamp(row.until),
        used=used,
    )
