"""Pull requests: opened, kept up with their branches, merged."""

from enum import StrEnum
from typing import Any

from forge.errors import ConflictError, NotAllowedError, UnprocessableError
from forge.git.merging import (
    ahead_behind,
    commits_between,
    is_mergeable,
    list_changed_files,
    merge_base,
    merge_commit,
    rebase_commit,
    squash_commit,
    squash_message,
)
from forge.git.repository import ZERO_SHA, MergeConflictError
from forge.git.rulesets import LINEAR, against_texts
from forge.store.base import Part, existing
from forge.store.models import PASSING, Issue, Pull, Repo, User
from forge.store.repos import UNSIGNED


class MergeMethod(StrEnum):
    """The ways to merge a pull request."""

    MERGE = "merge"
    SQUASH = "squash"
    REBASE = "rebase"


class Pulls(Part):
    """Every pull request; the conversation is with `Issues`, the reviews are with `Reviews`."""

    def get(self, repo: Repo, number: int) -> Pull:
        """Return the pull request; raises NotFoundError."""
        return existing(existing(repo.issues.get(number)).pull)

    def all(self, repo: Repo) -> list[Pull]:
        """Return every pull request of a repository, newest first."""
        pulls = [issue.pull for issue in repo.issues.values() if issue.pull is not None]
        return list(reversed(pulls))

    def create(
        self,
        repo: Repo,
        title: str,
        body: str | None,
        head: str,
        base: str,
        *,
        actor: User,
        draft: bool = False,
    ) -> Pull:
        """Return a new pull request from branch `head` into branch `base`; raises UnprocessableError."""
        if draft and not repo.drafts_supported:
            raise UnprocessableError("Draft pull requests are not supported in this repository.")
        head_ref = head.split(":", 1)[-1]
        head_sha, base_sha = self._check_branches(repo, head_ref, base)
        issue = self.store.issues.new_entry(repo, title, body, "pull", actor)
        return self._open(issue, actor, head_ref, base, head_sha, base_sha, draft)

    def create_from_fork(
        self, repo: Repo, fork: Repo, title: str, head: str, base: str = "main", *, actor: User
    ) -> Pull:
        """Return a new pull request from a branch of another repository; its commits come along."""
        sha = self._fetch(repo, fork, head)
        base_sha = self.store.repos.git(repo).refs()[f"refs/heads/{base}"]
        issue = self.store.issues.new_entry(repo, title, "", "pull", actor)
        return self._open(issue, actor, head, base, sha, base_sha, fork=fork)

    def _open(self, issue: Issue, actor: User, *details: Any, **more: Any) -> Pull:
        issue.pull = Pull(self.store.identifiers.pair("pull")[0], issue.node_id, issue, *details, **more)
        self.store.nodes[issue.node_id] = issue.pull
        self.announce(issue.pull, "opened", actor)
        return issue.pull

    def _fetch(self, repo: Repo, fork: Repo, branch: str) -> str:
        """Bring a fork's branch over, under a name of its own; return its commit."""
        name = f"refs/forks/{fork.id}/{branch}"
        git, theirs = self.store.repos.git(repo), self.store.repos.git(fork)
        git.run("fetch", "--quiet", str(theirs.path), f"+refs/heads/{branch}:{name}")
        return git.line("rev-parse", name)

    def _check_branches(self, repo: Repo, head: str, base: str) -> tuple[str, str]:
        git = self.store.repos.git(repo)
        refs = git.refs()
        head_sha, base_sha = refs.get(f"refs/heads/{head}"), refs.get(f"refs/heads/{base}")
        if head_sha is None:
            raise UnprocessableError.on_field("PullRequest", "head", "invalid")
        if base_sha is None:
            raise UnprocessableError.on_field("PullRequest", "base", "invalid")
        fault = ""
        pulls = (p for p in self.all(repo) if p.fork is None and p.issue.state == "open")
        if any(p.head_ref == head and p.base_ref == base for p in pulls):
            fault = f"A pull request already exists for {repo.owner.login}:{head}."
        elif merge_base(git, base_sha, head_sha) is None:
            fault = f"The {head} branch has no history in common with {base}"
        elif ahead_behind(git, base_sha, head_sha)[0] == 0:
            fault = f"No commits between {base} and {head}"
        if fault:
            raise UnprocessableError(
                "Validation Failed", [{"resource": "PullRequest", "code": "custom", "message": fault}]
            )
        return head_sha, base_sha

    def set_base(self, pull: Pull, base: str, *, actor: User) -> None:
        """Aim the pull request at another branch; raises UnprocessableError when there is none."""
        sha = self.store.repos.git(pull.repo).refs().get(f"refs/heads/{base}")
        if sha is None:
            raise UnprocessableError.on_field("PullRequest", "base", "invalid")
        if base == pull.base_ref:
            return
        changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
        pull.base_ref, pull.base_sha = base, sha
        self.announce(pull, "edited", actor, {"changes": changes})

    def set_draft(self, pull: Pull, draft: bool, *, actor: User) -> None:
        """Make it a draft or ready for review; raises UnprocessableError where drafts are unknown."""
        if draft and not pull.repo.drafts_supported:
            raise UnprocessableError("Draft pull requests are not supported in this repository.")
        if pull.issue.state != "open":
            raise UnprocessableError("Pull request is closed")
        if pull.draft is draft:
            return
        pull.draft = draft
        self.announce(pull, "converted_to_draft" if draft else "ready_for_review", actor)

    def follow_branch(self, repo: Repo, branch: str, old: str, new: str, *, actor: User) -> None:
        """Let open pull requests follow a pushed branch; close those whose branch is gone."""
        for pull in self.all(repo):
            if pull.issue.state != "open":
                continue
            if pull.base_ref == branch and new != ZERO_SHA:
                pull.base_sha = new
            if pull.head_ref != branch or pull.fork is not None:
                continue
            if new == ZERO_SHA:
                self.store.issues.set_state(pull.issue, "closed", actor=actor)
                continue
            self._move_head(pull, old, new, actor)
        if new != ZERO_SHA:
            self._follow_fork(repo, branch, old, new, actor)

    def _follow_fork(self, fork: Repo, branch: str, old: str, new: str, actor: User) -> None:
        for repo in self.store.repos.all():
            for pull in self.all(repo):
                if pull.fork is fork and pull.head_ref == branch and pull.issue.state == "open":
                    self._fetch(repo, fork, branch)
                    self._move_head(pull, old, new, actor)

    def _move_head(self, pull: Pull, old: str, new: str, actor: User) -> None:
        pull.head_sha = new
        if pull.queued_at is not None:  # what was tested is not what would be merged
            self.store.merges.dequeue(pull, actor=actor, reason="UNKNOWN_REMOVAL_REASON")
        self.store.reviews.mark_outdated(pull)
        self.announce(pull, "synchronize", actor, {"before": old, "after": new})

    def mergeable(self, pull: Pull) -> bool | None:
        """Return whether it merges without a conflict; `None` for one that is closed."""
        if pull.issue.state != "open":
            return None
        git = self.store.repos.git(pull.repo)
        key = (pull.repo.id, pull.base_sha, pull.head_sha)
        if key not in self.store.mergeability:
            self.store.mergeability[key] = is_mergeable(git, pull.base_sha, pull.head_sha)
        return self.store.mergeability[key]

    def mergeable_state(self, pull: Pull) -> str:
        """Return GitHub's word for it: clean, dirty, draft, blocked or unknown."""
        if pull.issue.state != "open":
            return "unknown"
        if not self.mergeable(pull):
            return "dirty"
        if pull.draft:
            return "draft"
        return "blocked" if self.rule_against(pull) else "clean"

    def is_ready_to_merge(self, pull: Pull) -> bool:
        """Return whether approvals, checks and branches let it be merged, by hand or through a queue."""
        return self.mergeable_state(pull) == "clean"

    def _missing_checks(self, pull: Pull) -> str:
        """Return GitHub's words about the first required check that has not passed; empty when all have."""
        statuses = self.store.statuses.on_commit(pull.repo, pull.head_sha)
        results = {status.context: status.state for status in statuses}
        for run in reversed(self.store.checks.on_commit(pull.repo, pull.head_sha)):
            results[run.name] = run.conclusion or "pending"
        for name in pull.repo.needed_checks(pull.base_ref):
            if results.get(name) not in PASSING:
                problem = {None: "expected", "pending": "in progress"}.get(results.get(name), "failing")
                return f'Required status check "{name}" is {problem}.'
        return ""

    def paths(self, pull: Pull) -> set[str]:
        """Return the path of each file that it changes while it is open, and of each renamed one before."""
        if pull.issue.state != "open":
            return set()
        files = list_changed_files(self.store.repos.git(pull.repo), pull.base_sha, pull.head_sha)
        return {path for file in files for path in (file.path, file.previous_path) if path}

    def rule_against(self, pull: Pull) -> str:
        """Return which rule of its branch forbids its merge, in GitHub's words; empty when none does.

        Source: docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/
        managing-protected-branches/about-protected-branches.
        """
        needed = pull.repo.protected.get(pull.base_ref, 0)
        if needed and self.store.reviews.count(pull, "CHANGES_REQUESTED"):
            return "Changes have been requested by a reviewer with write access."
        if self.store.reviews.count(pull, "APPROVED") < needed:
            return f"At least {needed} approving review is required by reviewers with write access."
        return self._describe_unsigned(pull) or self._missing_checks(pull) or self._find_undeployed(pull)

    def _find_undeployed(self, pull: Pull) -> str:
        """Return which environment the head must be deployed to before; empty when it was, everywhere."""
        for rule in pull.repo.binding_rules(pull.base_ref, "required_deployments"):
            for environment in rule["parameters"]["required_deployment_environments"]:
                if (environment, pull.head_sha) not in pull.repo.deployed:
                    return f"Must be deployed to {environment} before it can be merged."
        return ""

    def _describe_unsigned(self, pull: Pull) -> str:
        """Return GitHub's words where a commit lacks the verified signature that the base asks for."""
        if not self.store.repos.wants_signatures(pull.repo, pull.base_ref):
            return ""
        commits = commits_between(self.store.repos.git(pull.repo), pull.base_sha, pull.head_sha)
        return UNSIGNED if any(commit.verification != "valid" for commit in commits) else ""

    def merge(
        self,
        pull: Pull,
        *,
        actor: User,
        method: MergeMethod = MergeMethod.MERGE,
        sha: str | None = None,
        title: str | None = None,
        message: str | None = None,
        queued: bool = False,
    ) -> str:
        """Merge and return the commit; raises NotAllowedError (405) or ConflictError (409, head moved)."""
        if sha is not None and sha != pull.head_sha:
            raise ConflictError("Head branch was modified. Review and try the merge again.")
        self._check_may_merge(pull, queued=queued)
        commit = self._merge(pull, method, title, message, actor)
        git = self.store.repos.git(pull.repo)
        self._check_result(pull, method, git.commit(commit).message)
        before = git.refs()
        git.update_ref(f"refs/heads/{pull.base_ref}", commit, pull.base_sha)
        issue, now = pull.issue, self.store.clock.now()
        pull.merged_at, pull.merged_by, pull.merge_commit_sha = now, actor, commit
        issue.state, issue.closed_at, issue.closed_by = "closed", now, actor
        self.store.repos.after_push(pull.repo, before, git.refs(), actor=actor)
        self.announce(pull, "closed", actor)
        self.store.projects.after_close(issue)
        if pull.base_ref == pull.repo.default_branch:
            self.store.issues.close_mentioned(f"{issue.title}\n{issue.body or ''}", pull.repo, actor=actor)
        return commit

    def _check_may_merge(self, pull: Pull, *, queued: bool) -> None:
        if not self.mergeable(pull):
            raise NotAllowedError("Pull Request is not mergeable")
        if pull.draft:
            raise NotAllowedError("Pull Request is still a draft")
        if rule := self.rule_against(pull):
            raise NotAllowedError(rule)
        if pull.base_ref in pull.repo.merge_queues and not queued:
            raise NotAllowedError("Changes must be made through the merge queue")

    def _check_result(self, pull: Pull, method: MergeMethod, message: str) -> None:
        """Raise NotAllowedError where a rule of the base does not take what the merge would add to it."""
        said = []
        if method is MergeMethod.MERGE and pull.repo.has_rule(pull.base_ref, "required_linear_history"):
            said.append(LINEAR)
        for rule in pull.repo.binding_rules(pull.base_ref, "commit_message_pattern"):
            said += against_texts(rule, (message,))
        for rule in pull.repo.binding_rules(pull.base_ref, "pull_request"):
            if method.value not in rule["parameters"].get("allowed_merge_methods", (method.value,)):
                said.append(f"The merge method {method.value} is not allowed.")
        if said:
            raise NotAllowedError("Repository rule violations found\n\n" + "\n\n".join(said))

    def _merge(
        self, pull: Pull, method: MergeMethod, title: str | None, message: str | None, actor: User
    ) -> str:
        git = self.store.repos.git(pull.repo)
        signature = self.store.repos.signature(actor)
        try:
            match method:
                case MergeMethod.MERGE:
                    source = f"{pull.repo.owner.login}/{pull.head_ref}"
                    head = title or f"Merge pull request #{pull.number} from {source}"
                    text = f"{head}\n\n{pull.issue.title if message is None else message}"
                    return merge_commit(git, pull.base_sha, pull.head_sha, text, signature)
                case MergeMethod.SQUASH:
                    said = squash_message(git, pull.base_sha, pull.head_sha) if message is None else message
                    text = f"{title or f'{pull.issue.title} (#{pull.number})'}\n\n{said}".strip()
                    return squash_commit(git, pull.base_sha, pull.head_sha, text, signature)
                case MergeMethod.REBASE:
                    return rebase_commit(git, pull.base_sha, pull.head_sha, signature)
        except MergeConflictError as error:
            raise NotAllowedError("Pull Request is not mergeable") from error

    def announce(self, pull: Pull, action: str, actor: User, plain: dict[str, object] | None = None) -> None:
        """Record that the pull request changed and tell the webhooks."""
        pull.issue.updated_at = self.store.clock.now()
        self.store.emit("pull_request", action, actor, pull.repo, plain=plain, pull_request=pull)
