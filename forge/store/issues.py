"""Issues and their conversation, for pull requests too."""

import re
from dataclasses import dataclass, field
from typing import Any

from forge.errors import NotFoundError, UnprocessableError
from forge.store.base import Part, check_body, check_title, existing, first
from forge.store.models import Comment, Issue, Reaction, Repo, ReviewComment, User

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
        wanted = [self.store.repos.label(issue.repo, name) for name in names]
        for label in [label for label in issue.labels if label not in wanted]:
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
        wanted = (label for label in issue.labels if label.name.casefold() == name.casefold())
        label = first(wanted, "Label does not exist")
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
        """Remove an issue and its cards."""
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
        """Remove a comment."""
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
