"""Is the board in order: its shape, its policy, the fields and descriptions that Cardinal writes."""

from collections.abc import Iterator

from bot.admin.doctor.check_result import CheckResult, DoctorContext, Level
from bot.render.board.card_fields import KINDS, FaceField
from bot.state import policies as policies_in_force
from bot.sync import structure
from ledger.log import event_store
from ledger.views import boards as known_boards
from ledger.views import policies
from rules.card.column_header import consequence


def boards(patient: DoctorContext) -> Iterator[CheckResult]:
    """Is the board known, and its policy in order?"""
    if patient.engine is None:
        return
    with event_store.reading(patient.engine) as db:
        seen = known_boards.all_boards(db)
        rejected = {board.board_id: policies.current(db, board.board_id) for board in seen}
    if not seen:
        yield CheckResult(
            "board", Level.WARN, "no board was seen yet", "let `cardinal up` run until its first sweep"
        )
    for board in seen:
        name = f"{board.owner}/{board.number}"
        yield CheckResult(
            "board", Level.OK, f"{name} has {len(board.columns)} columns, {len(board.fields)} fields"
        )
        yield from _policy(name, rejected[board.board_id])


def _policy(name: str, policy: policies.PolicyRow | None) -> Iterator[CheckResult]:
    if policy is None:
        found = f"{name}: its policy was not read yet, so nothing is started"
        yield CheckResult("policy", Level.WARN, found, "let `cardinal up` run, and look at its log")
        return
    if not policies_in_force.is_readable(policy.text):
        found = f"{name}: this version cannot read the policy that was in force, so nothing is started"
        yield CheckResult("policy", Level.FAIL, found, "correct .github/cardinal.yml for this version")
    if policy.problems:
        found = f"{name}: the file at {policy.rejected_commit[:12]} is refused: {policy.problems[0]}"
        then = "the last good one is in force" if policy.digest else "nothing is started before"
        yield CheckResult("policy", Level.FAIL, found, f"correct .github/cardinal.yml; {then}")
    else:
        where = f"is from {policy.commit[:12]}" if policy.commit else "is the built-in one"
        yield CheckResult("policy", Level.OK, f"the policy of {name} {where}")


def columns(patient: DoctorContext) -> Iterator[CheckResult]:
    """Are the board's columns those that the policy names?"""
    for board in _known(patient):
        if patient.engine is None:
            return
        with event_store.reading(patient.engine) as db:
            troubles = tuple(structure.troubles(db, board.board_id))
            missing = structure.unknown_to_board(db, board.board_id)
            unnamed = structure.unknown_to_policy(db, board.board_id)
        for trouble in troubles:
            found, _, step = trouble.rpartition(": ")
            yield CheckResult("columns", Level.FAIL, found, step)
        if missing:
            found = f"the policy names {', '.join(missing)}, and the board has no such column"
            yield CheckResult("columns", Level.WARN, found, "add it to the board, or correct the policy")
        if unnamed and not troubles:
            found = f"the policy does not name {', '.join(unnamed)}: nobody serves cards there"
            yield CheckResult("columns", Level.OK, found)


def fields(patient: DoctorContext) -> Iterator[CheckResult]:
    """Has the board the fields that a card's face is written in?"""
    for board in _known(patient):
        kinds = {field.name: field.kind for field in board.fields}
        missing = [name for name in FaceField if name not in kinds]
        wrong = [name for name in FaceField if kinds.get(name, KINDS[name]) != KINDS[name]]
        if wrong:
            found = f"the board's field {wrong[0]} is not of the kind {KINDS[wrong[0]]}"
            yield CheckResult("fields", Level.FAIL, found, "rename or delete it; Cardinal makes its own")
        elif missing:
            found = f"the board has no field {', '.join(missing)}"
            yield CheckResult("fields", Level.WARN, found, "run `cardinal doctor --fix`", mends="fields")
        else:
            yield CheckResult("fields", Level.OK, f"the board has all {len(KINDS)} fields")


def headers(patient: DoctorContext) -> Iterator[CheckResult]:
    """Does each column's description say what a drag into it does?"""
    for board in _known(patient):
        stale = [
            one.name for one in board.columns if wanted_header(patient, board, one.name) != one.description
        ]
        if stale:
            found = f"the description of {', '.join(stale)} does not say what a drag does"
            yield CheckResult("columns", Level.WARN, found, "run `cardinal doctor --fix`", mends="columns")
        else:
            yield CheckResult("columns", Level.OK, "the columns' descriptions say what a drag does")


def wanted_header(patient: DoctorContext, board: known_boards.BoardRow, column: str) -> str | None:
    """Return the description that a column should have: what it has where the policy does not name it."""
    if patient.engine is None:
        return None
    with event_store.reading(patient.engine) as db:
        found = policies_in_force.in_force(db, board.board_id).column(column)
    if found is not None:
        return consequence(found)
    return next((one.description for one in board.columns if one.name == column), None)


def _known(patient: DoctorContext) -> tuple[known_boards.BoardRow, ...]:
    if patient.engine is None:
        return ()
    with event_store.reading(patient.engine) as db:
        return known_boards.all_boards(db)
