"""One bounded call of a model for a card: its conditions, the call, its cost."""

import secrets
from datetime import datetime, time, timedelta

from bot.github.api import roles
from bot.outbox.contract import ActResult, GivenUpError, TooSoonError, TryAgainError
from bot.render import assistant_prompt
from bot.render.markdown.marker import text_digest
from bot.runspec import policy_fields
from bot.runspec.host_paths import make_host_paths
from bot.state.outbox_context import OutboxContext
from bot.system import model_keys
from bot.system.config import ConfigError
from ledger.events.conversation import AssistantFailed, AssistantMetered
from ledger.ids import CardId
from ledger.parts import UnknownPartError
from ledger.queries import timeline
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.views import jobs, spend
from rules.policy.column import ColumnPolicy
from runner.errors import BackendError, RunnerError, ScenarioError, UnsandboxedError
from runner.session import chat

MAX_MESSAGES = 30  # the newest of the card, in a prompt
MAX_ATTEMPTS = 3
TIMEOUT_S = 90  # below the publisher's claim
# Calls for one card: bounds the cost of a loop of automations, or of a very long conversation.
MAX_AN_HOUR = 20
HOUR = timedelta(hours=1)


def trust_of(context: OutboxContext, card: CardRow) -> assistant_prompt.Trust:
    """Return whether the author has write access, with a fresh token that delimits untrusted text.

    Only people with write access can write a draft issue.
    """
    repository = card.repository
    with context.reading() as db:
        author = jobs.author_of(db, card.card_id, card.author)
    trusted = repository is None or roles.writes(context.hub, repository, author)
    return assistant_prompt.Trust(trusted, secrets.token_hex(8))


def require_allowed(context: OutboxContext, card: CardRow) -> None:
    """Raise TooSoonError where the day's budget or the limit per hour forbids a call."""
    now = context.clock()
    with context.reading() as db:
        spent_usd = spend.today(db, card.board_id, now.date()).usd
        recent = timeline.times_of(db, card.card_id, AssistantMetered, now - HOUR)
    if spent_usd >= context.policy(card.board_id).limits.usd_per_day:
        midnight = datetime.combine(now.date() + timedelta(days=1), time(), tzinfo=now.tzinfo)
        raise TooSoonError(midnight, f"${spent_usd:.2f} are spent today")
    if len(recent) >= MAX_AN_HOUR:
        raise TooSoonError(recent[-MAX_AN_HOUR] + HOUR, f"{len(recent)} calls for this card in an hour")


def meter_call(card_id: CardId, answer: chat.ChatAnswer, by: str) -> AssistantMetered:
    """Return the event that bills the call, to the person who asked for it."""
    return AssistantMetered(card_id, answer.usd, answer.tokens, by)


def ask_model(context: OutboxContext, entry: Entry, column: ColumnPolicy, prompt: str) -> chat.ChatAnswer:
    """Return the answer; raises GivenUpError if this was the last attempt or no attempt can succeed."""
    try:
        return chat.ask_once(
            column.agent,
            prompt,
            model=column.model,
            effort=column.effort or "",
            places=make_host_paths(context.config),
            timeout_s=TIMEOUT_S,
            workspace=policy_fields.workspace(context.config),
            allow_unsandboxed=context.config.allow_unsandboxed,
            providers=model_keys.providers(context.config, context.board.owner),
        )
    except (UnknownPartError, BackendError, UnsandboxedError, ScenarioError, ConfigError) as error:
        raise GivenUpError(str(error)) from error
    except RunnerError as error:
        if entry.attempts >= MAX_ATTEMPTS:
            raise GivenUpError(f"{error} ({MAX_ATTEMPTS} times)") from error
        raise TryAgainError(str(error)) from error


def failure(card_id: CardId, what: str, because: str, rule: str = "") -> ActResult:
    """Return the outcome that records the failure on the card, so that the rules can tell people."""
    return ActResult("", text_digest(because), lambda _: (AssistantFailed(card_id, what, because, rule),))
