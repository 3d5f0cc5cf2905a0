"""Links between issues: sub-issues and dependencies."""

from typing import Any

from forge.errors import UnprocessableError
from forge.store.base import Part
from forge.store.models import Issue, User

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
