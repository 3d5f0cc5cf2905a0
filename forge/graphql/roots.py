"""Roots of queries: nodes, organisations, repositories, accounts."""

from typing import Any

from forge.errors import ForgeError, NotFoundError
from forge.graphql.connections import connection
from forge.graphql.resolving import Resolvers
from forge.graphql.scope import Scope
from forge.store.board import Project
from forge.store.models import Issue, Pull, Repo, User, UserType

resolvers = Resolvers()
resolvers.attributes("Repository", nameWithOwner="full_name", isArchived="archived")
resolvers.field("Repository.url")(lambda repo, scope: scope.view.repo_html(repo))


@resolvers.field("Query.node")
def node(_source: Any, scope: Scope, id: str) -> Any:
    thing = scope.node(id, object)
    scope.require(thing, "read")
    return thing


@resolvers.field("Query.nodes")
def nodes(_source: Any, scope: Scope, ids: list[str]) -> list[Any]:
    """Return several nodes; a missing one is an error of its own and a null."""
    return [_node_or_error(scope, node_id) for node_id in ids]


def _node_or_error(scope: Scope, node_id: str) -> Any:
    try:
        return node(None, scope, id=node_id)
    except ForgeError as error:
        return error  # graphql-core reports an exception in a list at its place


@resolvers.field("Query.organization")
def organization(_source: Any, scope: Scope, login: str) -> User:
    return _account(scope, login, {UserType.ORGANIZATION}, "an Organization")


@resolvers.field("Query.user")
def user(_source: Any, scope: Scope, login: str) -> User:
    return _account(scope, login, {UserType.USER}, "a User")


def _account(scope: Scope, login: str, kinds: set[UserType], name: str) -> User:
    message = f"Could not resolve to {name} with the login of '{login}'."
    try:
        account = scope.store.users.get(login)
    except NotFoundError as error:
        raise NotFoundError(message) from error
    if account.type not in kinds:
        raise NotFoundError(message)
    return account


@resolvers.field("Query.viewer")
def viewer(_source: Any, scope: Scope) -> Any:
    """Return the caller's account; GitHub shows the bot of an App as a User, too."""
    return scope.as_user(scope.actor)


@resolvers.field("Query.repository")
def repository(_source: Any, scope: Scope, owner: str, name: str) -> Repo:
    """Return a repository; raises NotFoundError."""
    try:
        repo = scope.store.repos.get(owner, name)
    except NotFoundError as error:
        message = f"Could not resolve to a Repository with the name '{owner}/{name}'."
        raise NotFoundError(message) from error
    scope.require(repo, "read")
    return repo


@resolvers.field("Query.repositoryOwner")
def repository_owner(_source: Any, scope: Scope, login: str) -> User | None:
    """Return an organisation or a person; `None` when there is no such account."""
    try:
        return _account(scope, login, {UserType.ORGANIZATION, UserType.USER}, "an owner")
    except NotFoundError:
        return None


@resolvers.field("Organization.projectV2", "User.projectV2")
def project(source: User, scope: Scope, number: int) -> Project:
    """Return a project of an organisation or a person; raises NotFoundError."""
    board = scope.store.projects.get(source, number)
    scope.require(board, "read")
    return board


@resolvers.field("Organization.projectsV2", "User.projectsV2")
def projects(source: User, scope: Scope, **arguments: Any) -> Any:
    """Return the projects of an owner that the caller may see."""
    own_projects = [
        board for board in scope.store.projects.all() if board.owner is source and scope.may_see(board)
    ]
    return connection(own_projects, "projectsV2", arguments)


@resolvers.field("User.url", "Bot.url", "Organization.url")
def account_url(source: Any, scope: Scope) -> str:
    return str(source["url"]) if isinstance(source, dict) else scope.view.user_html(source)


@resolvers.field("Repository.defaultBranchRef")
def default_branch(source: Repo, scope: Scope) -> Any:
    """Return the default branch; `None` for a repository without commits."""
    return branch(source, scope, qualifiedName=f"refs/heads/{source.default_branch}")


@resolvers.field("Repository.ref")
def branch(source: Repo, scope: Scope, **arguments: str) -> Any:
    """Return a branch by its whole name; `None` where there is none."""
    name = arguments["qualifiedName"].removeprefix("refs/heads/")
    sha = scope.store.repos.git(source).branches().get(name)
    if sha is None:
        return None
    target = {"__typename": "Commit", "id": f"C_{sha}", "oid": sha}
    return {"id": f"REF_{source.id}_{name}", "name": name, "target": target}


@resolvers.field("Repository.visibility")
def visibility(source: Repo, _scope: Scope) -> str:
    return "PRIVATE" if source.private else "PUBLIC"


@resolvers.field("Repository.issue")
def issue(source: Repo, _scope: Scope, number: int) -> Issue:
    """Return an issue; raises NotFoundError, for a pull request too."""
    entry = source.issues.get(number)
    if entry is None or entry.pull is not None:
        raise NotFoundError(f"Could not resolve to an Issue with the number of {number}.")
    return entry


@resolvers.field("Repository.pullRequest")
def pull_request(source: Repo, _scope: Scope, number: int) -> Pull:
    """Return a pull request; raises NotFoundError."""
    entry = source.issues.get(number)
    if entry is None or entry.pull is None:
        raise NotFoundError(f"Could not resolve to a PullRequest with the number of {number}.")
    return entry.pull
