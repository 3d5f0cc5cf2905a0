"""Notices come when people want them, about what they want, and in words that do nothing."""

from datetime import UTC, datetime, time, timedelta

import pytest

from ledger.events.board import CardStateChanged, StopOrdered
from ledger.events.run import RunStepped
from ledger.ids import BoardId, CardId, RunId
from ledger.model.spend_limits import Limit
from ledger.states import CardState, RunState
from rules.chatops.notices import (
    MIDNIGHT,
    NoticeChoice,
    QuietHours,
    Subscriber,
    alerts,
    defuse,
    due_at,
    narrow_subscriber,
    notice_kind,
)
from rules.intents.outbound import NoticeKind
from rules.policy.model import DEFAULT_TEXT, parse


def at(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 11, day, hour, minute, tzinfo=UTC)


NIGHT = {"quiet_from": time(22), "quiet_until": time(7), "time_zone": "Europe/Berlin"}  # UTC+1


@pytest.mark.parametrize(
    ("settings", "now", "due"),
    [
        ({}, at(20, 3, 5), at(20, 3, 5)),
        (NIGHT, at(20, 12), at(20, 12)),
        (NIGHT, at(20, 21), at(21, 6)),
        (NIGHT, at(20, 23, 30), at(21, 6)),
        (NIGHT, at(20, 6), at(20, 6)),
        ({"digest_minutes": 30}, at(20, 12, 5), at(20, 12, 30)),
        ({"digest_minutes": 30}, at(20, 12, 30), at(20, 13)),
        ({"digest_minutes": 1440, "time_zone": "Europe/Berlin"}, at(20, 12), at(20, 23)),
        ({**NIGHT, "digest_minutes": 60}, at(20, 20, 30), at(21, 6)),
        # Berlin's clocks went back at 01:00 UTC on that night.
        (NIGHT, datetime(2026, 10, 24, 21, tzinfo=UTC), datetime(2026, 10, 25, 6, tzinfo=UTC)),
    ],
)
def test_a_notice_that_is_not_loud_waits_for_the_end_of_quiet_hours_and_for_the_digest(
    settings: dict[str, object], now: datetime, due: datetime
) -> None:
    subscriber = Subscriber.model_validate({"address": "json://x", "digest_minutes": 0, **settings})
    assert due_at(subscriber, NoticeKind.REVIEW, now) == due


def test_what_is_loud_waits_for_no_digest_and_the_rest_comes_hourly_by_default() -> None:
    usual, daily = Subscriber(address="json://x"), Subscriber(address="json://x", digest_minutes=1440)
    now, soon = at(20, 12, 5), at(20, 13)
    assert {kind: due_at(usual, kind, now) for kind in NoticeKind} == {
        NoticeKind.QUESTION: now,
        NoticeKind.APPROVAL: now,
        NoticeKind.FAILURE: now,
        NoticeKind.STOPPED: now,
        NoticeKind.REVIEW: soon,
        NoticeKind.SPEND: soon,
    }
    assert due_at(daily, NoticeKind.QUESTION, now) == now
    at_night = daily.model_copy(update={"quiet_from": time(12), "quiet_until": time(14)})
    assert due_at(at_night, NoticeKind.QUESTION, now) == at(20, 14)


def test_who_chooses_gets_less_than_the_operator_said_and_never_more() -> None:
    both = (NoticeKind.QUESTION, NoticeKind.FAILURE)
    set_up = Subscriber(
        address="json://x", kinds=both, digest_minutes=60, quiet_from=time(22), quiet_until=time(7)
    )
    wide = NoticeChoice(
        kinds=tuple(NoticeKind), digest_minutes=0, quiet_from=MIDNIGHT, quiet_until=MIDNIGHT, time_zone="UTC"
    )
    as_before, less = (
        narrow_subscriber(set_up, choice)
        for choice in (
            wide,
            wide.model_copy(
                update={
                    "kinds": (NoticeKind.FAILURE, NoticeKind.SPEND),
                    "digest_minutes": 240,
                    "quiet_from": time(7),
                    "quiet_until": time(9, 30),
                    "time_zone": "Europe/Berlin",
                }
            ),
        )
    )
    night = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    assert (as_before.address, as_before.kinds, as_before.digest_minutes) == ("json://x", both, 60)
    kind = NoticeKind.REVIEW
    morning = night.replace(day=21, hour=7, minute=0)
    assert due_at(as_before, kind, night) == due_at(set_up, kind, night) == morning
    assert (less.address, less.kinds, less.digest_minutes) == ("json://x", (NoticeKind.FAILURE,), 240)
    assert due_at(less, kind, night) == night.replace(day=21, hour=8, minute=30)
    no_hour_left = less.model_copy(update={"own_quiet": QuietHours(time(7), time(22), "UTC")})
    assert due_at(no_hour_left, kind, night) <= night + timedelta(days=2)


def test_what_is_news_is_of_one_kind() -> None:
    card, run = CardId("PVTI_1"), RunId("r1")
    assert notice_kind(CardStateChanged(card, CardState.WORKING, CardState.FAILED, "")) is NoticeKind.FAILURE
    assert (
        notice_kind(CardStateChanged(card, CardState.WORKING, CardState.IN_REVIEW, "")) is NoticeKind.REVIEW
    )
    waits = RunStepped(run, RunState.PLANNING, RunState.AWAITING_APPROVAL)
    assert notice_kind(waits) is NoticeKind.APPROVAL
    assert notice_kind(CardStateChanged(card, CardState.QUEUED, CardState.WORKING, "")) is None
    assert notice_kind(StopOrdered(BoardId("PVT_1"), "card", card, "bob")) is NoticeKind.STOPPED
    assert notice_kind(StopOrdered(BoardId("PVT_1"), "card", card, "bob", "claimed")) is None


def test_a_subscriber_gets_what_is_wanted_only() -> None:
    subscriber = Subscriber(address="json://x", kinds=(NoticeKind.QUESTION,), boards=("acme/1",), mine=True)
    assert subscriber.wants(NoticeKind.QUESTION, "Acme/1", "alice", "Alice")
    assert not subscriber.wants(NoticeKind.QUESTION, "acme/1", "alice", "bob")
    assert not subscriber.wants(NoticeKind.QUESTION, "acme/2", "alice", "alice")
    assert not subscriber.wants(NoticeKind.SPEND, "acme/1", "alice", "alice")


@pytest.mark.parametrize(("spent", "step"), [(4.9, []), (5, [50]), (8, [80]), (9.99, [80]), (12, [100])])
def test_spending_is_told_at_50_80_and_100_per_cent_of_a_limit(spent: float, step: list[int]) -> None:
    text = DEFAULT_TEXT + "  limits: {usd_per_day: 10, usd_per_person: 1000}\n"
    policy = parse(text, home="acme/board")
    told = alerts(policy, {(Limit.DAY, ""): spent, (Limit.PERSON, "bob"): spent}, "In Progress", "bob", "c")
    assert [int(key.rpartition(":")[2]) for key, _ in told] == step


def test_words_of_others_mention_nobody_and_format_nothing() -> None:
    hostile = "@everyone <!channel> [x](http://evil) **b** `c`\r\nBcc: eve@evil.example \u202e"
    text = defuse(hostile)
    assert not set("<>[]*`\r\n\u202e") & set(text)
    assert "@everyone" not in text
