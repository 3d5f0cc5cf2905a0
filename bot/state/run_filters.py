"""Filters of run lists, as people write them in an address or a command, read against the runs that they may
see.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from bot.state.card_filters import MAX_CHARS, FilterError, spellings
from ledger.ids import CardId
from ledger.queries.run_list import RunChoices, RunFilter
from ledger.states import RunStatus
from rules.text import alternatives, plain, state_word

NAMES = ("repository", "person", "agent", "reason")
FIELDS = ("status", *NAMES, "days")
MAX_DAYS = 3650


def read(
    given: Mapping[str, str | None], run_choices: RunChoices, now: datetime, card_id: CardId | None = None
) -> RunFilter:
    """Return the filter of these texts by the names in FIELDS; an empty one asks for nothing.

    Raises FilterError.
    """
    texts = {field: (given.get(field) or "").strip() for field in FIELDS}
    for field, text in texts.items():
        if len(text) > MAX_CHARS:
            raise FilterError(field, f"a {field} may have up to {MAX_CHARS} characters: shorten it")
    return RunFilter(
        status=_status(texts["status"]) if texts["status"] else None,
        repositories=spellings("repository", texts["repository"], run_choices.repositories, listed="run"),
        people=spellings("person", texts["person"], run_choices.people, listed="run"),
        agents=spellings("agent", texts["agent"], run_choices.agents, listed="run"),
        reasons=spellings("reason", texts["reason"].replace(" ", "_"), run_choices.reasons, listed="run"),
        since=now - _days(texts["days"]) if texts["days"] else None,
        card_id=card_id,
    )


def _status(text: str) -> RunStatus:
    named = text.casefold().replace(" ", "_").replace("-", "_")
    if named in tuple(RunStatus):
        return RunStatus(named)
    words = alternatives(map(state_word, RunStatus))
    raise FilterError("status", f"no run has the status “{plain(text)}”: choose {words}")


def _days(text: str) -> timedelta:
    days = int(text) if text.isascii() and text.isdecimal() and len(text) < 5 else 0
    if not 0 < days <= MAX_DAYS:
        raise FilterError("days", f"days must be a number from 1 to {MAX_DAYS}: correct it, or leave it out")
    return timedelta(days=days)
