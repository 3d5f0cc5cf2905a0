"""Sources of a briefing: the card, its conversation, earlier runs' reports, review feedback."""

import secrets
from collections.abc import Iterator

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import roles
from bot.state import policies
from ledger.events.findings import FindingsReported
from ledger.events.run import CHECK
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queries.run_rows import RunRows
from ledger.rows.cards import CardRow
from ledger.rows.links import is_open
from ledger.rows.messages import MessageRow
from ledger.rows.runs import RunRow
from ledger.run_modes import INVESTIGATE
from ledger.states import Ending
from ledger.views import (
    cards,
    expansions,
    links,
    messages,
    notes,
    rule_briefs,
    runs,
    threads,
)
from rules.card.dependencies import may_name
from runner.prompts import briefing
from runner.prompts.briefing import (
    BriefingSource,
    ConversationMessage,
    EarlierRun,
    RelatedReport,
    RuleBrief,
)
from runner.run.run_spec import Briefing


def write(services: Services, card: CardRow, run_id: RunId, *, nonce: str = "") -> Briefing:
    """Return the briefing of a run as the views are now; the runner stores it once.

    `nonce` is the secret part of the tags around others' words; random unless it is given.
    """
    nonce = nonce or secrets.token_hex(16)
    trusted = roles.writes(services.hub, card.repository or "", card.author)
    with event_store.reading(services.engine) as db:
        return briefing.make_briefing(source(db, card, run_id, author_trusted=trusted), nonce)


def source(db: Connection, card: CardRow, run_id: RunId, *, author_trusted: bool) -> BriefingSource:
    """Return the ledger's facts for the briefing; one more than each cap, so that omissions show."""
    most = briefing.COMMENTS + 1
    said = messages.newest(db, card.card_id, most, (*messages.COMMENTS, messages.ASSISTANT))
    reviews = messages.newest(db, card.card_id, most, messages.REVIEWS)
    before = [
        past
        for past in runs.of_card(db, card.card_id, limit=briefing.ATTEMPTS * 2 + 2)
        if past.run_id != run_id and past.kind != CHECK
    ]
    before = before[: briefing.ATTEMPTS + 1]
    run = runs.get(db, run_id)
    last = next((past for past in before if past.claimed_at is not None), None)
    earlier = [
        EarlierRun(past.run_id, f"{past.ending or past.state} {past.reason}".strip(), _report(db, past))
        for past in before
    ]
    return BriefingSource(
        title=card.title,
        body=card.body,
        author=card.author,
        author_trusted=author_trusted,
        brief=card.brief,
        conversation=tuple(_conversation_message(message, last) for message in said),
        reviews=tuple(_conversation_message(message, last) for message in reviews),
        earlier=tuple(reversed(earlier)),
        feedback=threads.pending(db, card.card_id),
        related=_list_related(db, card, run),
        notes=notes.newest(db, (past.run_id for past in before), briefing.NOTES + 1),
        rule_briefs=_rule_briefs(db, card),
        **({"request": run.asked, "requested_by": run.by} if run is not None and run.asked else {}),
    )


def _rule_briefs(db: Connection, card: CardRow) -> tuple[RuleBrief, ...]:
    """Return the texts of models by rules: briefs, and the description where it is written out."""
    briefs = rule_briefs.newest(db, card.card_id, briefing.RULE_BRIEFS + 1)
    written = expansions.get(db, card.content_id) if card.expanded else None
    description = (
        (RuleBrief(f"{written.rule}, the description written out", written.text),) if written else ()
    )
    return (*(RuleBrief(brief.rule, brief.text) for brief in briefs), *description)


def _conversation_message(message: MessageRow, last: RunRow | None) -> ConversationMessage:
    """Return the message; the agent of `last`, the run before, read nothing newer than its start."""
    new = last is not None and last.claimed_at is not None and message.at > last.claimed_at
    how = message.place if message.place in messages.REVIEWS else ""
    return ConversationMessage(
        message.author or "Cardinal's planning assistant",
        message.trusted,
        message.text,
        message.at,
        message.vouched_by,
        since=last.run_id if new and last is not None else "",
        how="dismissed" if how and message.changed == "dismissed" else how,
    )


def _list_related(db: Connection, card: CardRow, run: RunRow | None) -> tuple[RelatedReport, ...]:
    """Return the reports of the issues that blocked the card, of its parent and of its parts.

    The agent writes for all readers of the card: it gets no report that they may not read.
    """
    parent, policy = links.parent_of(db, card.card_id), policies.in_force(db, card.board_id)
    others = [
        (link.repository, link.number, link.public, "done before this one")
        for link in links.of_card(db, card.card_id)
    ]
    if parent:
        others.append((parent.repository, parent.number, parent.public, "which this one is a part of"))
    parts = links.parts_of(db, card.repository, card.number, links.MAX_PARTS)
    others += [(it.repository or "", it.number or 0, False, "which is a part of this one") for it in parts]
    places = {card.repository or "", run.repository if run is not None else ""} - {""}
    related = (
        (f"{repository}#{number}", says, _last_report(db, repository, number))
        for repository, number, public, says in others
        if may_name(policy, open_to_readers=is_open(repository, public, places))
    )
    return tuple(RelatedReport(*report) for report in related if report[2])


def _last_report(db: Connection, repository: str, number: int) -> str:
    """Return the report of the newest run of the issue's cards that succeeded; empty without one."""
    blockers = cards.of_issue(db, repository, number) if repository else ()
    past = (run for card in blockers for run in runs.of_card(db, card.card_id, limit=briefing.ATTEMPTS))
    succeeded = (run for run in past if run.ending is Ending.SUCCEEDED and run.kind != CHECK)
    done = max(succeeded, key=lambda run: run.queued_at, default=None)
    return _report(db, done) if done else ""


def _report(db: Connection, past: RunRow) -> str:
    rows = RunRows.read(db, past)
    report = rows.report
    if report is None:
        return past.detail
    lines = (
        report.done,
        *(f"- {item}" for item in report.changed),
        *(f"open: {question}" for question in report.open_questions),
        *(_findings(rows.findings) if rows.findings and past.mode == INVESTIGATE else ()),
    )
    return "\n".join(line for line in lines if line)


def _findings(reported: FindingsReported) -> Iterator[str]:
    """Yield the findings of an investigation in its agent's words."""
    for number, finding in enumerate(reported.findings, start=1):
        places = ", ".join(
            f"{at.path}{f':{at.line}' if at.line else ''}" for at in finding.references if at.found
        )
        where = f" [{places}]" if places else ""
        yield f"finding {number} ({finding.confidence} confidence): {finding.title}{where}"
        yield f"cause: {finding.cause}"
        yield f"recommended fix: {finding.fix}"
