"""What the frame of each page asks for: the counts beside its links, and what the palette finds."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from urllib.parse import unquote

from flask import Response, get_template_attribute, jsonify, request

from bot.web.acting import offered
from bot.web.acting.offered import FormView
from bot.web.site import parameters
from bot.web.site.layout import Site
from bot.web.site.visibility import VisibleBoard, find_visible_card, path_of, run_visible
from ledger.log import event_store
from ledger.queries import lanes
from ledger.queries.card_filter import CardFilter
from ledger.queue.sign_ins import SignIn
from rules.text import plain, state_word

MAX_BOARDS = 50
MAX_WORDS, MAX_CHARS = 8, 100
MAX_CARDS, MAX_NAMED = 8, 60
NUMBER = re.compile(r"[1-9][0-9]{0,8}")
Found = dict[str, object]


def mount(site: Site) -> None:
    """Mount both addresses."""

    @site.get("/nav.json")
    def counts(visit: SignIn) -> Response:
        """Answer with how many cards wait for a person, in all and by board."""
        parameters.check_names()
        boards = site.boards_of(visit)
        with event_store.reading(site.engine) as db:
            waiting = {board: lanes.count_waiting_cards(db, [board.scope]) for board in boards}
        listed = [{"path": it.path, "name": _title(it), "waiting": waiting[it]} for it in boards[:MAX_BOARDS]]
        return jsonify(waiting=sum(waiting.values()), boards=listed)

    @site.get("/find.json")
    def find(visit: SignIn) -> Response:
        """Answer with what has all the words of `q`, and the commands for what the page `at` is about."""
        parameters.check_names("q", "at")
        words = tuple(request.args.get("q", "")[:MAX_CHARS].split()[:MAX_WORDS])
        offers, back = _offers_at(site, visit, request.args.get("at", ""))
        commands, forms = _commands(offers, back)
        named = [it for it in chain(commands, _pages(site, visit)) if _has(it, words)]
        work = _work(site, visit, words) if words else ()
        return jsonify(found=[*named[:MAX_NAMED], *work], forms=forms)


def _title(board: VisibleBoard) -> str:
    return plain(board.title) or f"{board.owner}/{board.number}"


def _has(it: Found, words: tuple[str, ...]) -> bool:
    text = f"{it['name']} {it['note']}".casefold()
    return all(word.casefold() in text for word in words)


def _pages(site: Site, visit: SignIn) -> Iterator[Found]:
    for path, icon, name in site.nav(visit):
        yield {"icon": icon, "name": name, "note": "page", "path": path}
    for board in site.boards_of(visit)[:MAX_BOARDS]:
        name = _title(board)
        note = f"board {board.owner}/{board.number}"
        yield {"icon": "kanban", "name": name, "note": note, "path": board.path}
        if site.readers.wrote(visit, board.seen):
            yield {"icon": "plus", "name": "New card", "note": f"on {name}", "path": f"{board.path}/new"}
        if board.home:
            path = board.path.replace("/boards/", "/policy/", 1)
            yield {"icon": "settings", "name": "Policy", "note": f"of {name}", "path": path}


def _work(site: Site, visit: SignIn, words: tuple[str, ...]) -> Iterator[Found]:
    """Yield the run that is named, then cards with all the words and their newest runs."""
    visible = run_visible(site, visit, words[0]) if len(words) == 1 else None
    if visible is not None:
        run, card = visible
        note = f"{state_word(run.status)} · {plain(card.title)}"
        yield {"icon": "play", "name": f"Run {run.run_id}", "note": note, "path": f"/runs/{run.run_id}"}
    scopes = [board.scope for board in site.boards_of(visit)]
    with event_store.reading(site.engine) as db:
        listed = lanes.newest(db, scopes, CardFilter(words=words), limit=MAX_CARDS)
    for it in listed:
        path = path_of(it.repository, it.number, it.card_id)
        if path:
            note = f"{it.repository}#{it.number} · {state_word(it.state) or plain(it.column or '')}"
            yield {"icon": "file-text", "name": plain(it.title), "note": note, "path": path}
        if it.run_id:
            yield {
                "icon": "play",
                "name": f"Run {it.run_id}",
                "note": plain(it.title),
                "path": f"/runs/{it.run_id}",
            }


def _offers_at(site: Site, visit: SignIn, path: str) -> tuple[Sequence[FormView], str]:
    """Return what the visitor may do with the card or board of that page, and where it leads back to.

    Raises BusyError.
    """
    kind, *parts = map(unquote, path.removeprefix("/").split("/"))
    card = None
    match kind, parts:
        case "boards", [owner, number] if NUMBER.fullmatch(number):
            board = site.find_board(visit, owner, int(number))
            return _offers_of_board(site, visit, board) if board else ((), "")
        case "cards", [owner, name, number, *card_id] if NUMBER.fullmatch(number) and len(card_id) < 2:
            card = find_visible_card(site, visit, f"{owner}/{name}", int(number), *card_id)
        case "runs", [run, *_]:
            card = visible[1] if (visible := run_visible(site, visit, run)) else None
    if card is None:
        return (), ""
    forms = offered.for_card(site, visit, card.card_id, every=True)
    return forms, path_of(card.repository, card.number, card.card_id)


def _offers_of_board(site: Site, visit: SignIn, board: VisibleBoard) -> tuple[Sequence[FormView], str]:
    with event_store.reading(site.engine) as db:
        listed = lanes.newest(db, [board.scope], limit=MAX_CARDS)
    return offered.for_board(site, visit, board, listed), board.path


def _commands(offers: Iterable[FormView], back: str) -> tuple[list[Found], list[str]]:
    """Return each command that the visitor may give there now, and the forms that give them."""
    html = get_template_attribute("forms.html", "act_forms")
    found, forms = list[Found](), list[str]()
    for form in offers:
        offer, shared = form.offer, {"icon": "command", "form": len(forms)}
        if offer.name:
            found.append({**shared, "name": offer.label, "note": plain(offer.hint)})
        else:  # one form of many commands
            found += [
                {**shared, "name": name, "note": plain(words.partition(": ")[2]), "choice": name}
                for name, words in offer.choices
            ]
        forms.append(html((form,), back))
    return found, forms
