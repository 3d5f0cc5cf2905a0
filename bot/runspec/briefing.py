"""Sources of a briefing: the card, its conversation, earlier runs' reports, review feedback."""

import secrets
from collections.abc import Iterator
from datetime import datetime
from operator import itemgetter

from sqlalchemy import Connection

from bot.bootstrap import Services
from bot.github.api import roles
from bot.state import policies
from ledger.events.findings import FindingsReported
from ledger.events.run import BESIDE, OWN
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.model.metadata import Metadata, metadata_lines
from ledger.model.run_modes import INVESTIGATE
from ledger.model.spend_limits import value_of
from ledger.queries import agents
from ledger.queries.card_filter import CardScope
from ledger.queries.run_rows import RunRows
from ledger.rows.cards import CardRow
from ledger.rows.links import is_open
from ledger.rows.messages import MessageRow
from ledger.rows.runs import RunRow
from ledger.states import Ending
from ledger.views import (
    cards,
    expansions,
    hand_overs,
    jobs,
    links,
    messages,
    notes,
    reports,
    rule_briefs,
    runs,
    threads,
)
from rules.card.dependencies import may_name
from rules.policy.stages import MARK
from runner.prompts import briefing
from runner.prompts.briefing import (
    BriefingSource,
    ConversationMessage,
    EarlierRun,
    HandOver,
    RecentWork,
    RelatedReport,
    RuleBrief,
)
from runner.run.run_spec import Briefing


def write(services: Services, card: CardRow, run_id: RunId, *, nonce: str = "") -> Briefing:
    """Return the briefing of a run as the views are now; the runner stores it once.

    `nonce` is the secret part of the tags around others' words; random unless it is given.
    """
    nonce = nonce or secrets.token_hex(16)
    with event_store.reading(services.engine) as db:
        author = jobs.author_of(db, card.card_id, card.author)
    trusted = roles.writes(services.hub, card.repository or "", author)
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
        if past.run_id != run_id and past.kind not in BESIDE
    ]
    before = before[: briefing.ATTEMPTS + 1]
    run = runs.get(db, run_id)
    last = next((past for past in before if past.claimed_at is not None), None)
    earlier = [
        EarlierRun(
            past.run_id,
            f"{past.ending or past.state} {past.reason}".strip(),
            _report(db, past),
            past.agent != OWN,
        )
        for past in before
    ]
    return BriefingSource(
        title=card.title,
        body=card.body,
        author=jobs.author_of(db, card.card_id, card.author),
        author_trusted=author_trusted,
        brief=card.brief,
        conversation=tuple(_conversation_message(message, last) for message in said),
        reviews=tuple(_conversation_message(message, last) for message in reviews),
        earlier=tuple(reversed(earlier)),
        handed_over=tuple(hand_over for _, hand_over in _by_people(db, card.card_id))[::-1],
        feedback=threads.pending(db, card.card_id),
        related=_list_related(db, card, run),
        notes=notes.newest(db, (past.run_id for past in before), briefing.NOTES + 1),
        rule_briefs=_rule_briefs(db, card),
        recent=_list_recent_work(db, card, run),
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
    related = [
        (f"{repository}#{number}", says, _list_reports(db, repository, number))
        for repository, number, public, says in others
        if may_name(policy, open_to_readers=is_open(repository, public, places))
    ]
    return tuple(RelatedReport(*report) for report in related if any(it.report for it in report[2]))


def _list_recent_work(db: Connection, card: CardRow, run: RunRow | None) -> tuple[RecentWork, ...]:
    """Return the newest work of who plays the run, where the column asks for it, the oldest first.

    The agent writes for all readers of the card and of the pull request: it is told of nothing that any of
    them may not read, so only of issues and work in the one repository in which all of that is written.
    """
    most = value_of(run.settings, "recent_work") if run is not None else None
    if run is None or card.repository is None or not isinstance(most, int) or most < 1:
        return ()
    if card.repository.casefold() != run.repository.casefold():
        return ()
    scope = CardScope(card.board_id, frozenset({card.repository, run.repository}), drafts=False)
    who = run.played_by.removeprefix(MARK) or run.agent
    known = agents.list_recent(db, scope, min(most, briefing.RECENT), player=who, without=card.card_id)
    return tuple(
        RecentWork(f"{it.repository}#{it.number}", it.title, it.ending or "", _done(db, it.run_id))
        for it in reversed(known)
    )


def _done(db: Connection, run_id: RunId) -> str:
    report = reports.of_runs(db, [run_id]).get(run_id)
    return report.done if report is not None else ""


def _list_reports(db: Connection, repository: str, number: int) -> tuple[HandOver, ...]:
    """Return what people and runs handed over on the issue's cards, oldest first; one more than is told.

    A failed run counts where its agent said something.
    """
    found = cards.of_issue(db, repository, number) if repository else ()
    told = [it for card in found for it in (*_by_people(db, card.card_id), *_by_runs(db, card.card_id))]
    return tuple(hand_over for _, hand_over in sorted(told, key=itemgetter(0))[-briefing.HAND_OVERS - 1 :])


def _by_people(db: Connection, card_id: CardId) -> Iterator[tuple[datetime, HandOver]]:
    """Yield what people handed over when they completed the card, newest first, with its time."""
    for row in hand_overs.newest(db, card_id, briefing.HAND_OVERS + 1):
        yield row.at, HandOver(f"{row.by}, who completed it", (row.text, _metadata(row.metadata)))


def _by_runs(db: Connection, card_id: CardId) -> Iterator[tuple[datetime, HandOver]]:
    """Yield the reports of the card's newest runs, with their time."""
    past = [run for run in runs.of_card(db, card_id, limit=briefing.ATTEMPTS) if run.kind not in BESIDE]
    known = reports.of_runs(db, [run.run_id for run in past])
    for run in past:
        if run.run_id in known or run.ending is Ending.SUCCEEDED:
            state = run.ending or run.state
            who = f"a worker of {run.worker}" if run.agent == OWN else run.agent
            origin = f"{run.run_id} by {who}, {state}{f' ({run.reason})' if run.reason else ''}"
            yield run.ended_at or run.queued_at, HandOver(origin, _report(db, run))


def _report(db: Connection, past: RunRow) -> tuple[str, ...]:
    """Return the parts of a run's report; without one, why it ended."""
    rows = RunRows.read(db, past)
    report = rows.report
    if report is None:
        return (past.detail,)
    found = rows.findings if past.mode == INVESTIGATE else None
    return (
        report.done,
        "\n".join(f"- {item}" for item in report.changed),
        "\n".join(f"to check: {point}" for point in report.check),
        "\n".join(f"open: {question}" for question in report.open_questions),
        _metadata(report.metadata),
        "\n".join(_findings(found)) if found else "",
        past.detail if past.ending is not Ending.SUCCEEDED else "",
    )


def _metadata(metadata: Metadata) -> str:
    return "\n".join(("metadata:", *(f"- {line}" for line in metadata_lines(metadata)))) if metadata else ""


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
