"""Filters of card lists, as people write them in an address or a command, read against the cards that they
may see.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from sqlalchemy import Connection

from ledger.errors import CardinalError
from ledger.queries import card_filter
from ledger.queries.card_filter import CardChoices, CardFilter, CardScope
from ledger.states import CardState
from rules.text import alternatives, near, plain, state_word

NAMES = ("repository", "person", "label", "agent")
FIELDS = ("state", *NAMES, "search")
MAX_CHARS, MAX_WORDS = 200, 8
MAX_COMPARED = 500  # names among which a misspelt one is looked for


class FilterError(CardinalError):
    """A filter cannot be read, or asks for something that no card in sight has."""

    def __init__(self, field: str, because: str) -> None:
        self.field = field
        super().__init__(because)


def choices_for(
    db: Connection, scopes: Sequence[CardScope], given: Mapping[str, str], *, newest: int = 0
) -> CardChoices:
    """Return the names to read these texts by; where no text is one, those of each board's `newest` cards.

    They are of archived cards where their state is asked for.
    """
    named = any(given[field] for field in NAMES)
    if not named and not newest:
        return card_filter.NO_CHOICES
    archived = given["state"].casefold() == CardState.ARCHIVED
    return card_filter.choices(db, scopes, archived=archived, newest=None if named else newest)


def read(
    given: Mapping[str, str | None], choices: CardChoices, states: Collection[CardState] = tuple(CardState)
) -> CardFilter:
    """Return the filter of these texts by the names in FIELDS; an empty one asks for nothing.

    `states` are those that a card of the list can have. Raises FilterError.
    """
    texts = {field: (given.get(field) or "").strip() for field in FIELDS}
    for field, text in texts.items():
        if len(text) > MAX_CHARS:
            raise FilterError(field, f"a {field} may have up to {MAX_CHARS} characters: shorten it")
    words = tuple(texts["search"].split())
    if len(words) > MAX_WORDS:
        raise FilterError("search", f"a search may have up to {MAX_WORDS} words: remove some")
    return CardFilter(
        read_state(texts["state"], states) if texts["state"] else None,
        spellings("repository", texts["repository"], choices.repositories),
        spellings("person", texts["person"], choices.people),
        spellings("label", texts["label"], choices.labels),
        words,
        agents=spellings("agent", texts["agent"], choices.agents),
    )


def unknown_word(field: str, text: str, known: Collection[str], *, listed: str = "card") -> FilterError:
    """Return the error for a value that nothing `listed` has, with one that may have been meant."""
    meant = near(text, islice(known, MAX_COMPARED))
    hint = f"did you mean {plain(meant)}?" if meant else "correct it, or leave it out"
    return FilterError(field, f"no {listed} here has the {field} “{plain(text)}”: {hint}")


def word_of(state: CardState) -> str:
    return state_word(state) or "at rest"


def read_state(text: str, states: Collection[CardState] = tuple(CardState)) -> CardState:
    """Return the state of that name. Raises FilterError."""
    named = text.casefold().replace("_", " ").replace("-", " ")
    for state in states:
        if named in (word_of(state), state.replace("_", " ")):
            return state
    words = alternatives(map(word_of, states))
    raise FilterError("state", f"no card here can have the state “{plain(text)}”: choose {words}")


def spellings(field: str, text: str, known: Collection[str], *, listed: str = "card") -> tuple[str, ...]:
    """Return every known name that is the same but for case. Raises FilterError for none."""
    spelt = tuple(name for name in known if name.casefold() == text.casefold()) if text else ()
    if text and not spelt:
        raise unknown_word(field, text, known, listed=listed)
    return spelt
