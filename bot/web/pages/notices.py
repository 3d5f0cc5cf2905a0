"""Notices by chat or mail to whoever is signed in, and when; and their choice of fewer.

The address is the operator's, and a secret: it is neither shown nor chosen here.
"""

import logging
from collections.abc import Iterator, Mapping

from flask import Response, make_response, redirect, render_template, request
from pydantic import ValidationError

from bot.outbox import subscribers
from bot.outbox.subscribers import SubscribersError
from bot.web.authorization import RequestLimiter
from bot.web.pages.act import try_later
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.times import stamp
from ledger.events.person import NoticesChosen
from ledger.log import event_store
from ledger.queue.sign_ins import SignIn
from ledger.views import notice_choices
from rules.chatops.notices import MIDNIGHT, NoticeChoice, QuietHours, Subscriber, due_at
from rules.intents.outbound import NoticeKind
from rules.text import count, plain

log = logging.getLogger(__name__)
NOTHING = "You get no notices by chat or mail, as far as this web server knows."
UNREADABLE = (
    "The list of subscribers cannot be read right now: the operator can find out why with `cardinal doctor`."
)
HOW = "Anything that needs you also appears on GitHub and in the inbox. An operator sets up notices:"
PATH, DOOR = "/notices", "pages"
MAX_BYTES = 4_000
A_MINUTE, AN_HOUR = 10, 300  # choices, each an event
DIGESTS = {0: "at once", 15: "every 15 min", 60: "every hour", 240: "every 4 hours", 1440: "once a day"}
UNFIT = "Your settings are unchanged. Write times like 22:00 and a time zone like Europe/Berlin."
NO_QUIET = QuietHours(MIDNIGHT, MIDNIGHT, "UTC")


def mount(site: Site) -> None:
    """Mount the page and its form."""
    pace = RequestLimiter(site.clock, each=A_MINUTE, of_all=AN_HOUR)

    @site.get(PATH)
    def notices(visit: SignIn) -> Response:
        parameters.check_names()
        return _page(site, visit)

    @site.blueprint.post(PATH)
    def choose() -> Response:
        sender = site.sender(MAX_BYTES)
        if not isinstance(sender, SignIn):
            return sender
        return (
            _choose(site, sender)
            if pace.take(sender.user_id)
            else try_later(site, "too many changes in a short time")
        )


def _choose(site: Site, visit: SignIn) -> Response:
    """Store the form's choices, if any of them is new."""
    fields = {name: request.form.get(name, "") for name in NoticeChoice.model_fields}
    try:
        wanted = NoticeChoice.model_validate({**fields, "kinds": request.form.getlist("kinds")})
    except ValidationError:
        return site.page("Nothing was changed", UNFIT, status=400, visit=visit)
    chosen = NoticesChosen(
        visit.user_id,
        login=visit.login,
        door=DOOR,
        kinds=tuple(dict.fromkeys(map(str, wanted.kinds))),
        digest_minutes=wanted.digest_minutes,
        quiet_from=f"{wanted.quiet_from:%H:%M}",
        quiet_until=f"{wanted.quiet_until:%H:%M}",
        time_zone=wanted.time_zone,
    )
    subscribed, missing = _subscribers(site)
    if subscribers.of_login(subscribed, visit.login) is None:
        return site.page("Nothing was changed", missing, status=409, visit=visit)
    with event_store.writing(site.engine) as db:
        known = notice_choices.every(db).get(visit.login.casefold())
        if known is None or subscribers.choice_of(known) != wanted:
            event_store.append(db, chosen, at=site.clock())
    return make_response(redirect(PATH, 303))


def _subscribers(site: Site) -> tuple[Mapping[str, Subscriber], str]:
    """Return the subscribers, and the text for whoever is not among them."""
    try:
        return subscribers.read_admitted(site.config), NOTHING
    except SubscribersError as error:
        log.warning("no notices shown reason=%s", error)
        return {}, UNREADABLE


def _page(site: Site, visit: SignIn) -> Response:
    known, missing = _subscribers(site)
    set_up = subscribers.of_login(known, visit.login)
    with event_store.reading(site.engine) as db:
        mine = subscribers.of_login(subscribers.of_people(db, known), visit.login)
    quiet = mine.quiet if mine is not None else ()
    own = quiet[-1] if len(quiet) > 1 else NO_QUIET
    if quiet and own == NO_QUIET:
        own = own._replace(time_zone=quiet[0].time_zone)  # the clock by which they live
    shown = render_template(
        "notices.html",
        title="Notices",
        lines=() if mine else (missing,),
        facts=() if mine is None else tuple(_facts(site, visit, mine)),
        kinds=() if mine is None or set_up is None else [(kind, kind in mine.kinds) for kind in set_up.kinds],
        digests=DIGESTS,
        digest=0 if mine is None else mine.digest_minutes,
        waits=", ".join(kind for kind in NoticeKind if not kind.is_loud),
        own=own,
        escalated=tuple(_list_escalated(known, visit)),
        how=HOW,
        command=f"cardinal notify add {visit.login} --kind question --quiet 22:00-07:00",
        visit=visit,
    )
    return make_response(shown)


def _facts(site: Site, visit: SignIn, mine: Subscriber) -> Iterator[tuple[str, str]]:
    """Yield the settings as pairs of a name and a value. Raises BusyError."""
    kinds = ", ".join(mine.kinds) or "nothing, as you chose"
    yield "about", kinds + (" of runs that you started" if mine.mine else "")
    yield "boards", _boards(site, visit, mine) or "all"
    hours = (f"{it.begin:%H:%M} to {it.end:%H:%M}, {it.time_zone}" for it in mine.quiet if it.begin != it.end)
    yield "quiet hours", "; ".join(dict.fromkeys(hours)) or "none"
    loud = [kind for kind in mine.kinds if kind.is_loud]
    waits = [kind for kind in mine.kinds if not kind.is_loud]
    if mine.digest_minutes and waits:
        yield "sent at once", ", ".join(loud) or "nothing"
        yield "collected", f"{', '.join(waits)}: every {mine.digest_minutes} min"
    else:
        yield "sent at once", "all of these"
    now = site.clock()
    if (due := due_at(mine, NoticeKind.QUESTION, now)) > now:
        yield "quiet until", stamp(due)
    if mine.escalate_to:
        yield "unanswered questions", f"after {mine.escalate_hours} h to {plain(mine.escalate_to)}, too"


def _boards(site: Site, visit: SignIn, mine: Subscriber) -> str:
    """Return the boards that notices are about, by name those that the visitor may see."""
    if not mine.boards:
        return ""
    wanted = {name.casefold() for name in mine.boards}
    seen = {name for it in site.boards_of(visit) if (name := f"{it.owner}/{it.number}").casefold() in wanted}
    hidden = len(wanted) - len(seen)
    return ", ".join((*sorted(seen), *([f"{count(hidden, 'board')} that you may not see"] if hidden else [])))


def _list_escalated(known: Mapping[str, Subscriber], visit: SignIn) -> Iterator[str]:
    """Yield whose unanswered questions come to the visitor."""
    for name, it in known.items():
        if it.escalate_to.casefold() == visit.login.casefold():
            yield f"You also get {plain(name)}'s questions when they go unanswered for {it.escalate_hours} h."
