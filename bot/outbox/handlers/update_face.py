"""Writes the card's project fields that differ from the last written ones."""

from collections.abc import Mapping

from sqlalchemy import Connection

from bot.github.api import project_fields, projects
from bot.github.api.projects import Choice, Value
from bot.github.client import Hub
from bot.github.errors import RefusedError
from bot.outbox.contract import Act, ActResult, GivenUpError
from bot.outbox.posting import last_of, wait_for_more
from bot.outbox.targets import read_row
from bot.render.board.card_fields import (
    EARLIER_KINDS,
    KINDS,
    OPTIONS,
    SINGLE_SELECT,
    FaceField,
    field_values,
)
from bot.render.markdown.marker import text_digest
from bot.state import policies
from bot.state.outbox_context import OutboxContext
from ledger.event import Event
from ledger.events.board import BoardSeen, Field
from ledger.ids import BoardId, CardId
from ledger.queries import attempts, run_queue
from ledger.queue.outbox import Entry
from ledger.rows.cards import CardRow
from ledger.rows.runs import RunRow
from ledger.states import CardState, Gate, RunState
from ledger.views import boards, checks, links, runs, spend
from ledger.views.boards import BoardRow
from rules.intents.outbound import UpdateFace

# Each card has one face.
ACT = Act("face:{card_id}", priority=2, coalesce=True, wait_s=2.0)
# The states of a running card; changes of its face within one of them are mere progress.
FLOWING = (CardState.QUEUED, CardState.WORKING, CardState.REVISING)
LOUD = (CardState.NEEDS_INPUT, CardState.FAILED)
COUNTED = (FaceField.COST, FaceField.ELAPSED)
DIGEST_CHARS = 12  # of each field's own digest: enough to see a change


def carry_out(context: OutboxContext, intent: UpdateFace, entry: Entry) -> ActResult:
    """Write the fields that changed in one request; the entry's digest has one digest for each field.

    Raises TooSoonError for mere progress soon after the last write.
    """
    with context.reading() as db:
        card = read_row(db, intent.card_id)
        run = runs.get(db, card.run_id) if card.run_id else None
        wanted = read_face(db, card, run)
        known_board = boards.get(db, card.board_id)
        policy = policies.in_force(db, card.board_id)
    if run is not None and run.is_adopted:  # GitHub has what the ledger lost
        wanted = {field: value for field, value in wanted.items() if field not in COUNTED}
    if known_board is None or card.archived:
        return ActResult()
    last = last_of(context, entry.key)
    digests = {field: text_digest(str(value))[:DIGEST_CHARS] for field, value in wanted.items()}
    # A field that was never written is empty, also one that a later version of Cardinal brings.
    written = dict.fromkeys(FaceField, text_digest("")[:DIGEST_CHARS]) | _parse_digest(
        last.digest if last else ""
    )
    same_state = written.get(FaceField.AGENT) == digests[FaceField.AGENT]
    if last is not None and run is not None and same_state and card.state in FLOWING:
        wait_for_more(context, run, last)
    surely = entry.attempts == 1  # else an earlier attempt may have written something else
    changed = [field for field in wanted if not surely or written.get(field) != digests[field]]
    # Also for a card that shows nothing yet, so that the board is ready before its first run.
    fields = _fields(context.hub, known_board)
    own = {field.name: field for field in fields}
    face_fields = [field for field in changed if not _is_own(context.hub, own[field], field)]
    values = {field: wanted[field] for field in changed if field not in face_fields}
    if values:
        _write_fields(context.hub, known_board.board_id, card.card_id, own, values)
    # A try after a failed one writes all fields, but people may have dragged the card since it became loud.
    became = written.get(FaceField.AGENT) != digests[FaceField.AGENT]
    if became and card.state in LOUD and policy.board.attention_on_top:
        projects.place_first(context.hub, known_board.board_id, card.card_id)

    def events(db: Connection) -> tuple[Event, ...]:
        fresh = boards.get(db, known_board.board_id)
        if fresh is None or {field.name for field in fields} <= {field.name for field in fresh.fields}:
            return ()
        board = (fresh.board_id, fresh.owner, fresh.number, fresh.title, fresh.status_field_id, fresh.columns)
        return (BoardSeen(*board, fields),)

    shown = sorted(
        (written | {field: it for field, it in digests.items() if field not in face_fields}).items()
    )
    return ActResult(card.card_id, " ".join(f"{field.name}={digest}" for field, digest in shown), events)


def read_face(db: Connection, card: CardRow, run: RunRow | None) -> dict[FaceField, str | float]:
    """Return the values that the card's fields should have; `run` is its newest."""
    return field_values(
        card,
        run,
        card_usd=spend.of_card(db, card.card_id).usd,
        place=run_queue.queue_place(db, run.run_id) if run and run.state is RunState.QUEUED else 0,
        parts=links.parts_of(db, card.repository, card.number, links.MAX_PARTS),
        gate=_gate(db, card, run),
        checking=any(check.ending is None for check in attempts.checking(db, card.card_id, 1)),
    )


def _gate(db: Connection, card: CardRow, run: RunRow | None) -> Gate | None:
    """Return the result on the pull request's commit; before there is one, that of the newest run."""
    if card.pull_head:
        return checks.standing(db, card.card_id, card.pull_head)
    tier = checks.newest_gate(db, run.run_id) if run is not None else None
    return None if tier is None else Gate.PASSED if tier.passed else Gate.FAILED


def _write_fields(
    hub: Hub,
    board_id: BoardId,
    card_id: CardId,
    known: Mapping[str, Field],
    values: Mapping[FaceField, str | float],
) -> None:
    def values_by_id(*, fresh: bool) -> dict[str, Value]:
        return {
            known[name].field_id: _value_of(hub, known[name], name, values[name], fresh) for name in values
        }

    try:
        projects.set_fields(hub, board_id, card_id, values_by_id(fresh=False))
    except RefusedError:  # somebody may have renamed an option, or made it anew
        if not any(known[field].kind == SINGLE_SELECT for field in values):
            raise
        projects.set_fields(hub, board_id, card_id, values_by_id(fresh=True))


def _is_own(hub: Hub, field: Field, name: FaceField) -> bool:
    """Tell whether Cardinal may write the field: people may have one of this name for something else."""
    if field.kind != KINDS[name]:
        return field.kind == EARLIER_KINDS.get(name)
    return name not in OPTIONS or project_fields.are_own_options(hub, field.field_id, OPTIONS[name])


def _value_of(hub: Hub, field: Field, name: FaceField, value: str | float, fresh: bool) -> Value:
    """Return the value as this field takes it: an older board has texts where a new one has choices."""
    if value == "":
        return None
    if field.kind != SINGLE_SELECT:
        return value
    ids = project_fields.ensure_options(hub, field.field_id, OPTIONS[name], fresh=fresh)
    return Choice(ids[str(value)], str(value), field.name)


def _parse_digest(digest: str) -> dict[FaceField, str]:
    names = {field.name: field for field in FaceField}
    pairs = (pair.partition("=") for pair in digest.split())
    return {names[name]: value for name, _, value in pairs if name in names}


def _fields(hub: Hub, board: BoardRow) -> tuple[Field, ...]:
    """Return the board's fields, after making those of the face that are missing."""
    if {*FaceField} <= {field.name for field in board.fields}:
        return board.fields
    fields = projects.read_board(hub, board.owner, board.number).fields
    for face_field in FaceField:
        if face_field not in {field.name for field in fields}:
            try:
                fields = (
                    *fields,
                    project_fields.create_field(
                        hub, board.board_id, face_field, KINDS[face_field], OPTIONS.get(face_field, {})
                    ),
                )
            except RefusedError as error:
                # Another publisher may have made it just now.
                fields = projects.read_board(hub, board.owner, board.number).fields
                if face_field not in {field.name for field in fields}:
                    if not error.final:
                        raise
                    raise GivenUpError(
                        f"project field {face_field} cannot be made: {error.because}"
                    ) from error
    return fields
