"""Issues and their conversation, for pull requests too."""

import re
from dataclasses import dataclass, field
from typing import Any

from forge.errors import NotFoundError, UnprocessableError
from forge.store.base import Part, check_body, check_title, existing, first
from forge.store.models import Comment, Issue, Reaction, Repo, ReviewComment, User

# docs.github.com/issues/tracking-your-work-with-issues/using-issues/creating-issue-dependencies and
# adding-sub-issues: 50 issues of each kind of dependency, 100 sub-issues.
MAX_DEPENDENCIES = 50
MAX_SUB_ISSUES = 100
# The two actions of each event: the start of its name, the issue whose repository it is in, the other one.
SIDES = {
    "sub_issues": (("sub_issue", "parent_issue", "sub_issue"), ("parent_issue", "sub_issue", "parent_issue")),
    "issue_dependencies": (
        ("blocked_by", "blocked_issue", "blocking_issue"),
        ("blocking", "blocking_issue", "blocked_issue"),
    ),
}


class Links(Part):
    """Sub-issues of issues, and the issues that block them."""

    def add_sub_issue(self, parent: Issue, child: Issue, *, actor: User, replace: bool = False) -> None:
        """Make `child` a sub-issue of `parent`.

        Raises UnprocessableError for a loop, a repeat, a second parent, or too many.
        """
        above: Issue | None = parent
        while above is not None:
            if above is child:
                raise UnprocessableError("An issue cannot be a sub-issue of itself")
            above = above.parent
        if child.parent is parent:
            raise UnprocessableError("Issue may not contain duplicate sub-issues")
        if child.parent is not None and not replace:
            raise UnprocessableError("Sub issue may only have one parent")
        if len(parent.sub_issues) >= MAX_SUB_ISSUES:
            raise UnprocessableError(f"Parent cannot have more than {MAX_SUB_ISSUES} sub-issues")
        if child.parent is not None:
            child.parent.sub_issues.remove(child)
        child.parent = parent
        parent.sub_issues.append(child)
        self._announce("sub_issues", "added", actor, sub_issue=child, parent_issue=parent)

    def add_blocked_by(self, issue: Issue, blocking: Issue, *, actor: User) -> None:
        """Make `issue` wait for `blocking`; raises UnprocessableError for itself, a repeat, or too many."""
        if issue is blocking or blocking in issue.blocked_by:
            raise UnprocessableError("The issue is already blocked by this issue, or is the same issue")
        if len(issue.blocked_by) >= MAX_DEPENDENCIES:
            raise UnprocessableError(f"An issue cannot be blocked by more than {MAX_DEPENDENCIES} issues")
        issue.blocked_by.append(blocking)
        self._announce("issue_dependencies", "added", actor, blocked_issue=issue, blocking_issue=blocking)

    def remove_blocked_by(self, issue: Issue, blocking: Issue, *, actor: User) -> None:
        """Let `issue` no longer wait for `blocking`; raises UnprocessableError when it did not."""
        if blocking not in issue.blocked_by:
            raise UnprocessableError("The issue is not blocked by this issue")
        issue.blocked_by.remove(blocking)
        self._announce("issue_dependencies", "removed", actor, blocked_issue=issue, blocking_issue=blocking)

    def blocking(self, issue: Issue) -> list[Issue]:
        """Return the issues that wait for this one."""
        issues = (other for repo in self.store.repos.all() for other in repo.issues.values())
        return [other for other in issues if issue in other.blocked_by]

    def _announce(self, event: str, verb: str, actor: User, **issues: Issue) -> None:
        """Announce a link in the repositories of both issues; a payload has the other's repository, too."""
        ids = {f"{role}_id": issue.id for role, issue in issues.items()}
        for side, here, there in SIDES[event]:
            subjects: dict[str, Any] = {**issues, f"{there}_repo": issues[there].repo}
            self.store.emit(event, f"{side}_{verb}", actor, issues[here].repo, plain=ids, **subjects)


# docs.github.com/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)", re.IGNORECASE)
REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")


@dataclass(eq=False)
class Issues(Part):
    """Every issue and comment."""

    _comments: dict[int, Comment] = field(default_factory=dict)

    def get(self, repo: Repo, number: int) -> Issue:
        """Return the issue or the issue half of a pull request; raises NotFoundError."""
        return existing(repo.issues.get(number))

    def create(
        self, repo: Repo, title: str, body: str | None = None, *, actor: User, labels: list[str] | None = None
    ) -> Issue:
        """Return a new open issue; raises UnprocessableError for a bad title or body."""
        issue = self.new_entry(repo, title, body, "issue", actor)
        issue.labels = [self.store.repos.label(repo, name) for name in labels or []]
        self.store.emit("issues", "opened", actor, repo, issue=issue)
        for label in issue.labels:
            self.store.emit("issues", "labeled", actor, repo, issue=issue, label=label)
        return issue

    def new_entry(self, repo: Repo, title: str, body: str | None, kind: str, actor: User) -> Issue:
        """Return an entry under the next number of `repo`, not yet announced (`kind` is issue or pull)."""
        check_title("Issue", title)
        check_body("Issue", body)
        now = self.store.clock.now()
        issue = self._new(kind, Issue, repo, repo.next_number, title, body, actor, now, now)
        repo.issues[repo.next_number] = issue
        repo.next_number += 1
        return issue

    def edit(self, issue: Issue, *, actor: User, title: str | None = None, body: str | None = None) -> None:
        """Change title or body (`None` keeps it); announces only a real change.

        Raises UnprocessableError before anything is changed.
        """
        wanted = {"title": title, "body": body}
        new = {name: text for name, text in wanted.items() if text not in (None, getattr(issue, name))}
        if new.get("title") is not None:
            check_title("Issue", str(title))
        check_body("Issue", new.get("body"))
        before = {name: {"from": getattr(issue, name) or ""} for name in new}
        for name, text in new.items():
            setattr(issue, name, text)
        if new:
            self._announce(issue, "edited", actor, plain={"changes": before})

    def set_state(self, issue: Issue, state: str, reason: str | None = None, *, actor: User) -> None:
        """Close or reopen; `reason` is completed, not_planned or duplicate. Raises UnprocessableError."""
        if state not in {"open", "closed"}:
            raise UnprocessableError.on_field("Issue", "state", "invalid")
        if state == issue.state:
            return
        if issue.pull is not None and issue.pull.merged_at is not None:
            raise UnprocessableError.on_field("PullRequest", "state", "invalid", "state cannot be changed.")
        issue.state = state
        closed = state == "closed"
        issue.closed_at = self.store.clock.now() if closed else None
        issue.closed_by = actor if closed else None
        if issue.pull is None:
            issue.state_reason = (reason or "completed") if closed else "reopened"
        self._announce(issue, "closed" if closed else "reopened", actor)
        if closed:
            self.store.projects.after_close(issue)

    def set_labels(self, issue: Issue, names: list[str], *, actor: User) -> None:
        """Make the labels exactly these; announces each that came or went."""
        labels = [self.store.repos.label(issue.repo, name) for name in names]
        for label in [label for label in issue.labels if label not in labels]:
            self.remove_label(issue, label.name, actor=actor)
        self.add_labels(issue, names, actor=actor)

    def add_labels(self, issue: Issue, names: list[str], *, actor: User) -> None:
        """Add labels that the issue does not have yet."""
        for name in names:
            label = self.store.repos.label(issue.repo, name)
            if label not in issue.labels:
                issue.labels.append(label)
                self._announce(issue, "labeled", actor, label=label)

    def remove_label(self, issue: Issue, name: str, *, actor: User) -> None:
        """Take one label off; raises NotFoundError when the issue does not have it."""
        labels = (label for label in issue.labels if label.name.casefold() == name.casefold())
        label = first(labels, "Label does not exist")
        issue.labels.remove(label)
        self._announce(issue, "unlabeled", actor, label=label)

    def set_assignees(self, issue: Issue, logins: list[str], *, actor: User) -> None:
        """Make the assignees exactly these; raises NotFoundError for an unknown login."""
        wanted = [self.store.users.get(login) for login in logins]
        gone = [user for user in issue.assignees if user not in wanted]
        come = [user for user in wanted if user not in issue.assignees]
        issue.assignees = wanted
        for action, users in (("unassigned", gone), ("assigned", come)):
            for user in users:
                self._announce(issue, action, actor, assignee=user)

    def delete(self, issue: Issue, *, actor: User) -> None:
        issue.deleted = True
        issue.repo.issues.pop(issue.number, None)
        self.store.nodes.pop(issue.node_id, None)
        for item in self.store.projects.items_of(issue):
            self.store.projects.delete_item(item, actor=actor)
        self.store.emit("issues", "deleted", actor, issue.repo, issue=issue)

    def comment(self, issue: Issue, body: str, *, actor: User) -> Comment:
        """Return a new comment; raises UnprocessableError when it is blank or too long."""
        check_body("IssueComment", body, needed=True)
        now = self.store.clock.now()
        comment = self._new("comment", Comment, issue, body, actor, now, now)
        issue.comments.append(comment)
        issue.updated_at = now
        self._comments[comment.id] = comment
        self._announce_comment(comment, "created", actor)
        return comment

    def get_comment(self, repo: Repo, comment_id: int) -> Comment:
        """Return the comment; raises NotFoundError when it is not in `repo`."""
        comment = existing(self._comments.get(comment_id))
        if comment.issue.repo is not repo:
            raise NotFoundError()
        return comment

    def edit_comment(self, comment: Comment, body: str, *, actor: User) -> None:
        """Replace the text; announces only a real change. A ticked checkbox is such an edit."""
        check_body("IssueComment", body, needed=True)
        before, comment.body = comment.body, body
        if before == body:
            return
        comment.updated_at = self.store.clock.now()
        self._announce_comment(comment, "edited", actor, {"changes": {"body": {"from": before}}})

    def delete_comment(self, comment: Comment, *, actor: User) -> None:
        comment.issue.comments.remove(comment)
        del self._comments[comment.id]
        self.store.nodes.pop(comment.node_id, None)
        self._announce_comment(comment, "deleted", actor)

    def _announce_comment(
        self, comment: Comment, action: str, actor: User, plain: dict[str, Any] | None = None
    ) -> None:
        issue = comment.issue
        self.store.emit("issue_comment", action, actor, issue.repo, plain=plain, issue=issue, comment=comment)

    def comments_of(self, repo: Repo) -> list[Comment]:
        """Return every comment of a repository, oldest first."""
        return [comment for comment in self._comments.values() if comment.issue.repo is repo]

    def react(
        self, subject: Issue | Comment | ReviewComment, content: str, *, actor: User
    ) -> tuple[Reaction, bool]:
        """Return the actor's reaction and whether it is new; no event exists for reactions."""
        if content not in REACTIONS:
            raise UnprocessableError.on_field("Reaction", "content", "invalid")
        for reaction in subject.reactions:
            if reaction.user is actor and reaction.content == content:
                return reaction, False
        ids = self.store.identifiers.pair("reaction")
        reaction = Reaction(*ids, content, actor, self.store.clock.now())
        subject.reactions.append(reaction)
        return reaction, True

    def close_mentioned(self, text: str, repo: Repo, *, actor: User) -> None:
        """Close the issues that the text of a merged pull request closes."""
        for number in {int(digits) for digits in CLOSING.findall(text)}:
            issue = repo.issues.get(number)
            if issue is not None and issue.pull is None and issue.state == "open":
                self.set_state(issue, "closed", "completed", actor=actor)

    def _announce(
        self, issue: Issue, action: str, actor: User, plain: dict[str, Any] | None = None, **subjects: Any
    ) -> None:
        issue.updated_at = self.store.clock.now()
        event = "issues" if issue.pull is None else "pull_request"
        subjects[event.removesuffix("s")] = issue.pull or issue
        self.store.emit(event, action, actor, issue.repo, plain=plain, **subjects)
