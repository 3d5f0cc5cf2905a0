"""Makes the rules' snapshot of one card out of the ledger's views."""

from sqlalchemy import Connection

from ledger.ids import BoardId, CardId, QuestionId, RunId
from ledger.states import RunState
from ledger.views import boards, cards, links, merges, plans, questions, runs, stops, threads
from rules.snapshot import (
    LEAVE,
    BlockerSeen,
    OpenQuestion,
    PullSeen,
    RunSeen,
    Snapshot,
    Standing,
    Stop,
)
from rules.starting import MOST_AN_HOUR


def of_card(db: Connection, card_id: CardId) -> Snapshot | None:
    """Return the card as it is now, or None for one that the ledger never saw."""
    row = cards.get(db, card_id)
    return None if row is None else _snapshot(db, row)


def board_stops(db: Connection, board_id: BoardId) -> tuple[Stop, ...]:
    """Return the kill switches that are on for the board."""
    return tuple(Stop(row.scope, row.target, row.by) for row in stops.of_board(db, board_id))


def _snapshot(db: Connection, row: cards.CardRow) -> Snapshot:
    run = _run(db, row)
    blockers = _blockers(db, row) if run and run.state is RunState.QUEUED else ()
    return Snapshot(
        card_id=row.card_id,
        board_id=row.board_id,
        repository=row.repository,
        number=row.number,
        title=row.title,
        body=row.body,
        author=row.author,
        labels=row.labels,
        column=row.column,
        state=row.state,
        because=row.because,
        archived=row.archived,
        held_back=row.held_back,
        brief=row.brief,
        run=run,
        attempts=row.attempts,
        pull=_pull(db, row),
        verdict=row.verdict,
        pending_threads=threads.pending_count(db, row.card_id),
        stops=board_stops(db, row.board_id),
        last_said=row.last_said,
        last_answered=row.last_answered,
        closed=row.closed,
        given_up=row.given_up,
        blockers=blockers,
        circle=_circle(db, row) if any(one.standing is not Standing.DONE for one in blockers) else (),
        approved_head=row.approved_head,
        put_back=row.put_back,
        begun=runs.begun(db, row.card_id, MOST_AN_HOUR),
        board_owner=boards.owner_of(db, row.board_id),
    )


def _run(db: Connection, row: cards.CardRow) -> RunSeen | None:
    run = runs.get(db, RunId(row.run_id)) if row.run_id else None
    if run is None:
        return None
    asked = _open_questions(db, run)
    return RunSeen(
        run_id=run.run_id,
        attempt=run.attempt,
        kind=run.kind,
        column=run.column,
        state=run.state,
        ending=run.ending,
        reason=run.reason,
        detail=run.detail,
        plan_required=run.plan_required,
        plan_revision=run.plan_revision,
        plan_approved=run.plan_approved,
        question=asked[0] if asked else None,
        session_id=run.session_id,
        stop_asked=run.stop_asked,
        last_line=run.last_line,
        usd=run.usd,
        wait=row.because if run.state is RunState.QUEUED else "",
        stop_by=run.stop_by,
        stop_why=run.stop_why,
        withdrawn=_withdrawn(db, run),
        plan_at=plans.proposed_at(db, run.run_id, run.plan_revision) if run.plan_revision else None,
        behind=asked[1] if len(asked) > 1 and asked[1].asker == LEAVE else None,
    )


def _blockers(db: Connection, row: cards.CardRow) -> tuple[BlockerSeen, ...]:
    return tuple(
        BlockerSeen(_name(row, one.repository, one.number), one.title, _standing(one))
        for one in links.of_card(db, row.card_id)
    )


def _standing(link: links.LinkRow) -> Standing:
    if not link.holds:
        return Standing.DONE
    return Standing.OPEN if link.state == "open" else Standing.ABANDONED


def _circle(db: Connection, row: cards.CardRow) -> tuple[str, ...]:
    return tuple(_name(row, *place) for place in links.circle(db, row.card_id))


def _name(row: cards.CardRow, repository: str, number: int) -> str:
    if not repository:
        return ""
    return f"#{number}" if repository == row.repository else f"{repository}#{number}"


def _withdrawn(db: Connection, run: runs.RunRow) -> tuple[QuestionId, ...]:
    if run.ending is None or not run.questions:
        return ()
    return tuple(one.question_id for one in questions.of_run(db, run.run_id) if one.withdrawn)


def _open_questions(db: Connection, run: runs.RunRow) -> tuple[OpenQuestion, ...]:
    """Return the run's open questions, the newest first; only the one about leaving can be behind another."""
    asked = questions.open_of_run(db, run.run_id) if run.questions else ()
    return tuple(OpenQuestion(it.question_id, it.asker, it.text, it.choices, it.asked_at) for it in asked)


def _pull(db: Connection, row: cards.CardRow) -> PullSeen | None:
    if row.pull_number is None:
        return None
    awaited = merges.get(db, row.card_id) if row.pull_state == "open" else None
    how, head = (awaited.how, awaited.head) if awaited else ("", "")
    return PullSeen(row.pull_number, row.pull_state, row.pull_draft, row.pull_head, row.branch, how, head)
