"""Merge groups: the commits that a merge queue has checked, and their ends."""

from dataclasses import dataclass, field

from forge.git import MergeConflictError
from forge.merging import squash_commit
from forge.store.base import Part
from forge.store.models import PASSING, Group, Pull, Repo, User


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
        found = (one for one in self._groups.values() if one.pull.repo is repo and one.head_sha == sha)
        group = next(found, None)
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
