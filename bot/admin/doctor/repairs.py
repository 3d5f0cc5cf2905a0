"""What `cardinal doctor --fix` repairs: only what is safe to do twice, and nothing that people wrote."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from bot.admin.doctor import repositories
from bot.admin.doctor.board import wanted_header
from bot.admin.doctor.check_result import CheckResult, DoctorContext
from bot.github import failed_deliveries
from bot.github.api import projects as github_board
from bot.github.errors import GithubError, RefusedError
from bot.render.board.card_fields import KINDS, FaceField
from bot.sync import access
from ledger.log import event_store
from ledger.queue import inbox
from ledger.views import boards

Repair = Callable[[DoctorContext], str]


def mend(patient: DoctorContext, findings: Iterable[CheckResult]) -> Iterator[str]:
    """Do what the findings name, each once, and yield a sentence for each; a failure is a sentence, too."""
    for name in dict.fromkeys(one.mends for one in findings if one.mends):
        try:
            yield REPAIRS[name](patient)
        except GithubError as error:
            yield f"{name}: {error}"


def _fields(patient: DoctorContext) -> str:
    made: list[str] = []
    for known in _boards(patient):
        there = {
            field.name for field in github_board.read_board(patient.hub, known.owner, known.number).fields
        }
        for name in (one for one in FaceField if one not in there):
            try:
                github_board.create_field(patient.hub, known.board_id, name, KINDS[name])
            except RefusedError:  # a publisher made it just now
                continue
            made.append(name)
    return f"fields made: {', '.join(made) or 'none, they are there'}"


def _columns(patient: DoctorContext) -> str:
    written = 0
    for known in _boards(patient):
        wanted = {one.name: wanted_header(patient, known, one.name) or "" for one in known.columns}
        written += github_board.describe_columns(patient.hub, known.status_field_id, wanted)
    return f"column descriptions written on {written} boards"


def _deliveries(patient: DoctorContext) -> str:
    engine = patient.engine
    if engine is None:
        return "there is no ledger yet: start `cardinal up` first"
    with event_store.reading(engine) as db:
        asked = failed_deliveries.recover(
            patient.hub, patient.now, lambda ids: frozenset(one for one in ids if inbox.known(db, one))
        )
    if not asked:
        return "the lost deliveries were asked for a moment ago: look again in a few minutes"
    return f"{len(asked)} lost deliveries were asked for again"


def _repositories(patient: DoctorContext) -> str:
    moved = tuple(repositories.moved(patient))
    if not moved or patient.engine is None:
        return "the repositories are followed already"
    access.record_moved(patient.engine, moved, at=patient.now)
    return f"followed: {', '.join(f'{one.before} to {one.after}' for one in moved)}"


def _boards(patient: DoctorContext) -> tuple[boards.BoardRow, ...]:
    if patient.engine is None:
        return ()
    with event_store.reading(patient.engine) as db:
        return boards.all_boards(db)


REPAIRS: Mapping[str, Repair] = {
    "fields": _fields,
    "columns": _columns,
    "deliveries": _deliveries,
    "repositories": _repositories,
}
