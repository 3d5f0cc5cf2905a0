"""Branches between the forge's copy and the person's own repository, whose tree, index and settings stay."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from forge.git.repository import ZERO_SHA, Git, GitError
from forge.portable.world import OWNER, Wanted
from forge.store import Store
from forge.store.models import Repo

HEADS = "refs/heads/"
WORK = f"{HEADS}cardinal/"
INCOMING = "refs/incoming"  # in the forge's copy alone
QUIET = ("--no-replace-objects", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*")
# git-fetch(1): what it may write besides objects, and what it may do besides fetching.
FETCH = (
    *("fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--no-auto-maintenance"),
    *("--no-write-commit-graph", "--recurse-submodules=no"),
)


class Step(StrEnum):
    """What is to be done about a branch that both sides may have moved."""

    NOTHING = "nothing"
    EXPORT = "export"  # the person's becomes the forge's
    IMPORT = "import"  # the other way: a push of the person's
    REMOVE = "remove"  # the forge has removed it, and nobody else has touched it
    APART = "apart"  # both have commits that the other lacks: a person has to merge


def step_of(ours: str, theirs: str, last: str, is_newer: Callable[[str, str], bool]) -> Step:
    """Return what brings both together; empty where a side has no such branch.

    `ours` is the forge's commit, `theirs` the person's, `last` what both had. `is_newer(a, b)`: `a` has all
    that `b` has.
    """
    if ours == theirs:
        return Step.NOTHING
    if not ours:
        return Step.REMOVE if last and theirs == last else Step.NOTHING
    if not theirs:
        return Step.NOTHING if ours == last else Step.EXPORT  # a person who removed a branch is done with it
    if ours == last:
        return Step.IMPORT  # also where the person went back, or rewrote it: nobody else has moved it
    if theirs == last or is_newer(ours, theirs):
        return Step.EXPORT
    return Step.IMPORT if is_newer(theirs, ours) else Step.APART


@dataclass(slots=True)
class Branches:
    """The branches of `cardinal/`, and the one that *Done* merges into. `say` tells the person."""

    store: Store
    wanted: Wanted
    keep: Callable[[], None]
    say: Callable[[str], None]
    last: dict[str, str] = field(default_factory=dict)
    _said: dict[str, tuple[str, str]] = field(default_factory=dict)

    def bring_together(self) -> None:
        """Look at both sides once, and do what can be done; what cannot be done now is said once."""
        theirs, held = self._theirs()
        base = HEADS + self.wanted.into
        waiting = WORK + self.wanted.into
        with self.store.lock:
            ours = self._ours.refs()
            if base not in ours:
                return  # the board always has it: somebody is removing the folder, and the branches stay
            for ref in sorted({*ours, *theirs} - {waiting}):
                if ref == base or ref.startswith(WORK):
                    self._bring(ref, ours.get(ref, ""), theirs, held)
        left = theirs.get(waiting, "")
        taken = left and base in theirs and self._is_newer(theirs[base], left)
        if taken and left == self.last.get(waiting) and waiting not in held:
            self._move(waiting, "", left)

    def _bring(self, ref: str, ours: str, theirs: Mapping[str, str], held: frozenset[str]) -> None:
        now = theirs.get(ref, "")
        step = step_of(ours, now, self.last.get(ref, ""), self._is_newer)
        name = ref.removeprefix(HEADS)
        if step is Step.IMPORT:
            self._import(ref, ours)
        elif step is Step.EXPORT and name == self.wanted.into and not now and self.last.get(ref):
            self._hand_over(ours, theirs, held, f"{name} is gone here", f"git branch {shlex.quote(name)}")
        elif step is Step.EXPORT and ref not in held:
            self._move(ref, ours, now)
        elif step is Step.EXPORT and name == self.wanted.into:
            self._hand_over(ours, theirs, held, f"{name} is checked out", "git merge --ff-only")
        elif step is Step.EXPORT:
            self._say_once(ref, ours, f"{name} has new commits, but you have it checked out: leave it")
        elif step is Step.REMOVE and ref not in held:
            self._move(ref, "", now)
        elif step is Step.APART and name == self.wanted.into:
            self._hand_over(ours, theirs, held, f"{name} has other commits since", "git merge")
        elif step is Step.APART:
            self._say_once(ref, ours, f"{name} has commits of yours and others on the board: yours stay here")
        elif step is Step.NOTHING and ours == now:
            self.last[ref] = ours

    def _hand_over(
        self, ours: str, theirs: Mapping[str, str], held: frozenset[str], why: str, command: str
    ) -> None:
        """Leave the merged work in a branch beside the person's, where that cannot be moved."""
        name = self.wanted.into
        waiting, beside = WORK + name, f"cardinal/{name}"
        now = theirs.get(waiting, "")
        if now not in {"", ours, self.last.get(waiting)}:
            self._say_once(
                waiting,
                ours,
                f"merged work for {name} waits on the board: {beside} has changes of yours, rename it",
            )
        elif now != ours and waiting in held:
            self._say_once(
                waiting,
                ours,
                f"more merged work for {name} waits, but you have {beside} checked out: leave it",
            )
        elif now == ours or self._move(waiting, ours, now):
            take = f"take it with `{command} {shlex.quote(beside)}`"
            self._say_once(waiting, ours, f"merged work for {name} waits in {beside}: {why}, so {take}")

    def _import(self, ref: str, ours: str) -> None:
        """Take the person's commits, as their push."""
        self._ours.run(*QUIET, *FETCH, str(self._folder), f"+{ref}:{INCOMING}")
        before = self._ours.refs()
        theirs = self._ours.line("rev-parse", INCOMING)
        self._ours.update_ref(ref, theirs, ours)
        actor = self.store.users.get(self.wanted.login)
        self.store.repos.after_push(self._repo, before, self._ours.refs(), actor=actor)
        self.last[ref] = theirs
        self.keep()

    def _move(self, ref: str, new: str, old: str) -> bool:
        """Move the person's branch from `old` to `new`; empty stands for none.

        False: it has moved since, or git refuses and the person is told; it is looked at again.
        """
        theirs = Git(self._folder)
        if new:
            theirs.run(*QUIET, *FETCH, str(self._ours.path), new)
        try:
            args = ("update-ref", "--no-deref", "-m", "cardinal try")
            theirs.run(*QUIET, *args, ref, new or ZERO_SHA, old or ZERO_SHA)
        except GitError as error:
            if (theirs.attempt(*QUIET, "rev-parse", "--verify", "--quiet", ref) or "") == old:
                name = ref.removeprefix(HEADS)
                self._say_once(ref, new, f"{name} cannot be written here: {error.message}")
            return False
        self.last[ref] = new
        self.keep()
        return True

    def _theirs(self) -> tuple[dict[str, str], frozenset[str]]:
        """Return the person's branches, and those that cannot be moved: a work tree has them checked out or
        is busy with them, or they are other names of branches.
        """
        # Not the path itself: it may have line breaks.
        form = "--format=%(refname)%00%(objectname)%00%(if)%(worktreepath)%(then)held%(end)%(symref)"
        wanted = (HEADS + self.wanted.into, WORK.removesuffix("/"))
        lines = Git(self._folder).line(*QUIET, "for-each-ref", form, *wanted).splitlines()
        rows = [line.split("\0") for line in lines]
        trees = (self._folder, *self._folder.glob("worktrees/*"))
        busy = (tree / kind / "head-name" for tree in trees for kind in ("rebase-merge", "rebase-apply"))
        rebased = {_name_in(file) for file in busy if file.is_file()}
        searched = (tree / "BISECT_START" for tree in trees)  # a branch's short name, or a commit
        bisected = {HEADS + _name_in(file) for file in searched if file.is_file()}
        held = rebased | bisected | {ref for ref, _, holder in rows if holder}
        return {ref: sha for ref, sha, _ in rows}, frozenset(held)

    def _is_newer(self, commit: str, other: str) -> bool:
        """Tell whether a commit has all of another; either side may hold them."""
        args = ("--no-replace-objects", "merge-base", "--is-ancestor", other, commit)
        return any(git.attempt(*args) is not None for git in (self._ours, Git(self._folder)))

    def _say_once(self, about: str, commit: str, text: str) -> None:
        if self._said.get(about) != (commit, text):  # the same work may have to be taken in another way since
            self._said[about] = commit, text
            self.say(text)

    @property
    def _folder(self) -> Path:
        return Path(self.wanted.git)

    @property
    def _repo(self) -> Repo:
        return self.store.repos.get(OWNER, self.wanted.name)

    @property
    def _ours(self) -> Git:
        return self.store.repos.git(self._repo)


def _name_in(file: Path) -> str:
    """Return the name in a file of git; its bytes may be no text."""
    return file.read_text(errors="replace").strip()
