"""Makes an issue that a run's agent proposed, and its card in the board's inbox."""

import logging
from dataclasses import replace

from sqlalchemy import Connection

from bot.github.api import issues, roles
from bot.github.client import Hub
from bot.github.errors import RefusedError
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.new_cards import make_issue, put_on_board, wait_for
from bot.outbox.targets import CommentThread, current_card, run_of
from bot.render import new_issue
from bot.render.markdown.marker import text_digest
from bot.state import policies
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.findings import FollowUpMade
from ledger.events.job import JobMade, JobRequested
from ledger.events.related import CardLinked, CardMade
from ledger.ids import CardId
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.views import children, findings
from rules.card.agent_choice import PREFIX
from rules.intents.outbound import CreateCard

log = logging.getLogger(__name__)

# One card per proposal of a run.
ACT = Act("card:{run_id}:{proposal}", ordered=True)


def carry_out(context: OutboxContext, intent: CreateCard, entry: Entry) -> ActResult:
    """Make the issue, link it with the card's and put it on the board; a second attempt finds what the first
    made. Raises GivenUpError where it may not be made there.
    """
    card = current_card(context, intent.card_id)
    repository = intent.repository or card.repository
    if repository is None:
        raise GivenUpError("its card has no repository in which an issue could be made")
    if intent.repository:
        _require_leave(context, intent, card)
    origin = card.repository or "" if intent.repository else ""
    text = new_issue.write(
        run_id=intent.run_id,
        number=card.number,
        body=intent.body,
        reason=intent.reason,
        repository=origin,
    )
    labels = (f"{PREFIX}{intent.agent}",) if intent.agent else ()
    number, node_id = make_issue(
        context, entry, repository, new_issue.title(intent.title), text, labels=labels
    )
    relation = "relates"
    if intent.repository:
        depends = _make_dependency(context.hub, intent.relation, card.content_id, node_id)
        relation = intent.relation if depends else relation
    else:
        _make_part(context.hub, card.content_id, node_id)
        thread, parents = CommentThread(repository, number), _parents(context, intent)
        if not wait_for(context, entry, card.board_id, thread, node_id, parents=parents):
            intent = replace(intent, column="")
    card_id = put_on_board(context, card.board_id, node_id)

    def events(db: Connection) -> tuple[Event, ...]:
        event = CardMade(intent.run_id, intent.proposal, intent.title, repository, number)
        if intent.repository:
            return (event, CardLinked(intent.run_id, f"{repository}#{number}", relation, intent.reason))
        if intent.column or intent.skills:
            return (event, *_place(db, intent, card, card_id, event))
        report = findings.get(db, intent.run_id)
        if report is None or not 0 < intent.proposal <= len(report.follow_ups):
            return (event,)  # the agent requested the card itself, during its work
        return (FollowUpMade(card.card_id, intent.run_id, intent.proposal, repository, number),)

    return ActResult(str(number), text_digest(text), events)


def _place(
    db: Connection, intent: CreateCard, card: CardRow, card_id: CardId, made: CardMade
) -> tuple[Event, ...]:
    """Return the events of a request for the card's column and skills, by whoever asked for the run."""
    key, by = f"{intent.run_id}:{intent.proposal}", run_of(db, intent.run_id).by
    place, board_id = (intent.column, intent.skills, by), card.board_id
    event = JobRequested(
        board_id=board_id,
        key=key,
        repository=made.repository,
        title=made.title,
        column=intent.column,
        parents=(),
        skills=intent.skills,
        by=by,
        user_id=0,
        via=intent.run_id,
    )
    return (event, JobMade(card_id, board_id, key, made.repository, made.number, *place))


def _require_leave(context: OutboxContext, intent: CreateCard, card: CardRow) -> None:
    """Raise GivenUpError unless the board serves that repository, and who started the run and who agreed may
    both write there.
    """
    with context.reading() as db:
        served = policies.other_repositories(db, card.board_id, context.board.owner, card.repository)
        starter = run_of(db, intent.run_id).by
    if intent.repository not in served:
        raise GivenUpError(f"the board no longer serves {intent.repository}: put a card of it there")
    for login in dict.fromkeys((starter, intent.by)):
        if not roles.writes(context.hub, intent.repository, login):
            who = login or "whoever started the run"
            raise GivenUpError(f"{who} has no write access to {intent.repository}: an owner gives it there")


def _parents(context: OutboxContext, intent: CreateCard) -> tuple[str, ...]:
    """Return the issues that come before the new one: the run's own earlier cards, by title if not made."""
    with context.reading() as db:
        new_children = children.of_card(db, intent.card_id)
    own_children = (it for it in new_children if it.run_id == intent.run_id and it.proposal in intent.after)
    names = (f"{it.repository}#{it.number}" if it.number else f"“{it.title}”" for it in own_children)
    return (*intent.parents, *names)


def _make_dependency(hub: Hub, relation: str, card_id: str, new_id: str) -> bool:
    """Let the card's issue wait for the new one, or the new one for it. False: GitHub refuses, as where there
    are too many already.
    """
    blocked, blocking = (card_id, new_id) if relation == "blocked_by" else (new_id, card_id)
    try:
        issues.add_blocked_by(hub, blocked, blocking)
    except RefusedError as error:
        log.info("no dependency issue=%s reason=%s", new_id, error.because)
        return issues.is_blocked_by(hub, blocked, blocking)
    return True


def _make_part(hub: Hub, parent_id: str, issue_id: str) -> None:
    """Make the issue a sub-issue of the card's.

    GitHub refuses a second parent, too many and too deep ones: the text names the origin anyway.
    """
    try:
        issues.add_sub_issue(hub, parent_id, issue_id)
    except RefusedError as error:
        log.info("no sub-issue issue=%s reason=%s", issue_id, error.because)
