"""Links between issues: sub-issues and dependencies."""

from forge.errors import UnprocessableError
from forge.store.base import Part, exclusive
from forge.store.models import Issue, User


class Links(Part):
    """Which issue is part of which, and which waits for which."""

    @exclusive
    def add_sub_issue(self, parent: Issue, child: Issue, *, actor: User, replace: bool = False) -> None:
        """Make `child` a sub-issue of `parent`; raises UnprocessableError for a loop or a second parent."""
        above: Issue | None = parent
        while above is not None:
            if above is child:
                raise UnprocessableError("An issue cannot be a sub-issue of itself")
            above = above.parent
        if child.parent is not None and child.parent is not parent and not replace:
            raise UnprocessableError("Issue may only have one parent")
        if child.parent is not None:
            child.parent.sub_issues.remove(child)
        child.parent = parent
        parent.sub_issues.append(child)
        for action, repo in (("sub_issue_added", parent.repo), ("parent_issue_added", child.repo)):
            plain = {"sub_issue_id": child.id, "parent_issue_id": parent.id}
            self.store.emit(
                "sub_issues", action, actor, repo, plain=plain, sub_issue=child, parent_issue=parent
            )

    @exclusive
    def add_blocked_by(self, issue: Issue, blocking: Issue, *, actor: User) -> None:
        """Make `issue` wait for `blocking`; raises UnprocessableError for itself or a repeat."""
        if issue is blocking or blocking in issue.blocked_by:
            raise UnprocessableError("The issue is already blocked by this issue, or is the same issue")
        issue.blocked_by.append(blocking)
        self._announce("added", issue, blocking, actor)

    @exclusive
    def remove_blocked_by(self, issue: Issue, blocking: Issue, *, actor: User) -> None:
        """Let `issue` no longer wait for `blocking`; raises UnprocessableError when it did not."""
        if blocking not in issue.blocked_by:
            raise UnprocessableError("The issue is not blocked by this issue")
        issue.blocked_by.remove(blocking)
        self._announce("removed", issue, blocking, actor)

    def _announce(self, verb: str, issue: Issue, blocking: Issue, actor: User) -> None:
        plain = {"blocked_issue_id": issue.id, "blocking_issue_id": blocking.id}
        for side, repo in (("blocked_by", issue.repo), ("blocking", blocking.repo)):
            self.store.emit(
                "issue_dependencies",
                f"{side}_{verb}",
                actor,
                repo,
                plain=plain,
                blocked_issue=issue,
                blocking_issue=blocking,
            )
