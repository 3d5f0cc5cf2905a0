"""Forms for a card or a board: the acts of a reader by the role that GitHub last named."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from flask import Blueprint

from bot.state import policies, snapshots
from bot.web.acting import form
from bot.web.site.layout import Site
from bot.web.site.visibility import VisibleBoard
from ledger.events.board import CardArchived
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queries.lanes import ListedCard
from ledger.queue.sign_ins import SignIn
from rules.chatops import offers
from rules.chatops.offers import CommandOffer
from rules.snapshot import is_outside


@dataclass(frozen=True, slots=True)
class FormView:
    """One form of a page. `value` is in its field; with `optional` the field may be sent empty.

    `asks_leave` is the login of a person who has not yet let Cardinal act on GitHub in their name. `primary`:
    it has the page's one dark button.
    """

    card_id: CardId
    offer: CommandOffer
    token: str
    value: str = ""
    optional: bool = False
    asks_leave: str = ""
    primary: bool = False


def templates() -> Blueprint:
    """Return the blueprint by which pages find the template of the forms."""
    return Blueprint("acting", __name__, template_folder=".")


def for_card(site: Site, visit: SignIn, card_id: CardId, *, every: bool = False) -> tuple[FormView, ...]:
    """Return the forms for a card whose page the visitor may read; with `every`, one for all other commands.

    Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        snapshot = snapshots.of_card(db, card_id)
        if snapshot is None or snapshot.repository is None:
            return ()
        policy = policies.in_force(db, snapshot.board_id)
        left = event_store.newest_of(db, f"card:{card_id}", CardArchived, 1) if snapshot.archived else ()
    if any(event.reason != "archived" for _, event in left):
        return ()  # deleted for good, or hidden from Cardinal
    person = {"role": site.readers.role(visit, snapshot.repository), "login": visit.login}
    offered = [it for it in offers.list_permitted(policy, snapshot, **person) if not it.of_board]
    if every and (others := offers.others(policy, snapshot, offered, **person)):
        offered.append(others)
    return _forms(site, card_id, offered)


def for_board(
    site: Site, visit: SignIn, board: VisibleBoard, listed: Iterable[ListedCard]
) -> tuple[FormView, ...]:
    """Return the forms for a whole board. They are told on one of the listed cards, with a run if there is
    one, whose repository is the owner's and lets the visitor send them. Raises BusyError.
    """
    with event_store.reading(site.engine) as db:
        policy = policies.in_force(db, board.board_id)
    issues = [card for card in listed if card.number and not is_outside(card.repository or "", board.owner)]
    for card in {it.repository: it for it in sorted(issues, key=lambda it: it.run_id is not None)}.values():
        with event_store.reading(site.engine) as db:
            snapshot = snapshots.of_card(db, card.card_id)
        role = site.readers.role(visit, card.repository or "")
        permitted = offers.list_permitted(policy, snapshot, role=role, login=visit.login) if snapshot else ()
        where = f"a note is posted on {card.repository}#{card.number}"
        offered = [replace(it, hint=f"{it.hint}; {where}") for it in permitted if it.of_board]
        if offered:
            return _forms(site, card.card_id, offered)
    return ()


def _forms(site: Site, card_id: CardId, offered: Iterable[CommandOffer]) -> tuple[FormView, ...]:
    secret, word = site.config.client_secret, site.word()
    return tuple(
        FormView(card_id, offer, form.new_token(secret, word, card_id, offer.name)) for offer in offered
    )


def form_view(site: Site, card_id: CardId, offer: CommandOffer, **more: Any) -> FormView:
    """Return the form of one offer that the reader may use."""
    return replace(*_forms(site, card_id, [offer]), **more)
