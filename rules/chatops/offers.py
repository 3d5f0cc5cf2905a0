"""The commands that a page offers a person for a card or a board as it is."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from ledger.parts import charter
from ledger.rows.limit_answers import Subject
from rules.chatops.parser import Parsed, Permitted, permit, refusal_to_answer
from rules.policy.model import Policy
from rules.registry import COMMANDS
from rules.snapshot import Snapshot

MAX_ASKED = 500  # characters of a question without its answers


class Urgency(IntEnum):
    """The order of offers: open questions, the run, its end, words to it, the card."""

    WAITED_FOR = 1
    RUN = 2
    END = 3
    WORDS = 4
    CARD = 5


@dataclass(frozen=True, slots=True)
class CommandOffer:
    """One command to give. `name` is `<command>` or `<command>:<subject>`, as in a source.

    It takes one of `choices` (its text, and the label for people), or words after `asks`, or nothing.
    `subject` is that of the question which it answers; `of_board` tells that it is about all cards.
    """

    name: str
    label: str
    hint: str
    urgency: Urgency
    asks: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    subject: Subject | None = None
    of_board: bool = False

    @property
    def command(self) -> str:
        return self.name.partition(":")[0]


def fitting(policy: Policy, snapshot: Snapshot) -> tuple[CommandOffer, ...]:
    """Return the commands that fit the card and its board now, whoever asks, the most urgent first."""
    if snapshot.is_draft or snapshot.only_shown:
        return ()
    parts = [COMMANDS.load("unarchive")] if snapshot.archived else [command for _, command in COMMANDS.all()]
    offers = (offer for command in parts if command.offers for offer in command.offers(policy, snapshot))
    return tuple(sorted(offers, key=lambda offer: offer.urgency))


def list_permitted(policy: Policy, snapshot: Snapshot, *, role: str, login: str) -> tuple[CommandOffer, ...]:
    """Return those that somebody with that role in the card's repository may give."""
    offers = fitting(policy, snapshot)
    return tuple(offer for offer in offers if _may(policy, offer, role=role, login=login))


def others(
    policy: Policy, snapshot: Snapshot, offered: Iterable[CommandOffer], *, role: str, login: str
) -> CommandOffer | None:
    """Return one offer, without a name, of all other commands that the person may give: choices by name."""
    if snapshot.archived or snapshot.is_draft or snapshot.only_shown:
        return None
    made = {offer.command for offer in offered if not offer.of_board}
    choices = tuple(
        (name, f"{command.USAGE.removeprefix('/cardinal ')}: {_first_clause(charter(command))}")
        for name, command in COMMANDS.all()
        if not (name in made and command.TAKES == "none")
        and isinstance(permit(policy, Parsed(name, ""), role=role, login=login), Permitted)
    )
    hint = "Text for the command, if it takes one"
    return CommandOffer("", "More commands", hint, Urgency.CARD, choices=choices) if choices else None


def _first_clause(text: str) -> str:
    """Return what a command does, without the details that its line in the help has: a page lists many."""
    return re.split("[:;]", text.replace("`", ""))[0]


def _may(policy: Policy, offer: CommandOffer, *, role: str, login: str) -> bool:
    if offer.subject is not None:
        return not refusal_to_answer(policy, offer.subject, role=role, login=login)
    words = offer.choices[0][0] if offer.choices else ""
    return isinstance(permit(policy, Parsed(offer.command, words), role=role, login=login), Permitted)
