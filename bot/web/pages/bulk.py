"""One command for many cards: what it would do to each, then, once confirmed, each card's own command."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import BoundedSemaphore

from flask import Response, make_response, render_template, request
from werkzeug.datastructures import MultiDict

from bot.github.api import roles
from bot.github.errors import GithubError
from bot.sync.card import CardBusyError
from bot.web.acting import form, offered, record
from bot.web.acting.form import ActForm
from bot.web.acting.record import CommandOutcome, MistypedCommandError, SentCommand
from bot.web.authorization import BusyError, RequestLimiter
from bot.web.pages.sign_in import own_path
from bot.web.site.layout import Site
from bot.web.site.visibility import may_see, path_of
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue.acted_requests import ReusedKeyError
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.states import Door
from ledger.views import cards
from rules.registry import COMMANDS as ALL_COMMANDS
from rules.text import count, plain, sentence

PATH, CONFIRMED = "/bulk", "/bulk/confirmed"
MAX_CARDS, MAX_BYTES, MAX_TEXT = 50, 128 * 1024, 200
PLANS_A_MINUTE, PLANS_AN_HOUR = 10, 300  # of one person, and of all
CARDS_A_MINUTE, CARDS_AN_HOUR = 60, 1200  # commands so given
# What can be done to many, with the words that each takes.
COMMANDS = {
    "retry": ("Retry", ""),
    "cancel": ("Cancel the run", ""),
    "pause": ("Pause the run", ""),
    "move": ("Move to", "Column, such as Planning"),
    "label": ("Add labels", "Labels, such as bug, area:api"),
    "budget": ("Add dollars to the run", "Dollars, such as +2"),
    "clean": ("Clean up the workspace", ""),
    "block": ("Block", "Reason, such as waiting for the contract"),
}
NOT_NOW = "Skipped: not possible right now, or you do not have the right."
NONE = "Select at least one card and an action."
TOO_MANY = f"At most {MAX_CARDS} cards at a time: select fewer."
BUSY = "Nothing was done: GitHub or the card is busy. Try again in a minute."
LATER = "Nothing was done: too many such requests. Try again in a minute."


@dataclass(frozen=True, slots=True)
class Planned:
    """What would happen to one card; `name` is empty where nothing would."""

    card_id: CardId
    label: str
    path: str
    title: str
    what: str
    name: str = ""
    token: str = ""


def mount(site: Site) -> None:
    """Mount the two steps, and the commands for the pages that offer them."""
    plans = RequestLimiter(site.clock, each=PLANS_A_MINUTE, of_all=PLANS_AN_HOUR)
    pace = RequestLimiter(site.clock, each=CARDS_A_MINUTE, of_all=CARDS_AN_HOUR)
    room = BoundedSemaphore(1)  # a request holds a thread for long
    site.blueprint.app_context_processor(lambda: {"bulk_commands": COMMANDS})

    @site.blueprint.post(PATH)
    def plan() -> Response:
        visit = site.sender(MAX_BYTES)
        if isinstance(visit, Response):
            return visit
        command, text = request.form.get("command", ""), request.form.get("text", "").strip()[:MAX_TEXT]
        wanted = tuple(dict.fromkeys(map(CardId, request.form.getlist("card"))))
        back = own_path(request.form.get("back", "/"))
        problem = _find_problem(command, text, wanted)
        if problem:
            ways = [(back, "Back", "to the list")]
            return site.page("Nothing was done", problem, status=400, visit=visit, links=ways)
        if not plans.take(visit.user_id):
            return site.page("Try again", LATER, status=503, visit=visit)
        planned = [_plan(site, visit, card_id, command, text) for card_id in wanted]
        shown = [it for it in planned if it is not None]
        able = sum(bool(it.name) for it in shown)
        page = render_template(
            "bulk.html",
            title=f"{COMMANDS[command][0]}{f' {text}' if text else ''}?",
            visit=visit,
            planned=shown,
            text=text,
            back=back,
            button=f"{COMMANDS[command][0]}: {count(able, 'card')}" if able else "",
        )
        return make_response(page)

    @site.blueprint.post(CONFIRMED)
    def confirmed() -> Response:
        visit = site.sender(MAX_BYTES)
        if isinstance(visit, Response):
            return visit
        back = own_path(request.form.get("back", "/"))
        forms, secret = list(_forms(request.form, back)), site.config.client_secret
        fits = all(_is_for_many(it) and form.fits_form(secret, site.word(), it) for it in forms)
        if not 0 < len(forms) <= MAX_CARDS or not fits:
            return site.page(
                "Nothing was done", f"{NONE} Reload the page and try again.", status=400, visit=visit
            )
        if not room.acquire(blocking=False):
            return site.page("Try again", LATER, status=503, visit=visit)
        try:
            done = list(_carry_out(site, visit, forms, pace))
        finally:
            room.release()
        page = render_template("bulk.html", title="Results", visit=visit, done=done, back=back)
        return make_response(page)


def _carry_out(
    site: Site, visit: SignIn, forms: Sequence[ActForm], pace: RequestLimiter
) -> Iterator[tuple[tuple[str, str], CommandOutcome]]:
    """Give each command, as many as are allowed a minute; yield its card and what became of it."""
    now_roles: dict[str, str] = {}
    for sent in forms:
        if pace.take(visit.user_id):
            yield _label(site, visit, sent.card_id), _give(site, visit, sent, now_roles)
        else:
            yield ("a card", ""), CommandOutcome(LATER, refused=True)


def _find_problem(command: str, text: str, wanted: Sequence[CardId]) -> str:
    """Return why the request cannot be planned; empty where it can."""
    if not wanted or command not in COMMANDS:
        return NONE
    if len(wanted) > MAX_CARDS:
        return TOO_MANY
    asks = COMMANDS[command][1]
    return f"Fill in the text field: {asks}." if asks and not text else ""


def _is_for_many(sent: ActForm) -> bool:
    return sent.name.partition(":")[0] in COMMANDS


def _visible(site: Site, visit: SignIn, card_id: CardId) -> CardRow | None:
    with event_store.reading(site.engine) as db:
        card = cards.get(db, card_id)
    return card if card is not None and may_see(site, visit, card) else None


def _plan(site: Site, visit: SignIn, card_id: CardId, command: str, text: str) -> Planned | None:
    """Return what would happen to the card; None for one that the visitor may not see. Raises BusyError."""
    card = _visible(site, visit, card_id)
    if card is None:
        return None
    about = (card_id, f"{card.repository}#{card.number}", path_of(card.repository, card.number, card_id))
    formless = ALL_COMMANDS.load(command).offers is None
    for it in offered.for_card(site, visit, card_id, every=formless):
        more = dict(it.offer.choices).get(command, "")
        if formless and not it.offer.name and more:
            what = sentence(more.partition(": ")[2])
            own = offered.form_view(site, card_id, replace(it.offer, name=command))
            return Planned(*about, plain(card.title, 120), what, command, own.token)
        if it.offer.command == command and (command != "move" or text in dict(it.offer.choices)):
            what = f"Move to {text}." if command == "move" else sentence(it.offer.hint)
            return Planned(*about, plain(card.title, 120), what, it.offer.name, it.token)
    return Planned(*about, plain(card.title, 120), f"{NOT_NOW} {sentence(plain(card.because, 200))}".strip())


def _label(site: Site, visit: SignIn, card_id: CardId) -> tuple[str, str]:
    try:
        card = _visible(site, visit, card_id)
    except BusyError:
        card = None
    if card is None:
        return "a card", ""
    return f"{card.repository}#{card.number}", path_of(card.repository, card.number, card_id)


def _forms(sent: MultiDict[str, str], back: str) -> Iterator[ActForm]:
    """Return each card's form: three fields of equal length, and the text that all share."""
    fields: Sequence[list[str]] = [sent.getlist(name) for name in ("card", "name", "token")]
    text = sent.get("text", "")[:MAX_TEXT]
    if len({len(values) for values in fields}) == 1:
        for card_id, name, token in zip(*fields, strict=True):
            yield ActForm(CardId(card_id), name, text, back, token)


def _give(site: Site, visit: SignIn, sent: ActForm, now_roles: dict[str, str]) -> CommandOutcome:
    """Record one card's command once; return what became of it. GitHub says each role of `now_roles` once."""
    about = record.readable_card(site.services, sent.card_id, sent.name.partition(":")[0])
    try:
        if about is None or not may_see(site, visit, about[1]):
            return CommandOutcome("This card no longer exists.", refused=True)
    except BusyError:
        return CommandOutcome(BUSY, refused=True)
    command = SentCommand.of_form(sent, visit)
    try:
        repository = about[1].repository or ""
        if repository not in now_roles:
            now_roles[repository] = roles.role_of_account(
                about[0].hub, repository, visit.login, visit.user_id
            )
        seq, _ = record.record_command(*about, visit, command, role=now_roles[repository])
    except ReusedKeyError:
        return CommandOutcome("You already sent this. It took effect once.", refused=False)
    except MistypedCommandError as error:
        return CommandOutcome(str(error), refused=True)
    except (CardBusyError, GithubError):
        return CommandOutcome(BUSY, refused=True)
    return record.outcome(site.services, visit, seq, Door.PAGE) or CommandOutcome("Recorded.", refused=False)
