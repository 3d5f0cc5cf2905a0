"""State of the forge: people, repositories, issues, pull requests and their conversations."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

PASSING = ("success", "neutral", "skipped")  # a required check that ended so holds nothing up


class UserType(StrEnum):
    """GitHub's kinds of accounts."""

    USER = "User"
    BOT = "Bot"
    ORGANIZATION = "Organization"


class Role(StrEnum):
    """A person's role in a repository, from the least to the most.

    Source: docs.github.com/organizations/managing-user-access-to-your-organizations-repositories.
    """

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    def reaches(self, needed: "Role") -> bool:
        """Return whether this role includes `needed`."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


@dataclass(slots=True, eq=False)
class Node:
    """Whatever has a number and a node id."""

    id: int
    node_id: str


@dataclass(slots=True, eq=False)
class User(Node):
    """A person, an App's bot or an organisation."""

    login: str
    type: UserType
    name: str
    created_at: datetime
    members: set[str] = field(default_factory=set)
    public_email: str = ""

    @property
    def email(self) -> str:
        """Return the address that an account's commits are signed with."""
        return self.public_email or f"{self.id}+{self.login}@users.noreply.127.0.0.1"


@dataclass(slots=True, eq=False)
class Label(Node):
    name: str
    color: str
    description: str | None = None


@dataclass(slots=True, eq=False)
class Repo(Node):
    """A repository; its git objects are in a bare repository on disk."""

    owner: User
    name: str
    description: str
    private: bool
    created_at: datetime
    updated_at: datetime
    pushed_at: datetime
    default_branch: str = "main"
    drafts_supported: bool = True
    archived: bool = False
    roles: dict[str, Role] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, "Issue"] = field(default_factory=dict)
    next_number: int = 1
    protected: dict[str, int] = field(default_factory=dict)
    required_checks: dict[str, tuple[str, ...]] = field(default_factory=dict)  # names, by branch
    ruleset_checks: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the same, by a ruleset
    rules: dict[str, tuple[dict[str, Any], ...]] = field(default_factory=dict)  # of rulesets, by pattern
    bypassed: set[str] = field(default_factory=set)  # patterns whose rules bind nobody here
    deployed: set[tuple[str, str]] = field(default_factory=set)  # environments, each with a commit
    signed_branches: set[str] = field(default_factory=set)  # branch protection wants verified commits
    merge_queues: set[str] = field(default_factory=set)  # branches that are merged through a queue only
    auto_merge_allowed: bool = False

    @property
    def full_name(self) -> str:
        """Return `owner/name`."""
        return f"{self.owner.login}/{self.name}"

    def rules_of(self, branch: str) -> list[dict[str, Any]]:
        """Return the rules of rulesets for a branch, each with its type and the number of its ruleset.

        Those about checks are left out.
        """
        return [
            {**rule, "ruleset_id": number}
            for number, (pattern, rules) in enumerate(self.rules.items(), 1)
            if fnmatchcase(branch, pattern)
            for rule in rules
        ]

    def binding_rules(self, branch: str, kind: str) -> list[dict[str, Any]]:
        """Return the rules of this type for the branch that nobody here may bypass."""
        binding = (
            rule
            for pattern, rules in self.rules.items()
            if pattern not in self.bypassed and fnmatchcase(branch, pattern)
            for rule in rules
        )
        return [rule for rule in binding if rule["type"] == kind]

    def has_rule(self, branch: str, kind: str) -> bool:
        """Return whether a ruleset has a rule of this type for the branch that nobody here may bypass."""
        return bool(self.binding_rules(branch, kind))

    def needed_checks(self, branch: str) -> tuple[str, ...]:
        """Return the names of the checks that must pass before a merge into the branch, by whatever rule."""
        return (*self.required_checks.get(branch, ()), *self.ruleset_checks.get(branch, ()))


@dataclass(slots=True, eq=False)
class Reaction(Node):
    """One person's reaction to an issue or a comment."""

    content: str
    user: User
    created_at: datetime


@dataclass(slots=True, eq=False)
class Issue(Node):
    """An issue; a pull request has one too and shares its number."""

    repo: Repo
    number: int
    title: str
    body: str | None
    author: User
    created_at: datetime
    updated_at: datetime
    state: str = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None
    locked: bool = False
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    comments: list["Comment"] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    pull: "Pull | None" = None
    parent: "Issue | None" = None
    sub_issues: list["Issue"] = field(default_factory=list)
    blocked_by: list["Issue"] = field(default_factory=list)
    deleted: bool = False


@dataclass(slots=True, eq=False)
class Comment(Node):
    """A comment in the conversation of an issue or a pull request."""

    issue: Issue
    body: str
    author: User
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)
    minimized_reason: str | None = None


@dataclass(frozen=True, slots=True)
class AutoMerge:
    """The settings of an automatic merge, done once nothing stands in its way; `method` as REST writes it."""

    enabled_by: User
    enabled_at: datetime
    merge_method: str
    title: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """The commit of a queued pull request on its branch, on which the merge queue wants the checks."""

    pull: "Pull"
    head_sha: str
    head_ref: str
    base_sha: str
    base_ref: str


@dataclass(slots=True, eq=False)
class Pull(Node):
    """The part of a pull request that an issue does not have."""

    issue: Issue
    head_ref: str
    base_ref: str
    head_sha: str
    base_sha: str
    draft: bool = False
    fork: Repo | None = None  # where its head branch is, unless that is the repository itself
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    auto_merge: AutoMerge | None = None
    queued_at: datetime | None = None
    reviews: list["Review"] = field(default_factory=list)
    threads: list["Thread"] = field(default_factory=list)

    @property
    def repo(self) -> Repo:
        return self.issue.repo

    @property
    def number(self) -> int:
        """Return the number that the pull request shares with its issue."""
        return self.issue.number


@dataclass(slots=True, eq=False)
class Review(Node):
    """A submitted review; `state` is as REST lists it (APPROVED, CHANGES_REQUESTED, COMMENTED, DISMISSED)."""

    pull: Pull
    author: User
    body: str
    state: str
    commit_id: str
    submitted_at: datetime


@dataclass(slots=True, eq=False)
class Thread(Node):
    """A conversation about a line of a pull request."""

    pull: Pull
    path: str
    line: int | None
    side: str
    start_line: int | None = None
    resolved_by: User | None = None
    outdated: bool = False
    comments: list["ReviewComment"] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class ReviewComment(Node):
    thread: Thread
    review: Review
    body: str
    author: User
    commit_id: str
    diff_hunk: str
    created_at: datetime
    updated_at: datetime
    in_reply_to: "ReviewComment | None" = None
    reactions: list[Reaction] = field(default_factory=list)
    minimized_reason: str | None = None


@dataclass(slots=True, eq=False)
class CheckRun(Node):
    suite_id: int
    repo: Repo
    app_slug: str
    name: str
    head_sha: str
    started_at: datetime
    status: str = "queued"
    conclusion: str | None = None
    completed_at: datetime | None = None
    external_id: str = ""
    details_url: str = ""
    output: dict[str, Any] = field(default_factory=dict)
    actions: list[dict[str, str]] = field(default_factory=list)
    log: str = ""  # of the job, for a check run of GitHub Actions


@dataclass(slots=True, eq=False)
class CommitStatus(Node):
    """A commit status, the older kind of check; the newest of each context counts."""

    repo: Repo
    sha: str
    context: str
    state: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: datetime
