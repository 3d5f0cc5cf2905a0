"""Notices outside GitHub: their text, their readers, and when. Pure; `bot/outbox/notices.py` queues them."""

from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pydantic import Field

from ledger.event import Event
from ledger.events.board import BoardHalted, CardStateChanged, StopOrdered
from ledger.events.run import QuestionAsked, RunStepped, UsageMetered
from ledger.model.policy_settings import PolicyModel
from ledger.model.spend_limits import Limit
from ledger.states import CardState, RunState
from rules.intents.outbound import NoticeKind
from rules.policy.model import Policy
from rules.policy.repository import TimeZone
from rules.text import plain

STEPS_PERCENT = (100, 80, 50)
MIDNIGHT = time()
DIGEST_MINUTES = 60  # of who says nothing else
FOR_REVIEW = (CardState.IN_REVIEW, CardState.WORK_COMPLETE)
_DEFUSED = str.maketrans({"@": "@\u200b", **{char: " " for char in "<>[]*_`~|\\"}})


class QuietHours(NamedTuple):
    """Nothing is sent from `begin` until `end`, by the clock of `time_zone`; equal times: no quiet."""

    begin: time
    end: time
    time_zone: str

    def after(self, moment: datetime) -> datetime:
        """Return the moment, or the end of the quiet hours that it is in."""
        local = moment.astimezone(ZoneInfo(self.time_zone))
        clock, over_night = local.time(), self.begin > self.end
        quiet = clock >= self.begin or clock < self.end if over_night else self.begin <= clock < self.end
        day = local.date() + timedelta(days=int(clock >= self.end))
        return datetime.combine(day, self.end, local.tzinfo) if quiet else moment


class NoticeChoice(PolicyModel):
    """A person's choice of notices: these kinds and no others, and how long those that are not loud wait."""

    kinds: tuple[NoticeKind, ...]
    digest_minutes: int = Field(ge=0, le=1440)
    quiet_from: time
    quiet_until: time
    time_zone: TimeZone


class Subscriber(PolicyModel):
    """A person, by their GitHub login, or a channel, by any name, and its kinds of notices.

    `address` is a secret. Nothing is sent from `quiet_from` until `quiet_until`, by the clock of `time_zone`;
    equal times: no quiet. Notices that are not loud wait for the next multiple of `digest_minutes` of the
    day; 0: none does.
    `mine`: only about runs that this person started. A question that nobody answers within `escalate_hours`
    goes to the subscriber `escalate_to` as well.
    """

    address: str = Field(min_length=1, max_length=2000, repr=False)
    channel: bool = False
    kinds: tuple[NoticeKind, ...] = tuple(NoticeKind)
    boards: tuple[str, ...] = ()
    mine: bool = False
    time_zone: TimeZone = "UTC"
    quiet_from: time = MIDNIGHT
    quiet_until: time = MIDNIGHT
    digest_minutes: int = Field(default=DIGEST_MINUTES, ge=0, le=1440)
    escalate_to: str = ""
    escalate_hours: int = Field(default=4, ge=1, le=168)

    @property
    def quiet(self) -> tuple[QuietHours, ...]:
        return (QuietHours(self.quiet_from, self.quiet_until, self.time_zone),)

    def wants(self, kind: NoticeKind, board: str, name: str, starter: str) -> bool:
        """Tell whether it gets a notice of that kind about a run of `starter`; `name` is its own."""
        here = not self.boards or board.casefold() in {known.casefold() for known in self.boards}
        return kind in self.kinds and here and (not self.mine or starter.casefold() == name.casefold())


class NarrowedSubscriber(Subscriber):
    """A subscriber who gets less than the operator said, by their own choice."""

    own_quiet: QuietHours

    @property
    def quiet(self) -> tuple[QuietHours, ...]:
        """The operator's hours, and their own."""
        return (*super().quiet, self.own_quiet)


def narrow_subscriber(subscriber: Subscriber, choice: NoticeChoice) -> NarrowedSubscriber:
    """Return the subscriber with their choice, which never adds to the operator's."""
    return NarrowedSubscriber(
        **{
            **subscriber.model_dump(),
            "kinds": tuple(kind for kind in subscriber.kinds if kind in choice.kinds),
            "digest_minutes": max(subscriber.digest_minutes, choice.digest_minutes),
            "own_quiet": QuietHours(choice.quiet_from, choice.quiet_until, choice.time_zone),
        }
    )


def notice_kind(event: Event) -> NoticeKind | None:
    """Return the kind of a notice about the event; None: it is no news for anybody outside."""
    match event:
        case QuestionAsked():
            return NoticeKind.QUESTION
        case RunStepped(after=RunState.AWAITING_APPROVAL):
            return NoticeKind.APPROVAL
        case CardStateChanged(after=CardState.FAILED):
            return NoticeKind.FAILURE
        case CardStateChanged(after=after) if after in FOR_REVIEW:
            return NoticeKind.REVIEW
        case BoardHalted() | StopOrdered(because=""):  # a card that somebody blocks is shown on the board
            return NoticeKind.STOPPED
        case UsageMetered():
            return NoticeKind.SPEND
        case _:
            return None


def due_at(subscriber: Subscriber, kind: NoticeKind, now: datetime) -> datetime:
    """Return when a notice may be sent: at once if it is loud, else at the digest's next time; and never in
    quiet hours.
    """
    local = now.astimezone(ZoneInfo(subscriber.time_zone))
    if subscriber.digest_minutes and not kind.is_loud:
        midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
        span = timedelta(minutes=subscriber.digest_minutes)
        local = min(midnight + ((local - midnight) // span + 1) * span, midnight + timedelta(days=1))
    for hours in 2 * subscriber.quiet:  # those of two can follow each other; where they fill a day it ends
        local = hours.after(local)
    return now if local <= now else local.astimezone(now.tzinfo)


def alerts(
    policy: Policy, spent: Mapping[tuple[Limit, str], float], column: str, person: str, card_id: str
) -> Iterator[tuple[str, str]]:
    """Yield a key and a sentence for each limit of a run's that is used to 50, 80 or 100 per cent."""
    limits, of_column = policy.limits, policy.column(column)
    bounds = (
        (Limit.DAY, "", limits.usd_per_day, "today's budget of the board"),
        (Limit.BOARD, "", limits.usd_total, "the board's total budget"),
        (Limit.CARD, card_id, limits.usd_per_card, "a card's budget"),
        (Limit.COLUMN, column, of_column.usd_per_day if of_column else None, f"today's budget of {column}"),
        (Limit.PERSON, person, limits.usd_per_person if person else None, f"today's budget of {person}"),
    )
    for limit, name, limit_usd, words in bounds:
        used = spent.get((limit, name), 0.0)
        step = next((it for it in STEPS_PERCENT if limit_usd and used >= limit_usd * it / 100), 0)
        if step and limit_usd:
            yield f"{limit}:{name}:{step}", f"{step} % of {words} is spent: ${used:.2f} of ${limit_usd:.2f}"


def defuse(text: str) -> str:
    """Return outside text as one short line that mentions nobody and formats nothing, in any chat or mail."""
    return " ".join(plain(text, 120).translate(_DEFUSED).split())
