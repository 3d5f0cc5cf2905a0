"""Sends a notice to a subscriber by chat or mail; its text is made from the ledger as it then is."""

from collections.abc import Mapping

from sqlalchemy import Connection

from bot import frontends
from bot.frontends import NewsItem, Notice, UnfitAddressError
from bot.github.api import roles
from bot.outbox import subscribers
from bot.outbox.contract import Act, ActResult, GivenUpError, TryAgainError
from bot.outbox.subscribers import SubscribersError
from bot.render import notice as notice_text
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.subscription import CardUnsubscribed
from ledger.ids import CardId, QuestionId
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.rows.questions import QuestionRow
from ledger.views import cards, plans, questions, runs, subscriptions
from rules.chatops.notices import FOR_REVIEW, Subscriber, defuse
from rules.intents.outbound import NoticeKind, NoticeLine, SendNotice

# One notice for each subscriber and piece of news.
ACT = Act("{key}", lane="notice")
MAX_LINES = 50
MAY_BE_SENT = "Cardinal ended while it sent this, so it may have been sent, and is not sent again"
_TRUNCATED = "and more than a digest keeps: `cardinal inbox` and the pages have the waiting cards"
ANSWER = "About your reply"
WORDS = {
    NoticeKind.QUESTION: "A question is waiting for an answer",
    NoticeKind.APPROVAL: "A plan is waiting for approval",
    NoticeKind.REVIEW: "Work is ready for review",
    NoticeKind.FAILURE: "A run failed",
    NoticeKind.SPEND: "Spending",
    NoticeKind.STOPPED: "Stopped",
}


def carry_out(context: OutboxContext, intent: SendNotice, entry: Entry) -> ActResult:
    """Send the parts that are still news; after a crash only where a repeated notice is known as such."""
    try:
        subscriber = subscribers.read_admitted(context.config).get(intent.name)
    except SubscribersError as error:
        raise TryAgainError(str(error)) from error
    if subscriber is None:
        raise GivenUpError(f"{intent.name} is no longer a subscriber here: `cardinal notify list` names them")
    front_end = frontends.front_end_of(subscriber.address)
    if entry.sending and not front_end.knows_repeats(subscriber.address):
        raise GivenUpError(f"{MAY_BE_SENT}: `cardinal inbox` and the pages have the waiting cards")
    rights = {} if subscriber.channel else _rights(context, intent)
    result = ActResult(events=lambda db: _end_subscriptions(db, rights, intent.name))
    items = tuple(it for line in intent.lines if (it := _item(context, subscriber, line, rights)))
    if not items:
        return result
    left = len(items) - MAX_LINES
    # Of what was not kept nothing is counted: some of it may not be for this subscriber to read.
    more = (*((f"and {left} more",) if left > 0 else ()), *((_TRUNCATED,) if intent.truncated else ()))
    count = f"{len(items)}{'+' if intent.truncated else ''}"
    title = f"Cardinal, board {context.board.address}: {count} " + ("notices" if len(items) > 1 else "notice")
    notice = Notice(entry.key, entry.created_at, title, intent.name, items[:MAX_LINES], more)
    context.begin(entry)
    try:
        accepted = front_end.send_notice(context.config, subscriber.address, notice)
    except UnfitAddressError as error:
        raise GivenUpError(error.because) from error
    if not accepted:
        raise TryAgainError(f"the service of {intent.name} did not accept it: try `cardinal notify test`")
    return result


def _item(
    context: OutboxContext, subscriber: Subscriber, line: NoticeLine, rights: Mapping[CardId, str]
) -> NewsItem | None:
    """Return the news; None if it is none any more, or not for this subscriber."""
    with context.reading() as db:
        card = cards.get(db, CardId(line.card_id)) if line.card_id else None
        question = questions.get(db, QuestionId(line.question_id)) if line.question_id else None
        detail, topic = _detail(db, line, card, question) if card else ("", "")
    if question is not None and (question.answered_at is not None or question.withdrawn):
        return None
    words, kind = WORDS[line.kind], {"kind": line.kind}
    if card is None:
        return NewsItem(f"{words}: {defuse(line.text)}", kind)
    if line.kind is NoticeKind.REVIEW and card.state not in FOR_REVIEW:
        return None
    if subscriber.channel and context.policy(card.board_id).board.private_issues == "hidden":
        return NewsItem(f"{words}: a card of this board", kind)
    if not subscriber.channel and rights.get(card.card_id, roles.NONE) == roles.NONE:
        return None
    name, link = _name(context, card)
    about = {
        **kind,
        "repository": card.repository or "",
        "number": card.number or 0,
        "run": card.run_id or "",
        "question": line.question_id,
    }
    if subscriber.channel:  # nobody replies for it
        return NewsItem(f"{words}: {name}", about, link)
    return NewsItem(f"{ANSWER if line.text else words}: {name}", about, link, detail, topic)


def _detail(db: Connection, line: NoticeLine, card: CardRow, question: QuestionRow | None) -> tuple[str, str]:
    """Return the news in full, and what a reply to it would be about."""
    if line.text:  # about a reply of this person; nobody can reply to it, so no two programs go on for ever
        return line.text, ""
    if question is not None:
        return notice_text.describe_question(question), question.question_id
    run = runs.get(db, card.run_id) if card.run_id else None
    if run is None:
        return "", ""
    plan = plans.newest(db, run.run_id)
    if plan is not None and line.kind is NoticeKind.APPROVAL:
        return notice_text.describe_plan(plan), f"{plan.run_id}-p{plan.revision}"
    if line.kind is NoticeKind.FAILURE:
        return notice_text.describe_failed_run(run), run.run_id
    return notice_text.HOW.get(line.kind, ""), run.run_id


def _rights(context: OutboxContext, intent: SendNotice) -> dict[CardId, str]:
    """Return the person's role in the repository of each card of the lines."""
    with context.reading() as db:
        named = {line.card_id: cards.get(db, CardId(line.card_id)) for line in intent.lines if line.card_id}
    there = {
        card.card_id: card.repository or context.board.home_repository for card in named.values() if card
    }
    roles_in = {name: roles.role(context.hub, name, intent.name) for name in dict.fromkeys(there.values())}
    return {card_id: roles_in[name] for card_id, name in there.items()}


def _end_subscriptions(db: Connection, rights: Mapping[CardId, str], name: str) -> tuple[Event, ...]:
    """End the person's subscriptions to cards that they may not read any more."""
    hidden = sorted(card_id for card_id, role in rights.items() if role == roles.NONE)
    followed = (card_id for card_id in hidden if subscriptions.get(db, card_id, name))
    return tuple(CardUnsubscribed(card_id, name, "may no longer read it") for card_id in followed)


def _name(context: OutboxContext, card: CardRow) -> tuple[str, str]:
    """Return the card's name and its address, which is empty for a draft."""
    if card.number is None:
        return defuse(card.title), ""
    address = f"{context.config.git_url}/{card.repository}/issues/{card.number}"
    return f"{card.repository}#{card.number} {defuse(card.title)}", address
