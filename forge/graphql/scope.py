"""Context of the resolvers of one request: the state, the caller and the caller's rights."""

from dataclasses import dataclass
from typing import Any, TypeVar

from forge.errors import ForgeError, NotFoundError
from forge.payloads.view import View, attributes
from forge.rest.access import Caller, require, require_board
from forge.store import Store
from forge.store.board import Field, Item, Project, ProjectView, StatusUpdate
from forge.store.models import Comment, Issue, Pull, Repo, Review, ReviewComment, Role, Thread, User

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Scope:
    """One request's view of the state."""

    view: View
    caller: Caller

    @property
    def store(self) -> Store:
        return self.view.store

    @property
    def actor(self) -> User:
        return self.caller.actor

    def node(self, node_id: str, *kinds: type[T]) -> T:
        """Return the node with this id; raises NotFoundError when there is none of these kinds."""
        node = self.store.nodes.get(node_id)
        if node is None or not isinstance(node, kinds) or self._is_behind(node):
            raise NotFoundError(f"Could not resolve to a node with the global id of '{node_id}'")
        return node

    def _is_behind(self, node: object) -> bool:
        """Return whether an App's GraphQL does not find this new issue yet."""
        if self.caller.token is None or not isinstance(node, Issue):
            return False
        now = self.store.clock.now()
        return self.store.faults.delays.is_behind("nodes", node.node_id, node.created_at, now)

    def as_user(self, account: User) -> dict[str, Any]:
        """Return an account as a User, whatever it is."""
        return {
            "__typename": "User",
            "id": account.node_id,
            "databaseId": account.id,
            "url": self.view.user_html(account),
            **attributes(account, "login", "name"),
        }

    def may_see(self, thing: Any) -> bool:
        """Return whether the caller may read a node."""
        try:
            self.require(thing, "read")
        except ForgeError:
            return False
        return True

    def require(self, thing: Any, level: str, role: Role = Role.READ) -> None:
        """Raise unless the caller may read or write `thing`."""
        project, repo = _project_of(thing), _repo_of(thing)
        if project is not None:
            require_board(self.caller, project.owner, level)
        elif repo is not None:
            permissions = "metadata" if level == "read" else _permissions(thing)
            require(self.store, self.caller, repo, permissions, level, role=role)


def _permissions(thing: Any) -> str:
    if isinstance(thing, Pull | Review | Thread | ReviewComment):
        return "pull_requests"
    return "issues|pull_requests" if isinstance(thing, Comment) else "issues"


def _project_of(thing: Any) -> Project | None:
    if isinstance(thing, Project):
        return thing
    return thing.project if isinstance(thing, Item | Field | StatusUpdate | ProjectView) else None


def _repo_of(thing: Any) -> Repo | None:
    match thing:
        case Repo():
            return thing
        case Issue() | Pull():
            return thing.repo
        case Comment():
            return thing.issue.repo
        case Review() | Thread():
            return thing.pull.repo
        case ReviewComment():
            return thing.thread.pull.repo
        case _:
            return None
