"""Merging that GitHub does by itself: auto-merge and the merge queue."""

from forge.errors import UnprocessableError
from forge.store.base import Part
from forge.store.models import AutoMerge, Pull, Repo, User
from forge.store.pulls import MergeMethod

HEAD_MOVED = "Head branch was modified. Review and try the merge again."


class Merges(Part):
    """Which pull requests are to be merged by themselves."""

    def enable_auto(
        self,
        pull: Pull,
        method: MergeMethod,
        *,
        actor: User,
        head: str | None = None,
        title: str | None = None,
        message: str | None = None,
    ) -> None:
        """Merge it once nothing stands in its way; raises UnprocessableError where that is not possible.

        Source: docs.github.com/pull-requests/collaborating-with-pull-requests/
        incorporating-changes-from-a-pull-request/automatically-merging-a-pull-request.
        """
        if not pull.repo.auto_merge_allowed:
            raise UnprocessableError("Auto merge is not allowed for this repository")
        self._check_open(pull, head)
        if pull.draft:
            raise UnprocessableError("Pull request is a draft")
        if self.store.pulls.mergeable_state(pull) == "clean":
            raise UnprocessableError("Pull request Pull request is in clean status")
        pull.auto_merge = AutoMerge(actor, self.store.clock.now(), method.value, title, message)
        self.store.pulls.announce(pull, "auto_merge_enabled", actor)

    def disable_auto(self, pull: Pull, *, actor: User, reason: str = "") -> None:
        """Merge it no more by itself; raises UnprocessableError when it would not have been."""
        if pull.auto_merge is None:
            raise UnprocessableError("Can't disable auto-merge for this pull request")
        pull.auto_merge = None
        self.store.pulls.announce(pull, "auto_merge_disabled", actor, {"reason": reason})

    def enqueue(self, pull: Pull, *, actor: User, head: str | None = None) -> None:
        """Put it into its branch's queue; raises UnprocessableError where it cannot be merged yet."""
        if pull.base_ref not in pull.repo.merge_queues:
            raise UnprocessableError("Merge queue is not enabled for this branch")
        self._check_open(pull, head)
        if pull.queued_at is not None:
            raise UnprocessableError("Pull request is already in the queue")
        if not self.store.pulls.is_ready_to_merge(pull):
            raise UnprocessableError("Pull request is not in a mergeable state")
        pull.auto_merge, pull.queued_at = None, self.store.clock.now()
        self.store.pulls.announce(pull, "enqueued", actor)
        self.store.groups.form(pull)

    def dequeue(self, pull: Pull, *, actor: User, reason: str = "MANUAL") -> None:
        """Take it out of the queue; raises UnprocessableError when it is in none."""
        if pull.queued_at is None:
            raise UnprocessableError("Pull request is not in the queue")
        pull.queued_at = None
        self.store.groups.destroy(pull, "merged" if reason == "MERGE" else "dequeued")
        self.store.pulls.announce(pull, "dequeued", actor, {"reason": reason})

    def finish_queue(self, pull: Pull, *, passed: bool, actor: User) -> None:
        """Let the checks of the queue's own branch end: it is merged, or leaves the queue."""
        self.dequeue(pull, actor=actor, reason="MERGE" if passed else "CI_FAILURE")
        if passed:
            self.store.pulls.merge(pull, actor=actor, method=MergeMethod.SQUASH, queued=True)
            self.store.groups.follow(pull.repo, pull.base_ref)

    def reconsider(self, repo: Repo, head: str) -> None:
        """Merge what waits at this commit and has nothing in its way any more."""
        self.store.groups.judge(repo, head)
        for pull in self.store.pulls.all(repo):
            wanted = pull.auto_merge
            if wanted is None or pull.head_sha != head or not self.store.pulls.is_ready_to_merge(pull):
                continue
            if pull.base_ref in repo.merge_queues:
                self.enqueue(pull, actor=wanted.enabled_by)
                continue
            self.store.pulls.merge(
                pull,
                actor=wanted.enabled_by,
                method=MergeMethod(wanted.merge_method),
                title=wanted.title,
                message=wanted.message,
            )

    def forget(self, pull: Pull) -> None:
        """Drop what was wanted of a pull request that is closed."""
        pull.auto_merge = pull.queued_at = None

    def _check_open(self, pull: Pull, head: str | None) -> None:
        if pull.issue.state != "open":
            raise UnprocessableError("Pull request is closed")
        if head is not None and head != pull.head_sha:
            raise UnprocessableError(HEAD_MOVED)
