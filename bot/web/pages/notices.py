"""What is sent to whoever is signed in by chat or mail, and when: without the address, which is a secret."""

import logging
from collections.abc import Iterator, Mapping

from flask import Response, make_response, render_template

from bot.outbox import subscribers
from bot.outbox.subscribers import SubscribersError
from bot.web.site import parameters
from bot.web.site.layout import Site
from ledger.queue.sign_ins import SignIn
from rules.chatops.notices import Subscriber, due_at
from rules.text import count, plain

log = logging.getLogger(__name__)
NOTHING = "Nothing is sent to you by chat or mail, as far as this web server knows."
UNREADABLE = "Whom notices go to cannot be read just now: whoever runs Cardinal finds the reason in its log."
HOW = "What waits for you is said on GitHub in any case, and in the inbox. An operator changes notices:"


def mount(site: Site) -> None:
    """Mount the page."""

    @site.blueprint.get("/notices")
    def notices() -> Response:
        visit = site.visit()
        if visit is None:
            return site.stranger()
        parameters.check()
        try:
            known, missing = subscribers.read(site.config.home), NOTHING
        except (SubscribersError, OSError) as error:
            log.warning("no notices shown reason=%s", error)
            known, missing = {}, UNREADABLE
        mine = next((it for name, it in known.items() if _is_of(name, it, visit)), None)
        shown = render_template(
            "notices.html",
            title="Notices",
            lines=() if mine else (missing,),
            facts=() if mine is None else tuple(_facts(site, visit, mine)),
            escalated=tuple(_escalated(known, visit)),
            how=HOW,
            command=f"cardinal notify add {visit.login} --kind question --quiet 22:00-07:00",
            visit=visit,
        )
        return make_response(shown)


def _is_of(name: str, subscriber: Subscriber, visit: SignIn) -> bool:
    return not subscriber.channel and name.casefold() == visit.login.casefold()


def _facts(site: Site, visit: SignIn, mine: Subscriber) -> Iterator[tuple[str, str]]:
    """Yield the settings as pairs of a name and a value. Raises BusyError."""
    yield "about", ", ".join(mine.kinds) + (" of runs that you started" if mine.mine else "")
    yield "boards", _boards(site, visit, mine) or "all"
    quiet = mine.quiet_from != mine.quiet_until
    hours = f"{mine.quiet_from:%H:%M} to {mine.quiet_until:%H:%M}, {mine.time_zone}"
    yield "quiet hours", hours if quiet else "none"
    yield "sent", f"every {mine.digest_minutes} min, together" if mine.digest_minutes else "at once"
    now = site.clock()
    if (due := due_at(mine, now)) > now:
        yield "the next comes at", f"{due:%d %b, %H:%M} UTC"
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


def _escalated(known: Mapping[str, Subscriber], visit: SignIn) -> Iterator[str]:
    """Yield whose unanswered questions come to the visitor."""
    for name, it in known.items():
        if it.escalate_to.casefold() == visit.login.casefold():
            yield f"Questions to {plain(name)} that nobody answers in {it.escalate_hours} h come to you, too."
