"""Sentences about the hold of a card: a stop, a loss of access, a halt of its board."""

from collections.abc import Sequence

from ledger.ids import CardId
from ledger.rows.halts import HaltRow
from ledger.rows.losses import LossRow
from ledger.rows.stops import StopRow
from rules.card.trigger import time_stamp
from rules.snapshot import is_blocking, say_loss
from rules.text import plain

LIFTS = {"board": "/cardinal resume board", "column": "/cardinal resume column", "card": "/cardinal resume"}


def describe_stop(stops: Sequence[StopRow], card_id: CardId, column: str | None) -> str:
    """Return the sentence about the widest stop that holds the card, or an empty string."""
    for scope, target in (("board", None), ("column", column), ("card", card_id)):
        for stop in stops:
            if stop.scope == scope and target in (None, stop.target):
                done, lift = stop_words(scope, stop.by, stop.because, claims=stop.claims)
                return f"the {scope} is {done}: {lift} resumes it"
    return ""


def stop_words(scope: str, by: str, because: str, *, claims: bool) -> tuple[str, str]:
    """Return the stop of the scope with its author, and the command that lets it go on."""
    if claims:
        return f"claimed by {plain(by, 40)}", "/cardinal unblock"
    if because:
        return f"blocked by {plain(by, 40)} ({plain(because, 200)})", "/cardinal unblock"
    return f"stopped by {plain(by, 40)}", LIFTS[scope]


def identify_stop(stop: StopRow) -> str:
    """Return the mark that tells the stop from an earlier one: when it was thrown."""
    return time_stamp(stop.at)


def describe_block(stops: Sequence[StopRow], card_id: CardId) -> str:
    """Return the sentence about who blocked the card itself, and why; or an empty string."""
    return describe_stop([stop for stop in stops if stop.scope == "card" and stop.because], card_id, None)


def describe_loss(losses: Sequence[LossRow], repository: str) -> str:
    """Return the sentence about the loss of the repository, or an empty string."""
    near = (repository, repository.partition("/")[0])
    return next((say_loss(loss) for loss in losses if is_blocking(loss) and loss.target in near), "")


def describe_halt(halt: HaltRow) -> str:
    """Return the sentence about a halt, with who tries next and the way out."""
    tries = f"{halt.probe} tries" if halt.probe else f"one run tries at {halt.until:%H:%M} UTC"
    return f"the board is halted: {plain(halt.because, 160)} ({tries}; {LIFTS['board']})"
