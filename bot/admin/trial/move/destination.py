"""Destination of carried cards on GitHub: its repository and board, and the cards that are there already."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from bot.admin.clone.own_git import CloneError
from bot.github.api import projects
from bot.github.client import repository_path
from bot.github.errors import (
    GithubError,
    NotFoundError,
    PermissionMissingError,
    RateLimitedError,
    StatusMissingError,
    TokenError,
    UnavailableError,
)
from bot.github.personal import PersonalHub
from bot.render.markdown.marker import markers_in
from ledger.events.board import BoardSeen
from ledger.model.column_names import same_column

MAX_PAGES = 100  # of 100 issues each, by this person
_KEY = re.compile(r"try:([0-9a-f]{16}):([^:]{1,100})(?::(\d{1,4}))?")
ADVICE: Mapping[type[GithubError], str] = {
    TokenError: "GitHub rejects this token: get a new one, such as from `gh auth token`",
    PermissionMissingError: "the token is not allowed to: it needs the scopes `repo` and `project` (`gh auth "
    "refresh -s project`), and you need write access",
    NotFoundError: "it does not exist, or the token cannot see it: check the name, and the scopes `repo` and "
    "`project`",
    StatusMissingError: "the board needs a field Status with its columns",
    RateLimitedError: "GitHub's rate limit is reached: run this again later to continue",
    UnavailableError: "run this again to continue",
}


@dataclass(frozen=True, slots=True)
class Destination:
    """A repository and a board where `login` may write."""

    hub: PersonalHub
    login: str
    repository: str
    board: BoardSeen

    def option_of(self, column: str) -> str:
        """Return the id of a column; empty where the board has none of that name."""
        options = (it.option_id for it in self.board.columns if same_column(it.name, column))
        return next(options, "")


@dataclass(frozen=True, slots=True)
class Mark:
    """Content of a hidden marker: the card, the part of its history, the digest of the text."""

    board: str
    card: str
    part: str
    digest: str


def marker_key(board: str, card: str, part: int | None = None) -> str:
    """Return the marker's key for an issue, or for a part of its history."""
    return f"try:{board}:{card}" if part is None else f"try:{board}:{card}:{part}"


def mark_of(text: str) -> Mark | None:
    """Return the last marker of `cardinal try` in the text: an earlier one may be somebody else's words."""
    keys = ((_KEY.fullmatch(marker.key), marker.digest) for marker in reversed(markers_in(text or "")))
    return next((Mark(key[1], key[2], key[3] or "", digest) for key, digest in keys if key), None)


@contextmanager
def in_words() -> Iterator[None]:
    """Raise CloneError, with the next step for a person, in place of an error of GitHub's."""
    try:
        yield
    except GithubError as error:
        fitting = (text for kind, text in ADVICE.items() if isinstance(error, kind))
        advice = next(fitting, "change that, then run this again to continue")
        raise CloneError(f"GitHub: {error.call}: {error.because}: {advice}") from error


def find(hub: PersonalHub, repository: str, board: str) -> Destination:
    """Return the place. `board` is OWNER/NUMBER; empty: the only open one of the repository's owner.

    Only reads. Raises CloneError, GithubError.
    """
    login = str(hub.rest("GET", "/user").body["login"])
    known = hub.rest("GET", repository_path(repository)).body
    name = str(known["full_name"])
    if not (known.get("permissions") or {}).get("push"):
        raise CloneError(f"{login} may not write to {name}: ask one of its owners for the role Write")
    if known.get("archived"):
        raise CloneError(f"{name} is archived and cannot be written to: name another repository")
    if not known.get("has_issues", True):
        raise CloneError(
            f"issues are disabled in {name}: enable them in its settings, or name another repository"
        )
    owner, _, number = board.partition("/")
    if not board:
        owner, number = name.partition("/")[0], _only_board(hub, name.partition("/")[0])
    return Destination(hub, login, name, projects.read_board(hub, owner, int(number)))


def _only_board(hub: PersonalHub, owner: str) -> str:
    boards = projects.list_boards(hub, owner)
    if not boards:
        raise CloneError(f"{owner} has no project that you may see: create one there, then run this again")
    if len(boards) > 1:
        names = ", ".join(f"{owner}/{number}" for number, _ in boards[:20])
        raise CloneError(f"{owner} has several projects, {names}: say which with --board")
    return str(boards[0][0])


def issues_there(place: Destination, board: str) -> dict[str, Mapping[str, Any]]:
    """Return the issues that were carried over from that board before, by card."""
    issues: dict[str, Mapping[str, Any]] = {}
    params = {"state": "all", "creator": place.login, "sort": "created", "direction": "asc"}
    for issue in place.hub.pages(
        f"{repository_path(place.repository)}/issues", params=params, most=MAX_PAGES
    ):
        mark = mark_of(issue["body"])
        if mark and mark.board == board and not mark.part and _is_of(issue, place.login):
            issues.setdefault(mark.card, issue)
    return issues


def history_there(place: Destination, board: str, card: str, number: int) -> dict[str, tuple[int, str]]:
    """Return id and digest of the comments that tell a card's history, by part."""
    parts: dict[str, tuple[int, str]] = {}
    for comment in place.hub.pages(
        f"{repository_path(place.repository)}/issues/{number}/comments", most=MAX_PAGES
    ):
        mark = mark_of(comment["body"])
        if mark and (mark.board, mark.card) == (board, card) and mark.part and _is_of(comment, place.login):
            parts.setdefault(mark.part, (int(comment["id"]), mark.digest))
    return parts


def _is_of(thing: Mapping[str, Any], login: str) -> bool:
    return str((thing.get("user") or {}).get("login", "")).casefold() == login.casefold()
