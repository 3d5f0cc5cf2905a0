"""Makes an issue that a run's agent proposed, and its card in the board's inbox."""

import logging

from sqlalchemy import Connection

from bot.github.api import issues, projects
from bot.github.client import Hub, repository_path
from bot.github.errors import RefusedError
from bot.outbox.contract import Act, ActResult, GivenUpError, OutboxContext
from bot.outbox.posting import made_before
from bot.outbox.targets import read_card
from bot.render import new_issue
from bot.render.markdown.marker import digest_of, mark
from ledger.event import Event
from ledger.events.findings import FollowUpMade
from ledger.ids import BoardId, CardId
from ledger.queue.outbox import Entry
from ledger.views import boards, findings
from rules.intents.outbound import CreateCard

log = logging.getLogger(__name__)

# One card per proposal of a run.
ACT = Act("card:{run_id}:{proposal}", ordered=True)
MAX_PAGES = 3  # of 100 issues each, that were changed since the entry was made


def carry_out(context: OutboxContext, intent: CreateCard, entry: Entry) -> ActResult:
    """Make the issue and put it on the board; the marker finds an earlier attempt's issue."""
    card = read_card(context, intent.card_id)
    repository = card.repository
    if repository is None:
        raise GivenUpError("its card has no repository in which an issue could be made")
    text = new_issue.write(run_id=intent.run_id, number=card.number, body=intent.body, reason=intent.reason)
    path = f"{repository_path(repository)}/issues"
    left = made_before(context.hub, path, entry, params={"state": "all"}, most=MAX_PAGES)
    made, _ = next(left, (None, None)) if entry.attempts > 1 else (None, None)
    if made is None:
        body = {"title": new_issue.title(intent.title), "body": mark(text, entry.key)}
        made = context.hub.rest("POST", path, body=body).body
    _make_part(context.hub, card.content_id, str(made["node_id"]))
    new = projects.add_card(context.hub, card.board_id, str(made["node_id"]))
    _into_inbox(context, card.board_id, new)

    def events(db: Connection) -> tuple[Event, ...]:
        report = findings.get(db, intent.run_id)
        if report is None or not 0 < intent.proposal <= len(report.follow_ups):
            return ()  # the agent requested the card itself, during its work
        number = int(made["number"])
        return (FollowUpMade(card.card_id, intent.run_id, intent.proposal, repository, number),)

    return ActResult(str(made["number"]), digest_of(text), events)


def _make_part(hub: Hub, parent_id: str, issue_id: str) -> None:
    """Make the issue a sub-issue of the card's.

    GitHub refuses a second parent, too many and too deep ones: the text names the origin anyway.
    """
    try:
        issues.add_sub_issue(hub, parent_id, issue_id)
    except RefusedError as error:
        log.info("no sub-issue issue=%s reason=%s", issue_id, error.because)


def _into_inbox(context: OutboxContext, board_id: BoardId, card_id: CardId) -> None:
    """Move the new card to the board's first inbox column, if there is one."""
    with context.reading() as db:
        known = boards.get(db, board_id)
    policy = context.policy(board_id)
    if known is None:
        return
    for column in known.columns:
        if policy.column(column.name) and policy.archetype(column.name).TAKES_NEW_CARDS:
            projects.move_card(context.hub, board_id, card_id, known.status_field_id, column.option_id)
            return
