"""News of the log become notices in the outbox: once for each subscriber, when they want them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.outbox import handlers, subscribers
from bot.outbox.handlers.send_notice import MAX_LINES
from bot.state import policies
from ledger.event import Recorded
from ledger.events.board import BoardEvent, BoardHalted, CardEvent, StopOrdered
from ledger.events.run import QuestionAsked, RunEvent, UsageMetered
from ledger.ids import BoardId, CardId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.rows.cards import CardRow
from ledger.views import boards, cards, runs, spend, subscriptions
from ledger.views.boards import BoardRow
from rules.chatops.notices import Subscriber, alerts, due_at, notice_kind
from rules.intents.outbound import NoticeKind, NoticeLine, SendNotice

READER, BATCH = "notices", 500
NEWS_AGE = timedelta(hours=1)  # older events are no news: nobody subscribed, or no process ran
# Lines of a digest: each piece of news writes all of them anew, and some are no news when it is sent.
MAX_KEPT = 4 * MAX_LINES
Subscribers = Mapping[str, Subscriber]


def request_new(services: Services) -> None:
    """Queue notices about new events; where nobody subscribed in this home, read nothing."""
    wanted = subscribers.read_admitted(services.config)
    if not wanted:
        return
    with event_store.reading(services.engine) as db:
        if event_store.position(db, READER) == event_store.last_seq(db):
            return
    with event_store.writing(services.engine) as db:
        before, last = event_store.position(db, READER), event_store.last_seq(db)
        fresh = event_store.read(db, after=before, limit=BATCH) if before else ()
        wanted = subscribers.of_people(db, wanted)
        for recorded in fresh:
            if notice_kind(recorded.event) is not None and recorded.at > services.now() - NEWS_AGE:
                _queue(db, wanted, recorded, services.now())
        event_store.advance_cursor(db, READER, before=before, after=fresh[-1].seq if fresh else last)


def _queue(db: Connection, wanted: Subscribers, recorded: Recorded, now: datetime) -> None:
    card, board_id, starter = _about(db, recorded)
    board, kind = boards.get(db, board_id) if board_id else None, notice_kind(recorded.event)
    if board is None or kind is None:
        return
    address = f"{board.owner}/{board.number}"
    lines = dict(_lines(db, recorded, kind, card, board, starter=starter, now=now))
    follow = subscriptions.subscribers_of(db, card.card_id) if card and kind is not NoticeKind.SPEND else ()
    for name, subscriber in wanted.items():
        followed = not subscriber.channel and name.casefold() in follow
        if not followed and not subscriber.wants(kind, address, name, starter):
            continue
        for key, line in lines.items():
            _put(db, board, name, key, line, due=due_at(subscriber, kind, now), now=now)
            if line.question_id and subscriber.escalate_to in wanted:
                at = now + timedelta(hours=subscriber.escalate_hours)
                later = due_at(wanted[subscriber.escalate_to], kind, at)
                _put(
                    db,
                    board,
                    subscriber.escalate_to,
                    f"{key}:escalated",
                    line,
                    due=later,
                    now=now,
                    merges=False,
                )


def _about(db: Connection, recorded: Recorded) -> tuple[CardRow | None, BoardId | None, str]:
    """Return the card, the board and who started the run."""
    match recorded.event:
        case BoardEvent(board_id=board_id):
            return None, board_id, ""
        case CardEvent(card_id=card_id):
            card = cards.get(db, card_id)
            run = runs.get(db, card.run_id) if card and card.run_id else None
        case RunEvent(run_id=run_id):
            run = runs.get(db, run_id)
            card = cards.get(db, run.card_id) if run else None
        case _:
            return None, None, ""
    return card, card.board_id if card else None, run.by if run else ""


def _lines(
    db: Connection,
    recorded: Recorded,
    kind: NoticeKind,
    card: CardRow | None,
    board: BoardRow,
    *,
    starter: str,
    now: datetime,
) -> list[tuple[str, NoticeLine]]:
    """Return the lines about an event, by keys that make each the same notice."""
    card_id = card.card_id if card else ""
    match recorded.event:
        case UsageMetered() if card is not None:
            policy, day = policies.in_force(db, board.board_id), now.date()
            spent = spend.sum_by_limit(db, board.board_id, day, (card_id,))
            passed = alerts(policy, spent, card.column or "", starter, card_id)
            return [
                (f"spend:{board.board_id}:{day}:{key}", NoticeLine(kind, text=text)) for key, text in passed
            ]
        case QuestionAsked(question_id=question_id):
            return [(f"question:{question_id}", NoticeLine(kind, card_id, question_id))]
        case BoardHalted(because=because):
            return [(f"event:{recorded.seq}", NoticeLine(kind, text=f"no run starts: {because}"))]
        case StopOrdered(scope=scope, by=by):
            return [(f"event:{recorded.seq}", NoticeLine(kind, text=f"{by} stopped the runs of the {scope}"))]
        case _:
            return [(f"event:{recorded.seq}", NoticeLine(kind, card_id))]


def _put(
    db: Connection,
    board: BoardRow,
    name: str,
    key: str,
    line: NoticeLine,
    *,
    due: datetime,
    now: datetime,
    merges: bool = True,
) -> None:
    """Put the line in line; those that wait for the same moment are one notice."""
    merges = merges and due > now and line.kind is not NoticeKind.SPEND
    if merges:
        key = f"digest:{due:%Y%m%dT%H%M}:{board.board_id}"
    key = f"notice:{name}:{key}"
    lines: tuple[NoticeLine, ...] = (line,)
    truncated = False
    if merges:
        waiting = (entry for entry in outbox.open_of_card(db, CardId(board.board_id)) if entry.key == key)
        earlier = [intent for entry in waiting if isinstance(intent := handlers.intent_of(entry), SendNotice)]
        known = dict.fromkeys((*(notice_line for intent in earlier for notice_line in intent.lines), line))
        lines = (*known,)[:MAX_KEPT]
        truncated = len(known) > MAX_KEPT or any(intent.truncated for intent in earlier)
    intent = SendNotice(CardId(board.board_id), key, name, lines, truncated)
    draft = handlers.draft(intent, now, None)
    handlers.put_draft(db, replace(draft, due_at=due, coalesce=merges), now)
