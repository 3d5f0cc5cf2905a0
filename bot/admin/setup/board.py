"""The board of a set-up: found, then made ready with Cardinal's fields, columns and headers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot.admin.setup.errors import NoBoardError
from bot.github.api import project_fields
from bot.github.api import projects as github_board
from bot.github.client import Hub
from bot.github.errors import NotFoundError, PermissionMissingError, RefusedError
from bot.render.board.card_fields import KINDS, OPTIONS, FaceField
from bot.repo_config import policy_file, workflow_files
from bot.state import policy_names
from ledger.events.board import Field
from ledger.ids import BoardId
from ledger.model.column_names import column_key
from rules.card.column_actions import consequence
from rules.errors import PolicyError
from rules.policy import locations
from rules.policy.model import Policy, default_policy, parse
from rules.text import plain

Choose = Callable[[Sequence[tuple[int, str]]], int]  # the boards' numbers and titles -> the number of one
MAX_NAMED = 20
VIEW = "Cardinal"  # the name of the view that shows the card's face
_OF_TEMPLATES = {
    column_key(name): kind
    for kind, names in {
        "inbox": ("Backlog", "Todo", "To do", "To triage", "New", "Ready", "On hold", "Blocked"),
        "planning": ("In discussion", "Design"),
        "execution": ("In progress",),
        "review": ("In review", "Needs review", "Ready for review"),
        "terminal": ("Done", "Closed", "Shipped"),
    }.items()
    for name in names
}


class ViewResult(StrEnum):
    """The board's view that shows the fields of a card's face."""

    MADE = "made"
    THERE = "there"
    BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class PreparedBoard:
    """A board that is ready; `strange` are its columns that the policy does not name. `converted`: texts that
    are fields of choices now, each with the number of cards whose text is none of the choices.
    """

    title: str
    fields: tuple[str, ...]
    converted: Mapping[str, int]
    columns: tuple[str, ...]
    described: bool
    view: ViewResult
    strange: tuple[str, ...]
    missing: tuple[str, ...]
    policy_said: str


def find(hub: Hub, owner: str, choose: Choose | None) -> int:
    """Return the number of the only open board, or of the one that `choose` says.

    Raises NoBoardError where there is none, and where there are several and nobody to ask.
    """
    boards = github_board.list_boards(hub, owner)
    if not boards:
        raise NoBoardError(
            f"{owner} has no project that the App may see: create one under {owner}'s Projects, then "
            "run `cardinal init` again"
        )
    if len(boards) == 1:
        return boards[0][0]
    if choose is None:
        named = ", ".join(f"{owner}/{number} ({plain(title, 40)})" for number, title in boards[:MAX_NAMED])
        raise NoBoardError(f"{owner} has several projects, {named}: say which with --board")
    return choose(boards)


def prepare_board(
    hub: Hub, owner: str, number: int, home_repository: str, *, named: bool, columns: bool
) -> PreparedBoard:
    """Make missing fields and columns and update the others; a second call changes nothing.

    `named`: somebody chose the home repository. `columns`: make the policy's columns too; others stay.
    """
    event = github_board.read_board(hub, owner, number)
    policy, said = _policy(hub, home_repository, named=named)
    names = tuple(policy.board.columns)
    made = github_board.add_columns(hub, event.status_field_id, names) if columns else ()
    if made:
        event = github_board.read_board(hub, owner, number)
    known = {field.name: field for field in event.fields}
    converted = _convert_fields(hub, event.board_id, known)
    fields = tuple(str(field) for field in FaceField if field not in known and field not in converted)
    for field in map(FaceField, fields):
        project_fields.create_field(hub, event.board_id, field, KINDS[field], OPTIONS.get(field, {}))
    there = [column.name for column in event.columns]
    have = set(map(column_key, there))
    descriptions = {
        name: consequence(served) for name in there if (served := policy.column(name)) is not None
    }
    view = _show_fields(hub, owner, number, event.board_id)
    described = github_board.describe_columns(hub, event.status_field_id, descriptions)
    return PreparedBoard(
        title=event.title,
        fields=fields,
        converted=converted,
        columns=made,
        described=described,
        view=view,
        strange=tuple(name for name in there if policy.column(name) is None),
        missing=tuple(name for name in names if column_key(name) not in have),
        policy_said=said,
    )


def _convert_fields(hub: Hub, board_id: BoardId, known: Mapping[str, Field]) -> dict[str, int]:
    """Make fields of choices of the texts that an earlier Cardinal made, or go on where that was stopped."""
    return {
        str(name): project_fields.convert_text_field(hub, board_id, known, name, KINDS[name], options=options)
        for name, options in OPTIONS.items()
        if (name in known and known[name].kind == "TEXT") or project_fields.NEW.format(name) in known
    }


def _show_fields(hub: Hub, owner: str, number: int, board_id: BoardId) -> ViewResult:
    """Make the view that shows the card's face, unless a view of that name is there.

    Without it nobody sees the fields: a view shows GitHub's own until somebody chooses others.
    """
    if github_board.has_view(hub, board_id, VIEW):
        return ViewResult.THERE
    try:
        github_board.create_view(hub, owner, number, VIEW, ("Title", "Assignees", *FaceField))
    except (NotFoundError, PermissionMissingError, RefusedError):  # an Enterprise Server without such calls
        return ViewResult.BY_HAND
    return ViewResult.MADE


def propose_columns(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the archetype of each column that one of GitHub's templates makes.

    Source: the templates Kanban, Team planning, Feature release, Bug tracker and Iterative development of
    docs.github.com/issues/planning-and-tracking-with-projects/creating-projects.
    """
    yield from ((name, kind) for name in names if (kind := _OF_TEMPLATES.get(column_key(name))))


def _policy(hub: Hub, home_repository: str, *, named: bool) -> tuple[Policy, str]:
    """Return the policy that Cardinal will read, and a sentence about where it comes from."""
    try:
        text, commit = policy_file.read(hub, home_repository)
    except NotFoundError:
        meanwhile = "nothing starts" if named else "the built-in policy applies"
        return default_policy(""), (
            f"{home_repository} does not exist, or the App cannot read it: {meanwhile} until it can; "
            "name another with --policy-repository"
        )
    if text is None:
        return default_policy(""), f"{home_repository} has no {locations.PATH}: the built-in policy applies"
    try:
        flows = workflow_files.read_workflows(hub, home_repository, commit)
        return parse(
            text, home=home_repository, installed=policy_names.list_for_any_host(), workflows=flows
        ), f"the policy is {locations.PATH} of {home_repository}"
    except PolicyError as error:
        return default_policy(""), (
            f"{locations.PATH} of {home_repository} is refused, so none of it applies: {error.problems[0]}"
        )
