"""Automatic merging: auto-merge, the merge queue, and the groups of commits that a queue has checked."""

from dataclasses import dataclass, field

from forge.errors import UnprocessableError
from forge.git.merging import squash_commit
from forge.git.repository import MergeConflictError
from forge.store.base import Part
from forge.store.models import PASSING, AutoMerge, Group, Pull, Repo, User
from forge.store.pulls import MergeMethod

HEAD_MOVED = "Head branch was modified. Review and try the merge again."


class Merges(Part):
    """The pull requests that are to be merged by themselves."""

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
        """Merge the waiting pull requests with this head that no rule forbids any more."""
        self.store.groups.judge(repo, head)
        for pull in self.store.pulls.all(repo):
            auto_merge = pull.auto_merge
            if auto_merge is None or pull.head_sha != head or not self.store.pulls.is_ready_to_merge(pull):
                continue
            if pull.base_ref in repo.merge_queues:
                self.enqueue(pull, actor=auto_merge.enabled_by)
                continue
            self.store.pulls.merge(
                pull,
                actor=auto_merge.enabled_by,
                method=MergeMethod(auto_merge.merge_method),
                title=auto_merge.title,
                message=auto_merge.message,
            )

    def _check_open(self, pull: Pull, head: str | None) -> None:
        if pull.issue.state != "open":
            raise UnprocessableError("Pull request is closed")
        if head is not None and head != pull.head_sha:
            raise UnprocessableError(HEAD_MOVED)


@dataclass(eq=False)
class Groups(Part):
    """The group of every queued pull request; each is based on the current commit of its branch.

    Source: docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/
    configuring-pull-request-merges/managing-a-merge-queue, and
    docs.github.com/webhooks/webhook-events-and-payloads#merge_group.
    """

    _groups: dict[str, Group] = field(default_factory=dict)

    def of_pull(self, pull: Pull) -> Group | None:
        """Return the pull request's group while it is queued; None for one that conflicts."""
        return self._groups.get(pull.node_id)

    def form(self, pull: Pull) -> None:
        """Make the group's commit on a branch of its own, and request its checks."""
        repos, repo, bot = self.store.repos, pull.repo, self._bot()
        git = repos.git(repo)
        title = f"{pull.issue.title} (#{pull.number})"
        try:
            sha = squash_commit(git, pull.base_sha, pull.head_sha, title, repos.signature(bot))
        except MergeConflictError:
            return
        ref = f"refs/heads/gh-readonly-queue/{pull.base_ref}/pr-{pull.number}-{pull.base_sha}"
        group = Group(pull, sha, ref, pull.base_sha, f"refs/heads/{pull.base_ref}")
        self._groups[pull.node_id] = group
        repos.create_ref(repo, ref, sha, actor=bot)
        self.store.emit("merge_group", "checks_requested", bot, repo, merge_group=group)

    def destroy(self, pull: Pull, reason: str) -> None:
        """Drop the pull request's group. `reason`: merged, invalidated or dequeued."""
        group = self._groups.pop(pull.node_id, None)
        if group is None:
            return
        plain, bot = {"reason": reason}, self._bot()
        self.store.emit("merge_group", "destroyed", bot, pull.repo, plain=plain, merge_group=group)
        self.store.repos.delete_ref(pull.repo, group.head_ref, actor=bot)

    def follow(self, repo: Repo, base: str) -> None:
        """Form new groups for the pull requests that wait for a branch that has moved."""
        for pull in self.store.pulls.all(repo):
            if pull.queued_at is not None and pull.base_ref == base:
                self.destroy(pull, "invalidated")
                self.form(pull)

    def judge(self, repo: Repo, sha: str) -> None:
        """Merge the group of this commit once all required checks have passed; drop it when one has failed.

        A branch that requires none waits for `Merges.finish_queue`.
        """
        groups = (
            group for group in self._groups.values() if group.pull.repo is repo and group.head_sha == sha
        )
        group = next(groups, None)
        required = repo.needed_checks(group.pull.base_ref) if group else ()
        if group is None or not required:
            return
        runs = self.store.checks.on_commit(repo, sha)
        newest = [next((run for run in runs if run.name == name), None) for name in required]
        ended = [run.conclusion for run in newest if run is not None and run.status == "completed"]
        if any(conclusion not in PASSING for conclusion in ended):
            self.store.merges.finish_queue(group.pull, passed=False, actor=self._bot())
        elif len(ended) == len(required):
            self.store.merges.finish_queue(group.pull, passed=True, actor=self._bot())

    def _bot(self) -> User:
        return self.store.users.bot("github-merge-queue[bot]")
