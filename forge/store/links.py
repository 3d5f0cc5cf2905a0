"""Links between issues: sub-issues and dependencies."""

from typing import Any

from forge.errors import UnprocessableError
from forge.store.base import Part, exclusive
from forge.store.models import Issue, User

# docs.github.com/issues/tracking-your-work-with-issues/using-issues/creating-issue-dependencies and
# adding-sub-issues: 50 issues of each kind of dependency, 100 sub-issues.
MAX_DEPENDENCIES = 50
MAX_SUB_ISSUES = 100


class Links(Part):
    """Which issue is part of which, and which waits for which."""

    @exclusive
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
        self._announce_part("added", parent, child, actor)

    @exclusive
    def remove_sub_issue(self, parent: Issue, child: Issue, *, actor: User) -> None:
        """Let `child` stand alone; raises UnprocessableError when it was no part of `parent`."""
        if child.parent is not parent:
            raise UnprocessableError("The issue is not a sub-issue of this issue")
        parent.sub_issues.remove(child)
        child.parent = None
        self._announce_part("removed", parent, child, actor)

    def _announce_part(self, verb: str, parent: Issue, child: Issue, actor: User) -> None:
        """Tell both sides; each is told the repository of the other one as well."""
        plain = {"sub_issue_id": child.id, "parent_issue_id": parent.id}
        both: dict[str, Any] = {"sub_issue": child, "parent_issue": parent}
        for side, repo, subjects in (
            ("sub_issue", parent.repo, both | {"sub_issue_repo": child.repo}),
            ("parent_issue", child.repo, both | {"parent_issue_repo": parent.repo}),
        ):
            self.store.emit("sub_issues", f"{side}_{verb}", actor, repo, plain=plain, **subjects)

    @exclusive
    def add_blocked_by(self, issue: Issue, blocking: Issue, *, actor: User) -> None:
        """Make `issue` wait for `blocking`; raises UnprocessableError for itself, a repeat, or too many."""
        if issue is blocking or blocking in issue.blocked_by:
            raise UnprocessableError("The issue is already blocked by this issue, or is the same issue")
        if len(issue.blocked_by) >= MAX_DEPENDENCIES:
            raise UnprocessableError(f"An issue cannot be blocked by more than {MAX_DEPENDENCIES} issues")
        issue.blocked_by.append(blocking)
        self._announce("added", issue, blocking, actor)

    @exclusive
    def remove_blocked_by(self, issue: Issue, blocking: Issue, *, actor: User) -> None:
        """Let `issue` no longer wait for `blocking`; raises UnprocessableError when it did not."""
        if blocking not in issue.blocked_by:
            raise UnprocessableError("The issue is not blocked by this issue")
        issue.blocked_by.remove(blocking)
        self._announce("removed", issue, blocking, actor)

    @exclusive
    def blocking(self, issue: Issue) -> list[Issue]:
        """Return the issues that wait for this one."""
        found = (one for repo in self.store.repos.all() for one in repo.issues.values())
        return [one for one in found if issue in one.blocked_by]

    def _announce(self, verb: str, issue: Issue, blocking: Issue, actor: User) -> None:
        """Tell both sides; each is told the repository of the other one as well."""
        plain = {"blocked_issue_id": issue.id, "blocking_issue_id": blocking.id}
        both: dict[str, Any] = {"blocked_issue": issue, "blocking_issue": blocking}
        for side, repo, subjects in (
            ("blocked_by", issue.repo, both | {"blocking_issue_repo": blocking.repo}),
            ("blocking", blocking.repo, both | {"blocked_issue_repo": issue.repo}),
        ):
            self.store.emit("issue_dependencies", f"{side}_{verb}", actor, repo, plain=plain, **subjects)
