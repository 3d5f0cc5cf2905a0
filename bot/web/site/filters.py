"""The filter of a page with cards: a form whose address is all its state, and the pages of a long section."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from flask import request
from sqlalchemy import Connection

from bot.state import card_filters
from bot.state.card_filters import FIELDS, MAX_CHARS, FilterError
from bot.web.site import parameters
from ledger.queries.card_filter import MAX_LOOKED_AT, CardChoices, CardFilter, CardScope
from ledger.states import CardState
from rules.text import count, sentence

MAX_OFFERED = 100  # names that a field suggests; others can be typed
PAGE = 100  # cards on one page of a section that is shown alone
NONE = "No cards that you may see match."
NUMBER = re.compile(r"[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class FilterForm:
    """A page's filter as its address has it. `wanted` is None where it has a `problem`.

    `section` is the one shown alone, at its page `number`; None while all sections are shown. `key` is the
    parameter for it.
    """

    path: str
    key: str
    chosen: Mapping[str, str]
    states: tuple[tuple[str, str], ...]
    offered: Mapping[str, tuple[str, ...]]
    section: str | None = None
    number: int = 1
    wanted: CardFilter | None = None
    problem: str = ""

    @property
    def narrows(self) -> bool:
        """Whether any filter is given."""
        return any(self.chosen.values())

    @property
    def address(self) -> str:
        """The address of the shown list."""
        return self._at(self.section, self.number)

    def outcome(self, total: int) -> str:
        """Return the sentence about the filter and the count of cards that it leaves; empty without one."""
        if self.problem or not self.narrows:
            return self.problem
        return f"{count(total, 'card')} match{'' if total > 1 else 'es'}." if total else NONE

    def shows(self, section: str) -> bool:
        """Tell whether the section is shown."""
        return self.wanted is not None and self.section in (None, section)

    def window(self, few: int) -> tuple[int, int]:
        """Return how many cards of a section are shown, `few` beside others, and how many before are not."""
        return (few, 0) if self.section is None else (PAGE, (self.number - 1) * PAGE)

    def left_out(self, total: int, shown: int) -> str:
        """Return which of a section's cards are shown, or how many are not."""
        if self.section is None:
            return f"And {total - shown:,} more"
        first = (self.number - 1) * PAGE
        return f"Cards {first + 1:,} to {first + shown:,} of {total:,}" if shown else f"{total:,} in total"

    def ways(self, section: str, total: int, shown: int) -> tuple[tuple[str, str], ...]:
        """Return the addresses of the section's cards that are not shown, each with its words."""
        if self.section is None:
            return ((self._at(section, 1), f"all {total:,}"),) if total > shown else ()
        before, after = self.number > 1, self.number * PAGE < total
        return (
            *([(self._at(section, self.number - 1), "previous")] if before else []),
            *([(self._at(section, self.number + 1), "next")] if after else []),
            (self._at(None, 1), f"every {self.key}"),
        )

    def _at(self, section: str | None, number: int) -> str:
        query = {name: text for name, text in self.chosen.items() if text}
        query |= {} if section is None else {self.key: section}
        query |= {"page": str(number)} if number > 1 else {}
        return f"{self.path}?{urlencode(query)}" if query else self.path


def filter_form(
    db: Connection,
    path: str,
    scopes: Sequence[CardScope],
    *,
    states: Collection[CardState],
    key: str,
    sections: Collection[str],
    more: Collection[str] = (),
) -> FilterForm:
    """Return the filter in an address; `key` is the parameter that names one of `sections`.

    The page has the parameters `more`, too.
    """
    chosen = {field: request.args.get(field, "").strip()[:MAX_CHARS] for field in FIELDS}
    known = card_filters.choices_for(db, scopes, chosen, newest=MAX_LOOKED_AT)
    offered = {"repository": known.repositories, "person": known.people, "label": known.labels}
    offered["agent"] = known.agents
    form = FilterForm(
        path,
        key,
        chosen,
        tuple((state, card_filters.word_of(state)) for state in states),
        {
            field: tuple(name for name in names if len(name) <= MAX_CHARS)[:MAX_OFFERED]
            for field, names in offered.items()
        },
    )
    try:
        return _read(form, known, states, sections, more)
    except FilterError as error:
        return replace(form, problem=sentence(str(error)))


def _read(
    form: FilterForm,
    known: CardChoices,
    states: Collection[CardState],
    sections: Collection[str],
    more: Collection[str],
) -> FilterForm:
    names = (*FIELDS, form.key, *more, "page", "after")  # the last for the list's stream
    parameters.check_names(*names)
    section, number = request.args.get(form.key), request.args.get("page", "1")
    if section is not None and section not in sections:
        raise card_filters.unknown_word(form.key, section, sections)
    if not NUMBER.fullmatch(number):
        raise FilterError("page", "this list has no such page: start at the first")
    wanted = card_filters.read({field: request.args.get(field) for field in FIELDS}, known, states)
    return replace(form, section=section, number=int(number), wanted=wanted)
