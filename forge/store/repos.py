"""Repositories: settings, roles, labels, branches, pushes."""

import re
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from forge.errors import ConflictError, UnprocessableError
from forge.git.repository import GIT_TIMEOUT_S, ZERO_SHA, Git, GitError, Signature
from forge.store.base import Part, existing
from forge.store.models import Label, Repo, Role, User, UserType

UNSIGNED = "Commits must have verified signatures."
NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


@dataclass(eq=False)
class Repos(Part):
    """Every repository by its full name."""

    _by_name: dict[str, Repo] = field(default_factory=dict)
    _former: dict[str, Repo] = field(
        default_factory=dict
    )  # by the names that they had; a new repository takes a name over

    def all(self) -> list[Repo]:
        """Return every repository, oldest first."""
        return list(self._by_name.values())

    def create(self, owner: User, name: str, *, description: str = "", private: bool = False) -> Repo:
        """Return a new repository without commits; raises UnprocessableError for a bad or taken name."""
        repo = self._add(owner, name, description, private, "main")
        self.git(repo).create(repo.default_branch)
        return repo

    def copy(self, owner: User, name: str, source: Path, branch: str) -> Repo:
        """Return a new private repository with one branch of the repository in the folder `source`.

        Raises UnprocessableError for a bad or taken name, and GitError.
        """
        repo = self._add(owner, name, f"A copy of {source}", True, branch)
        self.git(repo).copy(source, branch)
        return repo

    def _add(self, owner: User, name: str, description: str, private: bool, branch: str) -> Repo:
        key = self._free_key(owner, name)
        now = self.store.clock.now()
        repo = self._new("repository", Repo, owner, name, description, private, now, now, now, branch)
        self._by_name[key] = repo
        return repo

    def get(self, owner: str, name: str) -> Repo:
        """Return the repository; raises NotFoundError."""
        return existing(self._by_name.get(f"{owner}/{name}".casefold()))

    def formerly(self, owner: str, name: str) -> Repo | None:
        """Return the repository that had this name before it was renamed or transferred.

        `None`: no repository had it, or another one has it now.

        Source: docs.github.com/repositories/creating-and-managing-repositories/renaming-a-repository.
        """
        key = f"{owner}/{name}".casefold()
        return None if key in self._by_name else self._former.get(key)

    def delete(self, repo: Repo, *, actor: User) -> None:
        """Remove a repository; its cards stay on the boards without content that can be seen."""
        self._by_name.pop(repo.full_name.casefold(), None)
        self._former = {name: other for name, other in self._former.items() if other is not repo}
        for item in self.store.projects.items_of_repo(repo):
            self.store.projects.delete_item(item, actor=actor)
        self.store.nodes.pop(repo.node_id, None)
        self.store.emit("repository", "deleted", actor, repo)

    def move(self, repo: Repo, owner: User, name: str) -> None:
        """Give a repository another owner and name; raises UnprocessableError for a bad or taken one."""
        key, before = self._free_key(owner, name), self.git(repo).path
        self._former[repo.full_name.casefold()] = self._by_name.pop(repo.full_name.casefold())
        repo.owner, repo.name = owner, name
        self._by_name[key] = repo
        after = self.git(repo).path
        after.parent.mkdir(parents=True, exist_ok=True)
        before.rename(after)

    def _free_key(self, owner: User, name: str) -> str:
        key = f"{owner.login}/{name}".casefold()
        if not NAME.fullmatch(name) or name in {".", ".."} or key in self._by_name:
            message = "name already exists on this account"
            raise UnprocessableError.on_field("Repository", "name", "custom", message)
        return key

    def git(self, repo: Repo) -> Git:
        """Return the bare repository on disk."""
        return Git(self.store.root / "git" / repo.owner.login / f"{repo.name}.git")

    def role_of(self, repo: Repo, user: User) -> Role:
        """Return the role of `user`; a public repository gives everybody READ."""
        role = self.direct_role_of(repo, user)
        return Role.READ if role is Role.NONE and not repo.private else role

    def direct_role_of(self, repo: Repo, user: User) -> Role:
        """Return the role that `user` was given there by name, or as the owner."""
        return Role.ADMIN if user.login == repo.owner.login else repo.roles.get(user.login, Role.NONE)

    def set_role(self, repo: Repo, user: User, role: Role) -> None:
        """Give a person a role; NONE takes it away."""
        repo.roles[user.login] = role

    def protect(self, repo: Repo, branch: str, *, reviews: int) -> None:
        """Refuse pushes to `branch` and merges with fewer than `reviews` approvals."""
        repo.protected[branch] = reviews
        self.git(repo).protect(list(repo.protected))

    def want_signatures(self, repo: Repo, branch: str) -> None:
        """Protect a branch from unverified commits; other pushes go on."""
        repo.signed_branches.add(branch)
        self._tell_git(repo)

    def set_rules(self, repo: Repo, pattern: str, *rules: dict[str, Any], bypass: bool = False) -> None:
        """Give the branches that fit a pattern these rules of a ruleset, in place of those they had.

        With `bypass` they bind nobody who calls or pushes here.
        """
        repo.rules[pattern] = rules
        (repo.bypassed.add if bypass else repo.bypassed.discard)(pattern)
        self._tell_git(repo)

    def _tell_git(self, repo: Repo) -> None:
        signed = [("GH006", f"refs/heads/{branch}") for branch in sorted(repo.signed_branches)]
        binding = {name: rules for name, rules in repo.rules.items() if name not in repo.bypassed}
        for pattern, rules in binding.items():
            if any(rule["type"] == "required_signatures" for rule in rules):
                signed.append(("GH013", f"refs/heads/{pattern}"))
        self.git(repo).want_signatures(signed)
        self.git(repo).set_rules(binding)

    def deploy(self, repo: Repo, environment: str, sha: str) -> None:
        """Let a commit be deployed to an environment; pull requests that waited for it are merged."""
        repo.deployed.add((environment, sha))
        self.store.merges.reconsider(repo, sha)

    def add_signing_key(self, email: str, key: str) -> None:
        """Verify by this public SSH key what the owner of an address commits."""
        with (self.store.root / "allowed_signers").open("a") as signers:
            signers.write(f'{email} namespaces="git" {key.strip()}\n')

    def make_commit(
        self, repo: Repo, tree: str, parents: list[str], message: str, *, actor: User, signed: bool
    ) -> str:
        """Return a new commit that no ref has; with `signed` that of an App is signed as GitHub does it.

        Raises UnprocessableError for a tree or parent that is not here. Source: docs.github.com/
        authentication/managing-commit-signature-verification/about-commit-signature-verification (for bots).
        """
        git = self.git(repo)
        if git.attempt("cat-file", "-t", tree) != "tree":
            raise UnprocessableError("Tree SHA does not exist")
        if any(git.attempt("cat-file", "-t", parent) != "commit" for parent in parents):
            raise UnprocessableError("Parent SHA does not exist or is not a commit object")
        key = self._key_of(actor) if signed and actor.type is UserType.BOT else None
        return git.commit_tree(tree, parents, message, self.signature(actor), key=key)

    def _key_of(self, actor: User) -> Path:
        """Return GitHub's own key for what an App commits through the API."""
        key = self.store.root / "keys" / actor.login
        if not key.exists():
            key.parent.mkdir(exist_ok=True)
            command = ("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
            subprocess.run(command, check=True, timeout=GIT_TIMEOUT_S)
            self.add_signing_key(actor.email, key.with_name(f"{key.name}.pub").read_text())
        return key

    def wants_signatures(self, repo: Repo, branch: str) -> bool:
        """Return whether branch protection or a ruleset takes verified commits only."""
        return branch in repo.signed_branches or repo.has_rule(branch, "required_signatures")

    def _check_signed(self, repo: Repo, ref: str, sha: str) -> None:
        """Raise UnprocessableError when a ref would get unverified commits that it must not have."""
        branch = ref.removeprefix("refs/heads/")
        if not self.wants_signatures(repo, branch):
            return
        git = self.git(repo)
        fresh = git.line("rev-list", sha, "--not", "--all").split()
        if any(git.commit(commit).verification != "valid" for commit in fresh):
            raise UnprocessableError(f"Repository rule violations found\n\n{UNSIGNED}\n\n")

    def label(self, repo: Repo, name: str, *, color: str = "ededed", description: str | None = None) -> Label:
        """Return the label with this name, made when it is not there yet."""
        key = name.casefold()
        if key not in repo.labels:
            repo.labels[key] = self._new("label", Label, name, color, description)
        return repo.labels[key]

    def commit_of(self, repo: Repo, name: str | None = None) -> str:
        """Return the commit of a ref or sha, by default of the default branch; raises NotFoundError."""
        wanted = name or repo.default_branch
        message = f"No commit found for the ref {wanted}" if name else "Git Repository is empty."
        return existing(self.git(repo).resolve(wanted), message)

    def signature(self, user: User) -> Signature:
        return Signature(user.name, user.email, self.store.clock.now())

    def write_files(
        self, repo: Repo, branch: str, files: Mapping[str, bytes | None], message: str, *, actor: User
    ) -> str:
        """Commit files on a branch and return the commit; raises ConflictError when it is protected."""
        if branch in repo.protected:
            raise ConflictError("Could not update file: Changes must be made through a pull request.")
        git = self.git(repo)
        before = git.refs()
        try:
            commit = git.write_files(branch, files, message, self.signature(actor))
        except GitError as error:
            raise UnprocessableError(error.message) from error
        self.after_push(repo, before, git.refs(), actor=actor)
        return commit

    def create_ref(self, repo: Repo, ref: str, sha: str, *, actor: User) -> None:
        """Make a branch or tag; raises UnprocessableError when it exists or cannot."""
        git = self.git(repo)
        before = git.refs()
        if ref in before:
            raise UnprocessableError("Reference already exists")
        if not ref.startswith("refs/") or ref.count("/") < 2 or not git.is_valid_ref(ref):
            raise UnprocessableError("Reference name is invalid")
        if git.resolve(sha) != sha:
            raise UnprocessableError("Object does not exist")
        self._check_signed(repo, ref, sha)
        git.update_ref(ref, sha, ZERO_SHA)
        self.after_push(repo, before, git.refs(), actor=actor)

    def move_ref(self, repo: Repo, ref: str, sha: str, *, force: bool, actor: User) -> None:
        """Point a ref at another commit; raises UnprocessableError for an unforced rewind."""
        git = self.git(repo)
        before = git.refs()
        if ref not in before:
            raise UnprocessableError("Reference does not exist")
        if git.resolve(sha) != sha:
            raise UnprocessableError("Object does not exist")
        if not force and not self._is_ancestor(git, before[ref], sha):
            raise UnprocessableError("Update is not a fast forward")
        self._check_signed(repo, ref, sha)
        git.update_ref(ref, sha, before[ref])
        self.after_push(repo, before, git.refs(), actor=actor)

    def delete_ref(self, repo: Repo, ref: str, *, actor: User) -> None:
        """Remove a branch or tag; raises UnprocessableError when it does not exist or is protected."""
        git = self.git(repo)
        before = git.refs()
        if ref not in before:
            raise UnprocessableError("Reference does not exist")
        if ref.removeprefix("refs/heads/") in repo.protected:
            raise UnprocessableError("Cannot delete a protected branch")
        git.delete_ref(ref)
        self.after_push(repo, before, git.refs(), actor=actor)

    def after_push(
        self, repo: Repo, before: Mapping[str, str], after: Mapping[str, str], *, actor: User
    ) -> None:
        """Announce every ref that changed, and let the pull requests follow their branches."""
        for ref in sorted({*before, *after}):
            old, new = before.get(ref, ZERO_SHA), after.get(ref, ZERO_SHA)
            if old == new:
                continue
            repo.pushed_at = repo.updated_at = self.store.clock.now()
            forced = ZERO_SHA not in (old, new) and not self._is_ancestor(self.git(repo), old, new)
            self.store.emit(
                "push", None, actor, repo, push={"ref": ref, "before": old, "after": new, "forced": forced}
            )
            self._announce_existence(repo, ref, old, new, actor)
            if ref.startswith("refs/heads/"):
                self.store.pulls.follow_branch(repo, ref.removeprefix("refs/heads/"), old, new, actor=actor)

    def _announce_existence(self, repo: Repo, ref: str, old: str, new: str, actor: User) -> None:
        if ZERO_SHA not in (old, new):
            return
        _, kind, name = ref.split("/", 2)
        plain: dict[str, Any] = {
            "ref": name,
            "ref_type": {"heads": "branch", "tags": "tag"}[kind],
            "pusher_type": "user",
        }
        if old == ZERO_SHA:
            plain |= {"master_branch": repo.default_branch, "description": repo.description}
        self.store.emit("create" if old == ZERO_SHA else "delete", None, actor, repo, plain=plain)

    @staticmethod
    def _is_ancestor(git: Git, old: str, new: str) -> bool:
        with suppress(GitError):  # unrelated histories
            return git.run_kept("merge-base", of=(old, new)).decode().strip() == old
        return False
