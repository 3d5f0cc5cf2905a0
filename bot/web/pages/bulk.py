"""One command for many cards: what it would do to each, then, once confirmed, each card's own command."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from flask import Response, make_response, render_template, request
from werkzeug.datastructures import MultiDict

from bot.github.errors import GithubError
from bot.sync.card import CardBusyError
from bot.web.acting import form, offered, record
from bot.web.acting.form import ActForm
from bot.web.acting.record import CommandOutcome, MistypedCommandError, SentCommand
from bot.web.authorization import RequestLimiter
from bot.web.pages.sign_in import own_path
from bot.web.site.layout import Site
from bot.web.site.visibility import may_see, path_of
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue.acted_requests import ReusedKeyError
from ledger.queue.sign_ins import SignIn
from ledger.rows.cards import CardRow
from ledger.views import cards
from rules.chatops import parser
from rules.text import count, plain, sentence

PATH, CONFIRMED = "/bulk", "/bulk/confirmed"
MAX_CARDS, MAX_BYTES, MAX_TEXT = 50, 128 * 1024, 200
A_MINUTE, AN_HOUR = 6, 200  # such requests of one person, and of all
# What can be done to many, with the words that each takes.
COMMANDS = {
    "retry": ("Retry", ""),
    "cancel": ("Cancel the run", ""),
    "pause": ("Pause the run", ""),
    "move": ("Move to", "Column, such as Planning"),
    "budget": ("Add dollars to the run", "Dollars, such as +2"),
    "block": ("Block", "Why"),
}
NOT_NOW = "Not possible now, or you may not: it is left out."
NONE = "Select one card at least, and what to do with it."
TOO_MANY = f"At most {MAX_CARDS} cards at once: select fewer."
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
    pace = RequestLimiter(site.clock, each=A_MINUTE, of_all=AN_HOUR)
    site.blueprint.app_context_processor(lambda: {"bulk_commands": COMMANDS})

    @site.blueprint.post(PATH)
    def plan() -> Response:
        visit = site.sender(MAX_BYTES)
        if isinstance(visit, Response):
            return visit
        command, text = request.form.get("command", ""), request.form.get("text", "").strip()[:MAX_TEXT]
        wanted = tuple(dict.fromkeys(map(CardId, request.form.getlist("card"))))
        back = own_path(request.form.get("back", "/"))
        asks = COMMANDS.get(command, ("", ""))[1]
        problem = "" if wanted and command in COMMANDS else NONE
        if len(wanted) > MAX_CARDS:
            problem = TOO_MANY
        elif not problem and asks and not text:
            problem = f"Say what: {asks}."
        if problem:
            ways = [(back, "Back", "to the list")]
            return site.page("Nothing was done", problem, status=400, visit=visit, links=ways)
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
        if not pace.take(visit.user_id):
            return site.page("Try again", LATER, status=503, visit=visit)
        back = own_path(request.form.get("back", "/"))
        forms = list(_forms(request.form, back))
        fits = all(form.fits_form(site.config.client_secret, site.word(), it) for it in forms)
        if not 0 < len(forms) <= MAX_CARDS or not fits:
            return site.page(
                "Nothing was done", f"{NONE} Reload the page and try again.", status=400, visit=visit
            )
        done = [(_label(site, visit, it.card_id), _give(site, visit, it)) for it in forms]
        page = render_template("bulk.html", title="Done", visit=visit, done=done, back=back)
        return make_response(page)


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
    for it in offered.for_card(site, visit, card_id):
        if it.offer.command == command and (command != "move" or text in dict(it.offer.choices)):
            return Planned(*about, plain(card.title, 120), sentence(it.offer.hint), it.offer.name, it.token)
    return Planned(*about, plain(card.title, 120), f"{NOT_NOW} {sentence(plain(card.because, 200))}".strip())


def _label(site: Site, visit: SignIn, card_id: CardId) -> tuple[str, str]:
    card = _visible(site, visit, card_id)
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


def _give(site: Site, visit: SignIn, sent: ActForm) -> CommandOutcome:
    """Record one card's command once; return what became of it. Raises BusyError."""
    about = record.readable_card(site.services, sent.card_id, sent.name.partition(":")[0])
    if about is None or not may_see(site, visit, about[1]):
        return CommandOutcome("There is no such card any more.", refused=True)
    command = SentCommand(
        door=parser.PAGE,
        name=sent.name,
        text=sent.text,
        number=sent.number,
        key=sent.token,
        kept_until=visit.until,
    )
    try:
        role = site.readers.role(visit, about[1].repository or "")
        seq, _ = record.record_command(*about, visit, command, role=role)
    except ReusedKeyError:
        return CommandOutcome("You already sent this. It took effect once.", refused=False)
    except MistypedCommandError as error:
        return CommandOutcome(str(error), refused=True)
    except (CardBusyError, GithubError):
        return CommandOutcome(
            "Nothing was done: GitHub or the card is busy. Try again in a minute.", refused=True
        )
    return record.outcome(site.services, visit, seq, parser.PAGE) or CommandOutcome(
        "Recorded.", refused=False
    )
