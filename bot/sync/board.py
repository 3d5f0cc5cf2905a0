"""The board's shape and policy synced into the ledger."""

import logging
from collections.abc import Iterator

from bot.bootstrap import Services
from bot.github.api import projects as github_board
from bot.github.api.project_models import CardReading
from bot.github.errors import NotFoundError, StatusMissingError
from bot.reactor import reactor
from bot.repo_config import policy_file, profiles, workflow_files
from bot.state import policies as policies_in_force
from bot.state import policy_names, served_boards
from ledger.event import Event
from ledger.events.board import BoardSeen, BoardServed, ColumnsChanged, Renaming, StatusFound, StatusLost
from ledger.events.policy import PolicyLoaded, PolicyRejected, digest_of_policy
from ledger.ids import BoardId
from ledger.log import event_store
from ledger.queue import outbox
from ledger.views import boards, policies
from rules.errors import PolicyError
from rules.policy.model import parse

log = logging.getLogger(__name__)


def is_ready(services: Services) -> bool:
    """Read the board and its policy if unknown; return whether cards can be synced: a policy is in force and
    the board has its field Status.

    Events of cards wait for the board's own policy: no default decides about them.
    """
    board_id = serve_board(services)
    with event_store.reading(services.engine) as db:
        unread = policies.current(db, board_id) is None
    if unread:
        load_policy(services, board_id)
    with event_store.reading(services.engine) as db:
        return policies_in_force.is_known(db, board_id) and boards.find_lost_status(db, board_id) is None


def agrees(services: Services, reading: CardReading) -> bool:
    """Tell whether the known columns are those in the card's answer; if not, read the board.

    Otherwise a renamed or deleted column would look like drags by people.
    """
    with event_store.reading(services.engine) as db:
        board = boards.get(db, reading.board_id)
    if board is not None and reading.status == tuple(
        (column.option_id, column.name) for column in board.columns
    ):
        return True
    try:
        note(services, github_board.read_board(services.hub, *services.board.address))
    except StatusMissingError as error:
        note_lost(services, error)
    return False


def serve_board(services: Services) -> BoardId:
    """Return the board's id; read the board where that was never done, and serve it from then on.

    Raises OtherBoardError for a board that the ledger does not serve.
    """
    with event_store.reading(services.engine) as db:
        known_board = boards.at(db, *services.board.address)
    if known_board is not None and known_board.served:
        return known_board.board_id
    board_id, board = known_board.board_id if known_board else refresh(services), services.board
    with event_store.writing(services.engine) as db:
        if board.is_configured(services.config):
            served_boards.refuse_another(db, services.config)
        known_board = boards.get(db, board_id)
        if known_board is None or not known_board.served:
            reactor.append_and_react(
                db, BoardServed(board_id, board.policy_repository, board.weight), now=services.now()
            )
            outbox.let_go_on(db)  # what the board left when it was removed
    return board_id


def if_served(services: Services, board_id: BoardId) -> Services | None:
    """Return the services for the board, as `Services.if_served`; that of the settings is read first, if it
    never was.
    """
    on = services.if_served(board_id)
    if on is None and services.config.board and serve_board(services.on_configured()) == board_id:
        on = services.if_served(board_id)
    return on


def refresh(services: Services) -> BoardId:
    """Read the board's shape and its policy file, append the differences, and return the board's id."""
    event = github_board.read_board(services.hub, *services.board.address)
    note(services, event)
    load_policy(services, event.board_id)
    return event.board_id


def note(services: Services, event: BoardSeen) -> None:
    """Append the board's shape where it differs from the known one, and before it the fate of its columns."""
    with event_store.writing(services.engine) as db:
        board = boards.get(db, event.board_id)
        events: list[Event] = []
        if boards.find_lost_status(db, event.board_id) is not None:
            events.append(StatusFound(event.board_id))
        if board is not None:
            events += _compare_columns(board, event)
        if board is None or _shape(board) != _shape(event):
            events.append(event)
        reactor.append_and_react(db, *events, now=services.now())


def note_lost(services: Services, error: StatusMissingError) -> None:
    """Append once that the board's field Status is gone or renamed."""
    with event_store.writing(services.engine) as db:
        board = boards.at(db, *services.board.address)
        if board is None:
            raise error
        now = error.fields.get(board.status_field_id, "")
        if boards.find_lost_status(db, board.board_id) != now:
            reactor.append_and_react(db, StatusLost(board.board_id, now), now=services.now())


def _compare_columns(board: boards.BoardRow, event: BoardSeen) -> Iterator[ColumnsChanged]:
    """Yield which known columns were renamed or removed, by their options' ids."""
    now = {column.option_id: column.name for column in event.columns}
    renamed = tuple(
        Renaming(was.option_id, was.name, now[was.option_id])
        for was in board.columns
        if now.get(was.option_id, was.name) != was.name
    )
    removed = tuple(was.name for was in board.columns if was.option_id not in now)
    if renamed or removed:
        yield ColumnsChanged(board.board_id, renamed, removed)


def follow_policy(services: Services, board_id: BoardId, *, newest: str | None, last: str | None) -> None:
    """Read the policy file if its repository's `newest` commit is not the `last` one that was read.

    Without a repository (None) the last policy stays; the built-in one applies until there was one.
    """
    with event_store.reading(services.engine) as db:
        policy = policies.current(db, board_id)
    sound = policy is not None and (bool(policy.problems) or policies_in_force.is_readable(policy))
    if not sound or (newest is not None and newest != last):
        load_policy(services, board_id)


def _shape(board: boards.BoardRow | BoardSeen) -> tuple[object, ...]:
    return board.title, board.status_field_id, board.columns, board.fields


def load_policy(services: Services, board_id: BoardId) -> None:
    """Read the home repository's policy file; a bad one is reported, and the last good one stays in force.

    It also stays if the repository is gone or out of reach. The built-in policy applies if none was ever
    configured or read.
    """
    home = services.board.home_repository
    try:
        text, commit = policy_file.read(services.hub, home)
    except NotFoundError as error:
        log.warning("policy not read repository=%s reason=%s", home, error)
        with event_store.reading(services.engine) as db:
            if policies.current(db, board_id) is not None:
                return
        if services.board.policy_repository:
            return  # it is configured, and its file may allow less than the built-in policy
        text, commit = None, ""
    own = profiles.own_profile_names(services.hub, home, commit, text) if text else ()
    flows = workflow_files.read_workflows(services.hub, home, commit) if text else ()
    digest = digest_of_policy(text or "", flows)
    with event_store.writing(services.engine) as db:
        policy = policies.current(db, board_id)
        same = policy is not None and digest == (policy.rejected_digest or policy.digest)
        # A file that another version accepted is validated again by this one.
        if same and policy is not None and (policy.problems or policies_in_force.is_readable(policy)):
            return
        event: Event = PolicyLoaded(board_id, digest, text or "", commit, flows)
        try:
            if text is not None:
                installed = policy_names.list_installed(services.config.agents)
                parse(text, home=home, installed=installed, profiles=own, workflows=flows)
        except PolicyError as error:
            event = PolicyRejected(board_id, digest, commit, error.problems)
        reactor.append_and_react(db, event, now=services.now())
