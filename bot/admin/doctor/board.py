"""Checks of the board: its shape, its policy, the fields and descriptions that Cardinal writes."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from bot.admin.doctor import CheckResult, DoctorContext, fail, ok, warn
from bot.github.api import project_fields, projects
from bot.github.errors import RefusedError
from bot.render.board.card_fields import KINDS, OPTIONS, SINGLE_SELECT, FaceField
from bot.state import policies as policies_in_force
from bot.state import structure
from ledger.ids import CardId, EntryKey
from ledger.log import event_store
from ledger.queue import outbox
from ledger.views import policies, remotes
from ledger.views.boards import BoardRow
from rules.card.column_actions import consequence


def boards(context: DoctorContext) -> Iterator[CheckResult]:
    """Has the board been read, and is its policy valid?"""
    if context.engine is None:
        return
    seen = context.boards()
    if not seen:
        yield warn(
            "board", "no board has been read yet", f"keep `{context.program}` running until its first sweep"
        )
    for board in seen:
        name = board.address
        yield ok("board", f"{name} has {len(board.columns)} columns, {len(board.fields)} fields")
        yield from _policy(
            context, name, context.read(partial(policies.current, board_id=board.board_id), None)
        )


def _policy(context: DoctorContext, name: str, policy: policies.PolicyRow | None) -> Iterator[CheckResult]:
    if policy is None:
        message = f"{name}: its policy has not been read yet, so nothing starts"
        yield warn("policy", message, f"keep `{context.program}` running, and check its log")
        return
    if not policies_in_force.is_readable(policy):
        message = f"{name}: this version cannot read the policy that was in force, so nothing starts"
        yield fail("policy", message, "correct .github/cardinal.yml for this version")
    if policy.problems:
        message = f"{name}: the file at {policy.rejected_commit[:12]} is refused: {policy.problems[0]}"
        then = "the last good one stays in force" if policy.digest else "nothing starts until then"
        yield fail("policy", message, f"correct .github/cardinal.yml; {then}")
    else:
        where = f"is from {policy.commit[:12]}" if policy.commit else "is the built-in one"
        yield ok("policy", f"the policy of {name} {where}")


def columns(context: DoctorContext) -> Iterator[CheckResult]:
    """Do the board's columns match the policy?"""
    if context.engine is None:
        return
    for board in context.boards():
        with event_store.reading(context.engine) as db:
            troubles = tuple(structure.troubles(db, board.board_id))
            missing = structure.unknown_to_board(db, board.board_id)
            unnamed = structure.unknown_to_policy(db, board.board_id)
        for trouble in troubles:
            message, _, step = trouble.rpartition(": ")
            yield fail("columns", message, step)
        if missing:
            message = f"the policy names {', '.join(missing)}, which the board does not have"
            yield warn("columns", message, "add the column to the board, or correct the policy")
        if unnamed and not troubles:
            yield ok(
                "columns", f"the policy does not name {', '.join(unnamed)}, so nothing happens to cards there"
            )


def fields(context: DoctorContext) -> Iterator[CheckResult]:
    """Does the board have the fields that Cardinal shows on cards?"""
    for board in context.boards():
        kinds = {field.name: field.kind for field in board.fields}
        missing = [field for field in FaceField if field not in kinds]
        wrong = [field for field in FaceField if kinds.get(field, KINDS[field]) != KINDS[field]]
        hub = context.hub.at(board.owner)
        taken = [
            field.name
            for field in board.fields
            if field.name in OPTIONS
            and field.kind == SINGLE_SELECT
            and not project_fields.are_own_options(hub, field.field_id, OPTIONS[FaceField(field.name)])
        ]
        if wrong and (kinds[wrong[0]], KINDS[wrong[0]]) == ("TEXT", SINGLE_SELECT):
            message = (
                f"the board's field {wrong[0]} is a text field, so cards cannot be grouped or coloured by it"
            )
            yield warn("fields", message, "run `cardinal init`: it turns it into a single-select field")
        elif wrong:
            message = f"the board's field {wrong[0]} is not of the kind {KINDS[wrong[0]]}"
            yield fail("fields", message, "rename or delete it; Cardinal creates its own")
        elif taken:
            message = f"the board's field {taken[0]} has other options than Cardinal's, so it is left alone"
            yield fail("fields", message, "rename or delete it; Cardinal creates its own")
        elif missing:
            message = f"the board has no field {', '.join(missing)}"
            yield warn("fields", message, "run `cardinal doctor --fix`", mends="fields")
        else:
            yield ok("fields", f"the board has all {len(KINDS)} fields")


def headers(context: DoctorContext) -> Iterator[CheckResult]:
    """Does each column's description state the effect of a drag into it?"""
    for board in context.boards():
        stale = [
            column.name
            for column in board.columns
            if find_expected_header(context, board, column.name) != column.description
        ]
        if not stale:
            yield ok("columns", "the column descriptions say what a drag does")
        elif _are_being_written(context, board):
            step = f"the next sweep reads it, within {context.config.sweep_s:.0f} s"
            yield ok(
                "columns",
                f"the description of {', '.join(stale)} has been written, but not read back yet",
                step,
            )
        else:
            message = f"the description of {', '.join(stale)} does not say what a drag does"
            yield warn("columns", message, "run `cardinal doctor --fix`", mends="columns")


def find_expected_header(context: DoctorContext, board: BoardRow, column: str) -> str | None:
    """Return the description that a column should have: its present one where the policy does not name it."""
    policy = context.read(partial(policies_in_force.in_force, board_id=board.board_id), None)
    column_policy = policy.column(column) if policy else None
    if column_policy is not None:
        return consequence(column_policy)
    return next((known.description for known in board.columns if known.name == column), None)


def _are_being_written(context: DoctorContext, board: BoardRow) -> bool:
    """Tell whether Cardinal writes the first descriptions, or wrote some and may not have read them yet.

    A reading from before the write may be recorded after it. Two sweeps later a difference is somebody else's
    text.
    """
    if context.engine is None:
        return False
    key = EntryKey(f"columns:{board.board_id}")
    with event_store.reading(context.engine) as db:
        remote = remotes.get(db, key)
        if remote is None:
            return any(entry.key == key for entry in outbox.open_of_card(db, CardId(board.board_id)))
    return context.now - remote.at < timedelta(seconds=2 * context.config.sweep_s)


def _make_fields(context: DoctorContext) -> str:
    made: list[str] = []
    for board in context.boards():
        hub = context.hub.at(board.owner)
        there = {field.name for field in projects.read_board(hub, board.owner, board.number).fields}
        for face_field in (field for field in FaceField if field not in there):
            try:
                project_fields.create_field(
                    hub, board.board_id, face_field, KINDS[face_field], OPTIONS.get(face_field, {})
                )
            except RefusedError:  # a publisher made it just now
                continue
            made.append(face_field)
    return f"fields made: {', '.join(made) or 'none, they are there'}"


def _describe_columns(context: DoctorContext) -> str:
    written = 0
    for board in context.boards():
        descriptions = {
            column.name: find_expected_header(context, board, column.name) or "" for column in board.columns
        }
        written += projects.describe_columns(context.hub.at(board.owner), board.status_field_id, descriptions)
    return f"column descriptions written on {written} boards"


ORDER = 4
CHECKS = (boards, columns, fields, headers)
REPAIRS = {"fields": _make_fields, "columns": _describe_columns}
