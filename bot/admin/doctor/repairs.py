"""Repairs of `cardinal doctor --fix`: safe to do twice, and never of what people wrote."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from bot.admin.doctor import github, repositories
from bot.admin.doctor.board import wanted_header
from bot.admin.doctor.check_result import CheckResult, DoctorContext
from bot.github import failed_deliveries
from bot.github.api import projects as github_board
from bot.github.errors import GithubError, RefusedError
from bot.render.board.card_fields import KINDS, FaceField
from bot.sync import access

Repair = Callable[[DoctorContext], str]


def mend(patient: DoctorContext, findings: Iterable[CheckResult]) -> Iterator[str]:
    """Do each repair that the findings name, once; yield a sentence for each, also for a failure."""
    for name in dict.fromkeys(one.mends for one in findings if one.mends):
        try:
            yield REPAIRS[name](patient)
        except GithubError as error:
            yield f"{name}: {error}"


def _fields(patient: DoctorContext) -> str:
    made: list[str] = []
    for known in patient.boards():
        board = github_board.read_board(patient.hub, known.owner, known.number)
        there = {field.name for field in board.fields}
        for name in (field for field in FaceField if field not in there):
            try:
                github_board.create_field(patient.hub, known.board_id, name, KINDS[name])
            except RefusedError:  # a publisher made it just now
                continue
            made.append(name)
    return f"fields made: {', '.join(made) or 'none, they are there'}"


def _columns(patient: DoctorContext) -> str:
    written = 0
    for known in patient.boards():
        wanted = {one.name: wanted_header(patient, known, one.name) or "" for one in known.columns}
        written += github_board.describe_columns(patient.hub, known.status_field_id, wanted)
    return f"column descriptions written on {written} boards"


def _deliveries(patient: DoctorContext) -> str:
    if patient.engine is None:
        return "there is no ledger yet: start `cardinal up` first"
    sent = failed_deliveries.recover(patient.hub, patient.now, partial(github.arrived, patient))
    if not sent:
        return "the lost deliveries were asked for a moment ago: look again in a few minutes"
    return f"{len(sent)} lost deliveries were asked for again"


def _repositories(patient: DoctorContext) -> str:
    moved = tuple(repositories.moved(patient))
    if not moved or patient.engine is None:
        return "the repositories are followed already"
    access.record_moved(patient.engine, moved, at=patient.now)
    return f"followed: {', '.join(f'{one.before} to {one.after}' for one in moved)}"


REPAIRS: Mapping[str, Repair] = {
    "fields": _fields,
    "columns": _columns,
    "deliveries": _deliveries,
    "repositories": _repositories,
}
