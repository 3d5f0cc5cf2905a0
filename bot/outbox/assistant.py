"""The planning assistant and the `ai_task` rules: one bounded call of a model, its answer an event."""

import secrets
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.github.api import roles
from bot.outbox.contract import ActResult, GivenUpError, TooSoonError, TryAgainError
from bot.outbox.targets import card_of
from bot.render import assistant_prompt
from bot.render.markdown.marker import digest_of
from bot.runspec import builder
from bot.state import snapshots
from ledger.event import Event
from ledger.events.conversation import AssistantFailed, AssistantMetered, AssistantReplied, TaskAnswered
from ledger.ids import CardId
from ledger.log import event_store
from ledger.queue.outbox import Entry
from ledger.states import Archetype
from ledger.views import cards, messages, spend, timeline
from ledger.views.cards import CardRow
from ledger.views.messages import MessageRow
from rules.intents.outbound import AskAssistant, RunTask
from rules.policy.repository import IMAGE
from rules.runs.queue import stopped_by
from runner.errors import BackendError, RunnerError, ScenarioError, UnknownPartError, UnsandboxedError
from runner.run.run_spec import HostPaths
from runner.session import chat

if TYPE_CHECKING:
    from bot.github.client import Hub
    from bot.outbox.context import OutboxContext

NEWEST_SAID = 30
MAX_ATTEMPTS = 3
TIMEOUT_S = 90  # below the publisher's claim
ASSISTANT = "assistant"  # the place of its own messages
# What a loop of automations, or somebody who cannot stop talking, may cost: calls for one card.
MAX_AN_HOUR = 20
HOUR = timedelta(hours=1)
STOPPED_S = 15  # how soon it is seen that a kill switch was lifted


def reply(hub: "Hub", context: "OutboxContext", intent: AskAssistant, entry: Entry) -> ActResult:
    """Answer everything that people said so far, once they have been quiet for `debounce_s`.

    Nothing is said where the card left its planning column or was answered already.
    """
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
        said = messages.newest(db, card.card_id, NEWEST_SAID)
    column = context.policy(card.board_id).column(card.column)
    if column is None or column.archetype is not Archetype.PLANNING or card.archived:
        return ActResult("", "")
    newest = max((one.comment_id for one in said if _is_word(one)), default=0)
    if _answered(newest, card.last_answered, said):
        return ActResult("", "")
    _wait_for_quiet(context, said)
    _wait_until_allowed(context, card)
    prompt = assistant_prompt.conversation(
        card, said, instructions=column.instructions, trust=_trust(hub, card)
    )
    try:
        answer = _ask(context, entry, column.agent, column.model, prompt)
    except GivenUpError as error:
        return _failure(card.card_id, "the planning assistant", error.because)
    brief = assistant_prompt.brief_of(answer.text)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = cards.get(db, card.card_id)
        now_said = messages.newest(db, card.card_id, NEWEST_SAID)
        if fresh is None or _answered(newest, fresh.last_answered, now_said):
            return ()
        return (_metered(card.card_id, answer), AssistantReplied(card.card_id, answer.text, brief, newest))

    return ActResult("", digest_of(f"{newest}:{answer.text}"), events)


def run_task(hub: "Hub", context: "OutboxContext", intent: RunTask, entry: Entry) -> ActResult:
    """Run one rule's prompt over the card."""
    with event_store.reading(context.engine) as db:
        card = card_of(db, intent.card_id)
        said = messages.newest(db, card.card_id, NEWEST_SAID)
    column = context.policy(card.board_id).column(intent.rule.partition("/")[0])
    if column is None:
        return ActResult("", "")
    _wait_until_allowed(context, card)
    prompt = assistant_prompt.task(
        card,
        said,
        intent.prompt,
        instructions=column.instructions,
        trust=_trust(hub, card),
    )
    try:
        answer = _ask(context, entry, column.agent, intent.model or column.model, prompt)
    except GivenUpError as error:
        return _failure(card.card_id, f"the rule {intent.rule}", error.because)

    def events(_: Connection) -> tuple[Event, ...]:
        return (_metered(card.card_id, answer), TaskAnswered(card.card_id, intent.rule, answer.text))

    return ActResult("", digest_of(answer.text), events)


def _trust(hub: "Hub", card: CardRow) -> assistant_prompt.Trust:
    return assistant_prompt.Trust(_is_author_trusted(hub, card), secrets.token_hex(8))


def _is_author_trusted(hub: "Hub", card: CardRow) -> bool:
    """Tell whether who wrote the card has write access; a draft issue can only be of somebody who has."""
    if card.repository is None:
        return True
    return roles.may_write(roles.role(hub, card.repository, card.author))


def _wait_until_allowed(context: "OutboxContext", card: CardRow) -> None:
    """Return when nothing speaks against a call; raises TooSoonError for kill switches, money and loops."""
    now = context.clock()
    with event_store.reading(context.engine) as db:
        stopped = stopped_by(snapshots.board_stops(db, card.board_id), card.card_id, card.column)
        spent_usd = spend.today(db, card.board_id, now.date()).usd
        recent = timeline.times_of(db, card.card_id, AssistantMetered.__name__, now - HOUR)
    if stopped:
        raise TooSoonError(now + timedelta(seconds=STOPPED_S), stopped)
    if spent_usd >= context.policy(card.board_id).limits.usd_per_day:
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), tzinfo=now.tzinfo)
        raise TooSoonError(midnight, f"${spent_usd:.2f} are spent today")
    if len(recent) >= MAX_AN_HOUR:
        raise TooSoonError(recent[-MAX_AN_HOUR] + HOUR, f"{len(recent)} calls for this card in an hour")


def _metered(card_id: CardId, answer: chat.ChatAnswer) -> AssistantMetered:
    return AssistantMetered(card_id, answer.usd, answer.tokens)


def _is_word(message: MessageRow) -> bool:
    """Whether it is something to answer; a command is answered by what it does."""
    spoken = message.place not in (ASSISTANT, "review") and not message.command
    return spoken and (message.trusted or bool(message.vouched_by))


def _answered(newest: int, last_answered: int, said: tuple[MessageRow, ...]) -> bool:
    if newest == 0:
        return any(one.place == ASSISTANT for one in said)
    return last_answered >= newest


def _wait_for_quiet(context: "OutboxContext", said: tuple[MessageRow, ...]) -> None:
    last = max((one.at for one in said if _is_word(one)), default=None)
    if last is None:
        return
    due_at = last + timedelta(seconds=context.config.debounce_s)
    if due_at > context.clock():
        raise TooSoonError(due_at, "people are still writing")


def _ask(context: "OutboxContext", entry: Entry, agent: str, model: str, prompt: str) -> chat.ChatAnswer:
    """Return the answer; raises GivenUpError when the last attempt failed too or none can succeed."""
    home = context.config.home
    places = HostPaths(home / "mirrors", home / "workspaces", home / "logs", context.config.scenarios)
    try:
        return chat.ask_once(
            agent,
            prompt,
            model=model,
            places=places,
            timeout_s=TIMEOUT_S,
            workspace=builder.workspace(context.config),
            image=IMAGE,
            allow_unsandboxed=context.config.allow_unsandboxed,
            providers=builder.providers(context.config),
        )
    except (UnknownPartError, BackendError, UnsandboxedError, ScenarioError) as error:
        raise GivenUpError(str(error)) from error
    except RunnerError as error:
        if entry.attempts >= MAX_ATTEMPTS:
            raise GivenUpError(f"{error} ({MAX_ATTEMPTS} times)") from error
        raise TryAgainError(str(error)) from error


def _failure(card_id: CardId, what: str, because: str) -> ActResult:
    """Return the outcome that tells the card, so that the rules can say it to people."""

    def events(_: Connection) -> tuple[Event, ...]:
        return (AssistantFailed(card_id, what, because),)

    return ActResult("", digest_of(because), events)
