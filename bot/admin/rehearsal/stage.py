"""The stage of a rehearsal: all that is made for it on GitHub, each thing once and only when it is needed."""

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from bot.admin.rehearsal.belief import SHAPE_ERRORS, NotTriedError, name_failure
from bot.admin.rehearsal.counting import CountingHub
from bot.admin.rehearsal.mail import Mail
from bot.admin.rehearsal.watch import Watch
from bot.github.api import merge_queue, project_queries, projects, pulls, reviews
from bot.github.api.project_models import CardReading
from bot.github.client import repository_path
from bot.github.errors import GithubError, RefusedError
from bot.system.setting_types import BoardAddress
from ledger.events.board import BoardSeen, Column
from ledger.ids import CardId

T = TypeVar("T")
TITLE = "Cardinal rehearsal"  # begins each title, so that remains are found
MARKER = "<!-- cardinal-rehearsal -->"
BRANCHES = "cardinal-rehearsal/"
LABEL = "cardinal-rehearsal"
FILE = "rehearsal.txt"
PAUSE_S, MAX_PAUSE_S = 1.0, 10.0
AT_ONCE_S = 0.001  # a patience for one reading
FIVE = 5


class PersonAct(StrEnum):
    """The acts of a rehearsal that no API can do, as a person is asked for them."""

    DRAG = "drag the card of issue #{number} to the column {column}, in the board view"
    TICK = "tick the first box in the newest comment of #{number}"
    APPROVE = "tick *Approve this plan* in Cardinal's comment on #{number}"
    REVIEW = "in pull request #{number}, comment on a line and submit the review as *Request changes*"
    ACCEPT = "in pull request #{number}, submit a review as *Approve*"


class Participant(Protocol):
    """Somebody at the terminal."""

    def does(self, act: PersonAct, number: int, column: str = "") -> bool:
        """Ask for the act on the issue or pull request; return False where nobody does it."""


class Nobody:
    """Nobody is there."""

    def does(self, act: PersonAct, number: int, column: str = "") -> bool:  # noqa: ARG002 -- as Participant
        """Return False."""
        return False


class material(Generic[T]):
    """A property that is made once. Where making it fails, whoever needs it raises NotTriedError."""

    def __init__(self, make: Callable[["RehearsalStage"], T]) -> None:
        self._make = make

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, stage: "RehearsalStage", _owner: type) -> T:
        if self._name not in stage.made:
            try:
                stage.made[self._name] = self._make(stage)
            except NotTriedError as error:
                stage.made[self._name] = error
            except (GithubError, *SHAPE_ERRORS) as error:
                because = f"it needs {self._name.replace('_', ' ')}: {name_failure(error)}"
                stage.made[self._name] = NotTriedError(because)
        result = stage.made[self._name]
        if isinstance(result, NotTriedError):
            raise NotTriedError(result.because)
        return result  # type: ignore[no-any-return]


@dataclass
class RehearsalStage:
    """GitHub, the board and the repository of a rehearsal, and the things made there.

    `watch` is the ledger of this home, where it has one; `patience_s` bounds each wait for GitHub,
    `run_patience_s` for an agent.
    """

    hub: CountingHub
    address: BoardAddress
    repository: str
    watch: Watch | None = None
    person: Participant = field(default_factory=Nobody)
    patience_s: float = 60.0
    run_patience_s: float = 300.0
    made: dict[str, Any] = field(default_factory=dict)
    cards: list[CardId] = field(default_factory=list)
    missed_delivery: bool = False  # one was waited for in vain

    def until(self, read: Callable[[], T], is_there: Callable[[T], bool], patience_s: float = 0.0) -> T:
        """Return the first reading that is there; the last one when the patience ends.

        Each pause is longer than the one before, for each reading is a call.
        """
        patience_s = patience_s or self.patience_s
        pause_s, end = min(PAUSE_S, patience_s / 5), time.monotonic() + patience_s
        while not is_there(reading := read()) and time.monotonic() < end:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, MAX_PAUSE_S)
        return reading

    def ask(self, act: PersonAct, number: int, column: str = "") -> None:
        """Ask for an act of a person; raises NotTriedError where nobody does it."""
        if not self.person.does(act, number, column):
            raise NotTriedError("no one did it")

    def new_issue(self, number: int = 0) -> Mapping[str, Any]:
        """Open an issue, and return it as GitHub answers."""
        body = {"title": f"{TITLE} {number}" if number else TITLE, "body": f"{MARKER}\n\nIt may be closed."}
        issue: Mapping[str, Any] = self.hub.rest(
            "POST", f"{repository_path(self.repository)}/issues", body=body
        ).body
        return issue

    def new_card(self, issue: Mapping[str, Any]) -> CardId:
        """Put an issue on the board."""
        self.cards.append(projects.add_card(self.hub, self.board.board_id, str(issue["node_id"])))
        return self.cards[-1]

    def move(self, card_id: CardId, column: Column) -> None:
        """Put the card into the column, as Cardinal does."""
        board = self.board
        projects.move_card(self.hub, board.board_id, card_id, board.status_field_id, column.option_id)

    def read_card(self, card_id: CardId) -> CardReading:
        """Read the card; raises NotTriedError when it is gone."""
        card = projects.read_card(self.hub, card_id)
        if card is None:
            raise NotTriedError("its card is gone")
        return card

    def comment(self, number: int, text: str = "") -> Mapping[str, Any]:
        """Comment, and return the comment as GitHub answers."""
        path = f"{repository_path(self.repository)}/issues/{number}/comments"
        comment: Mapping[str, Any] = self.hub.rest("POST", path, body={"body": text or MARKER}).body
        return comment

    @material
    def bot_login(self) -> str:
        return self.hub.bot_login

    @material
    def server(self) -> str:
        headers = self.hub.as_app("GET", "/app").headers
        version = headers.get("x-github-enterprise-version", "")
        return f"Enterprise Server {version}" if version else "GitHub, without a version"

    @material
    def home(self) -> Mapping[str, Any]:
        home: Mapping[str, Any] = self.hub.rest("GET", repository_path(self.repository)).body
        return home

    @material
    def mail(self) -> Mail:
        mail = Mail(self.hub)
        mail.begin()
        return mail

    @material
    def board(self) -> BoardSeen:
        return projects.read_board(self.hub, *self.address)

    @material
    def columns(self) -> tuple[Column, Column]:
        watch = self.watch
        calm = [column for column in self.board.columns if watch is None or watch.is_calm(column.name)]
        if len(calm) < 2:
            raise NotTriedError("the board has no two columns without an agent")
        return calm[0], calm[1]

    @material
    def issue(self) -> Mapping[str, Any]:
        return self.new_issue()

    @material
    def comments(self) -> tuple[Mapping[str, Any], ...]:
        number = int(self.issue["number"])
        return tuple(self.comment(number, f"{MARKER}\n\n- [ ] a box {n}") for n in range(3))

    @material
    def edited_comment(self) -> Mapping[str, Any]:
        path = f"{repository_path(self.repository)}/issues/comments/{self.comments[0]['id']}"
        edited: Mapping[str, Any] = self.hub.rest("PATCH", path, body={"body": f"{MARKER} edited"}).body
        return edited

    @material
    def card(self) -> CardId:
        card_id = self.new_card(self.issue)
        self.move(card_id, self.columns[0])
        return card_id

    @material
    def moved_card(self) -> tuple[CardReading, CardReading]:
        """The card before and after it was moved."""
        before = self.read_card(self.card)
        self.move(self.card, self.columns[1])
        return before, self.read_card(self.card)

    @material
    def archived_card(self) -> tuple[CardReading, CardReading]:
        """The card archived, and restored."""
        _ = self.moved_card
        projects.set_archived(self.hub, self.board.board_id, self.card, True)
        archived = self.read_card(self.card)
        projects.set_archived(self.hub, self.board.board_id, self.card, False)
        return archived, self.read_card(self.card)

    @material
    def draft_card(self) -> CardId:
        variables = {"board": self.board.board_id, "title": f"{TITLE}, a draft", "body": MARKER}
        answer = self.hub.graphql(project_queries.ADD_DRAFT, variables)
        self.cards.append(CardId(answer["addProjectV2DraftIssue"]["projectItem"]["id"]))
        return self.cards[-1]

    @material
    def converted_card(self) -> CardReading:
        projects.convert_draft(self.hub, self.draft_card, self.repository)
        return self.read_card(self.draft_card)

    @material
    def deleted_card(self) -> CardId:
        _ = self.converted_card
        projects.delete_card(self.hub, self.board.board_id, self.draft_card)
        return self.draft_card

    @material
    def five_cards(self) -> dict[CardId, CardReading | None]:
        """Five cards that were moved at once."""
        cards = [self.new_card(self.new_issue(n)) for n in range(1, FIVE + 1)]
        for card_id in cards:
            self.move(card_id, self.columns[1])
        return projects.read_cards(self.hub, cards)

    @material
    def closed_issue(self) -> Mapping[str, Any]:
        closing = {"state": "closed", "state_reason": "not_planned"}
        path = f"{repository_path(self.repository)}/issues/{self.issue['number']}"
        closed: Mapping[str, Any] = self.hub.rest("PATCH", path, body=closing).body
        return closed

    @material
    def story_card(self) -> tuple[Mapping[str, Any], CardId]:
        """An issue and its card for the agent."""
        issue = self.new_issue()
        card_id = self.new_card(issue)
        self.move(card_id, self.columns[0])
        return issue, card_id

    @material
    def base_commit(self) -> str:
        branch = str(self.home["default_branch"])
        return str(self.hub.rest("GET", f"{repository_path(self.repository)}/commits/{branch}").body["sha"])

    def _branch(self, name: str) -> str:
        ref = {"ref": f"refs/heads/{BRANCHES}{name}", "sha": self.base_commit}
        self.hub.rest("POST", f"{repository_path(self.repository)}/git/refs", body=ref)
        return f"{BRANCHES}{name}"

    @cached_property
    def serial(self) -> str:
        """The name of this rehearsal's branches."""
        return f"{time.time_ns():x}"

    @material
    def base_branch(self) -> str:
        return self._branch(f"{self.serial}/base")

    @material
    def head_branch(self) -> str:
        return self._branch(f"{self.serial}/head")

    def write(self, path: str, branch: str) -> Mapping[str, Any]:
        """Commit a file of three lines."""
        content = base64.b64encode(b"1\n2\n3\n").decode()
        body = {"message": TITLE, "content": content, "branch": branch}
        commit: Mapping[str, Any] = self.hub.rest(
            "PUT", f"{repository_path(self.repository)}/contents/{path}", body=body
        ).body
        return commit

    @material
    def head_commit(self) -> Mapping[str, Any]:
        commit: Mapping[str, Any] = self.write(FILE, self.head_branch)["commit"]
        return commit

    @material
    def pull(self) -> Mapping[str, Any]:
        """A draft into the rehearsal's own base branch; no draft where the plan has none."""
        _ = self.head_commit
        path = f"{repository_path(self.repository)}/pulls"
        words = {"title": TITLE, "body": MARKER, "head": self.head_branch, "base": self.base_branch}
        try:
            pull: Mapping[str, Any] = self.hub.rest("POST", path, body={**words, "draft": True}).body
        except RefusedError as error:
            if "draft" not in error.because.lower():
                raise
            pull = self.hub.rest("POST", path, body=words).body
        return pull

    def look_at_pull(self) -> pulls.PullReading:
        """Read the pull request."""
        return pulls.read(self.hub, self.repository, int(self.pull["number"]))

    @material
    def ready_pull(self) -> pulls.PullReading:
        reviews.mark_ready(self.hub, self.repository, str(self.pull["node_id"]), self.look_at_pull().head)
        return self.until(self.look_at_pull, lambda pull: pull.mergeable is not None)

    @material
    def review(self) -> Mapping[str, Any]:
        line = {"path": FILE, "line": 2, "side": "RIGHT", "body": f"{MARKER} a line"}
        body = {"event": "COMMENT", "body": MARKER, "comments": [line]}
        path = f"{repository_path(self.repository)}/pulls/{self.pull['number']}/reviews"
        review: Mapping[str, Any] = self.hub.rest("POST", path, body=body).body
        return review

    @material
    def merged_commit(self) -> str:
        """The squash of the pull request into the rehearsal's base branch."""
        pull = self.ready_pull
        _ = self.review
        if merge_queue.read(self.hub, pull.node_id).has_queue:
            raise NotTriedError("the branch has a merge queue")
        words = {"commit_title": TITLE, "commit_message": ""}
        return pulls.merge(
            self.hub, self.repository, pull.number, method="squash", head=pull.head, words=words
        )
