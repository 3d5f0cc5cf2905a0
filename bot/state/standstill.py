"""Standstills, for operators: their words and their ways out, as Health and `cardinal doctor` have them."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from bot.system import program
from ledger.queries.standstill import Standstill, StandstillKind, StandstillSort
from rules.text import brief, plain, state_word

MAX_BECAUSE = 300
REPLAY = "`cardinal replay` lists them; `cardinal replay DELIVERY` retries one, `--all` all of them"
_WAYS_OUT: Mapping[StandstillKind, str] = {
    StandstillKind.SHUT_OUT: "add the board again, or have its owner admit the App; it is done then",
    StandstillKind.UNDONE: "check the workers' log; it is retried automatically",
    StandstillKind.GIVEN_UP: "fix what it names, then retry it with `cardinal replay --acts KEY`",
    StandstillKind.NO_STEP: "check its page; /cardinal cancel ends it, then /cardinal retry continues",
    StandstillKind.UNANSWERED: "answer on its card, or end it with /cardinal cancel",
    StandstillKind.NO_WORKER: "start {workers}; its log says why one died",
    StandstillKind.UNDECIDED: "report it with the log; continue with /cardinal retry or a drag",
}


def way_out(kind: StandstillKind, home: Path) -> str:
    """Return the next step about a standstill in this home."""
    return _WAYS_OUT[kind].replace("{workers}", program.of_workers(home))


def subject_name(standstill: Standstill) -> str:
    """Return the name of its subject: an issue, a draft, or the board."""
    if not standstill.card_id:
        return "the board"
    name = (
        f"{standstill.repository}#{standstill.number}"
        if standstill.repository and standstill.number
        else "a draft"
    )
    return f"{name}, archived" if standstill.archived else name


def words(standstill: Standstill, now: datetime) -> str:
    """Return a standstill in one line: its subject, its duration, its reason."""
    since = brief(now - standstill.since)
    match standstill.kind:
        case StandstillKind.NO_STEP:
            what = f"{standstill.run_id} is {state_word(standstill.about)}, without progress for {since}"
        case StandstillKind.UNANSWERED:
            what = f"{standstill.run_id} has been waiting for an answer for {since}"
        case StandstillKind.NO_WORKER:
            what = f"{standstill.run_id} has been queued for {since}, and no worker takes runs"
        case StandstillKind.UNDECIDED:
            what = f"{standstill.about} was skipped {since} ago"
        case StandstillKind.GIVEN_UP:
            what = f"{_act(standstill)} was given up {since} ago"
        case _:
            what = f"{_act(standstill)} has been waiting for {since}"
    because = plain(standstill.because, MAX_BECAUSE)
    return f"{what}: {because}" if because else what


def count_left_out(sort: StandstillSort) -> str:
    """Return how many more things of that kind there are; empty if none."""
    more = sort.total - len(sort.oldest)
    return f"and {more} more: {sort.oldest[0].kind}" if more else ""


def _act(standstill: Standstill) -> str:
    return standstill.about.replace("_", " ")
