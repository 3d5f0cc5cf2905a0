"""The door of acting: a form of a page becomes the command of its name, once."""

import logging
from threading import BoundedSemaphore
from urllib.parse import quote

from flask import Response, make_response, redirect, request

from bot.github.errors import GithubError
from bot.sync.card import CardBusyError
from bot.web.acting import form, offered, on_github, record
from bot.web.acting.form import ActForm, UnfitFormError
from bot.web.acting.on_github import RefusedActError
from bot.web.acting.record import MistypedCommandError, SentCommand
from bot.web.authorization import RequestLimiter
from bot.web.pages import changes
from bot.web.pages.sign_in import own_path
from bot.web.site.layout import Site
from bot.web.site.parameters import ACTED
from ledger.queue.acted_requests import ReusedKeyError
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.states import Door
from rules.text import plain

log = logging.getLogger(__name__)

# A thread may wait for GitHub here, and there are few; each form is a call or more.
ACTS_AT_ONCE, ACTS_A_MINUTE, ACTS_AN_HOUR = 3, 20, 600
BEFORE, GITHUB = "before", "github"  # in place of an event's number; the latter with the card
TWICE = "You already sent this form. It took effect once, not twice."
NOT_YOURS = "This form belongs to another sign-in or another card. Reload the page and try again."
OVER = "Nothing was done: your sign-in has expired. Sign in, then send the form again."
ASK = "Ask someone who has the right, or sign in with an account that does."
SAVED = "Done on GitHub. This page shows it in a moment."
AT_GITHUB = "GitHub refused: {because}. Reload the card and try again, or do it on GitHub."
NO_ANSWER = "GitHub did not answer. Look there before you repeat it: it may have been done."
LATER = "Nothing was done: {because}. Go back and send the form again in a minute."


def mount(site: Site) -> None:
    """Mount the door, the forms' template, and the sentence about a form's outcome."""
    pace = RequestLimiter(site.clock, each=ACTS_A_MINUTE, of_all=ACTS_AN_HOUR)
    room = BoundedSemaphore(ACTS_AT_ONCE)
    site.blueprint.register_blueprint(offered.templates())

    @site.blueprint.post(form.PATH)
    def act() -> Response:
        return _receive(site, pace, room)

    @site.blueprint.post("/runs/<run>/remarks")
    def remark(run: str) -> Response:
        return _receive(site, pace, room, run)

    @site.blueprint.context_processor
    def acted() -> dict[str, str]:
        seq, visit = request.args.get(ACTED, ""), None
        if seq == BEFORE or seq.partition(":")[0] == GITHUB:
            return {"acted": TWICE if seq == BEFORE else SAVED}
        if seq.isascii() and seq.isdigit() and len(seq) < 18:
            visit = site.visit()
        outcome = record.outcome(site.services, visit, int(seq), Door.PAGE) if visit else None
        return {"acted": outcome.text.replace("`", "") if outcome else ""}


def _receive(site: Site, pace: RequestLimiter, room: BoundedSemaphore, run: str = "") -> Response:
    """Carry out a form; one about a `run` is a remark on a line of its diff, which is words to its agent."""
    visit = site.visit()
    if not site.is_from_here():
        return site.foreign(visit)
    if visit is None:
        return site.page("Sign in", OVER, status=401, sign_in="/")
    try:
        sent = form.read(request, *(changes.PLACE if run else ()))
    except UnfitFormError as error:
        return site.page("Nothing was done", f"{error}.", status=error.status, visit=visit)
    if not form.fits_form(site.config.client_secret, site.word(), sent):
        return site.page("Nothing was done", NOT_YOURS, status=403, visit=visit)
    if not pace.take(visit.user_id) or not room.acquire(blocking=False):
        return try_later(site, "Cardinal is busy")
    try:
        return _act(site, visit, changes.words_at_place(site, visit, run, sent) if run else sent)
    except UnfitFormError as error:
        ways = [(own_path(sent.back), "Back", "to the page with the form")]
        return site.page("Nothing was done", f"{error}.", status=error.status, visit=visit, links=ways)
    finally:
        room.release()


def _act(site: Site, visit: SignIn, sent: ActForm) -> Response:
    about = record.readable_card(site.services, sent.card_id, sent.name)
    if about is None:
        return site.nothing(visit)
    if on_github.is_act(sent.name):
        return _act_on_github(site, visit, about[1], sent)
    try:
        command = SentCommand.of_form(sent, visit)
        seq, first = record.record_command(*about, visit, command)
    except ReusedKeyError:  # with other words now
        seq, first = 0, False
    except MistypedCommandError as error:  # no role would help
        ways = [(own_path(sent.back), "Back", "to the page with the form")]
        return site.page("Nothing was done", str(error), status=400, visit=visit, links=ways)
    except CardBusyError:
        return try_later(site, "Cardinal is reading the card right now")
    except GithubError:
        return try_later(site, "GitHub did not say what you may do")
    back = own_path(sent.back)
    outcome = record.outcome(site.services, visit, seq, Door.PAGE) if first else None
    if outcome is not None and outcome.refused:
        because = outcome.text.replace("`", "")
        ways = [(back, "Back", "to the page with the form")]
        return site.page("You may not do that", because, ASK, status=403, visit=visit, links=ways)
    return _go_back(back, str(seq) if first else BEFORE)


def _act_on_github(site: Site, visit: SignIn, card: CardRow, sent: ActForm) -> Response:
    back = own_path(sent.back)
    number = (card.pull_number if sent.name.split(":")[1] in on_github.REVIEWS else None) or card.number
    there = f"{site.config.git_url}/{card.repository}/issues/{number}"
    ways = [(back, "Back", "to the page with the form"), (there, "GitHub", "where you can do the same")]
    try:
        first = on_github.send_act(site, visit, card, sent)
    except RefusedActError as error:
        lines = (f"{error.because}.",)
        return site.page("Nothing was done", *lines, status=error.status, visit=visit, links=ways)
    except GithubError as error:
        log.warning("not done on github act=%s reason=%s", sent.name, error)
        because = AT_GITHUB.format(because=plain(error.because, 300)) if error.status else NO_ANSWER
        return site.page("Not done on GitHub", because, status=502, visit=visit, links=ways)
    answer = _go_back(back, f"{GITHUB}:{quote(card.card_id)}" if first else BEFORE)
    on_github.keep_leave(site, visit, answer)
    return answer


def _go_back(back: str, acted: str) -> Response:
    return make_response(redirect(f"{back}{'&' if '?' in back else '?'}{ACTED}={acted}", 303))


def try_later(site: Site, because: str) -> Response:
    """Return the page of a form that can be sent again in a minute."""
    answer = site.page("Try again", LATER.format(because=because), status=503)
    answer.headers["Retry-After"] = "60"
    return answer
