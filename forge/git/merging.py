"""Comparing and merging in a bare repository, without a working tree."""

import re
from contextlib import suppress

from forge.git.repository import Commit, FileChange, Git, GitError, MergeConflictError, Signature

STATUS_NAMES = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}
MERGE_TREE = ("merge-tree", "--write-tree", "--no-messages")
MAX_FILES = 3000  # docs.github.com/rest/pulls/pulls#list-pull-requests-files


def merge_base(git: Git, base: str, head: str) -> str | None:
    """Return the best common ancestor; `None` for unrelated histories."""
    with suppress(GitError):
        return git.run_kept("merge-base", of=(base, head)).decode().strip()
    return None


def ahead_behind(git: Git, base: str, head: str) -> tuple[int, int]:
    """Return how many commits `head` has that `base` lacks, and the other way round."""
    behind, ahead = git.run_kept("rev-list", "--left-right", "--count", of=(f"{base}...{head}",)).split()
    return int(ahead), int(behind)


def commits_between(git: Git, base: str, head: str) -> list[Commit]:
    """Return the commits of `head` that `base` lacks, oldest first."""
    return list(reversed(git.log(f"{base}..{head}")))


def diff(git: Git, base: str, head: str, *options: str, from_merge_base: bool = True) -> str:
    """Return the unified diff of `head` against `base`, by default against their merge base."""
    command = ("diff", "--no-ext-diff", "--no-color", "-M", *options)
    if from_merge_base:
        with suppress(GitError):  # unrelated histories have no merge base
            return git.run_kept(*command, of=(f"{base}...{head}",)).decode(errors="replace")
    return git.run_kept(*command, of=(base, head)).decode(errors="replace")


def list_changed_files(git: Git, base: str, head: str, *, from_merge_base: bool = True) -> list[FileChange]:
    """Return the files that `head` changes against `base`, by default against their merge base."""
    options = ("--raw", "--numstat", "--patch", "-z", "--no-abbrev")
    records, _, text = diff(git, base, head, *options, from_merge_base=from_merge_base).partition("\0\0")
    patches = _patches(text)
    fields = iter(records.split("\0") if records else ())
    changes: dict[str, tuple[str, str, str | None]] = {}
    files: list[FileChange] = []
    for field in fields:  # first a raw record of each file, then its numbers of lines
        if field.startswith(":"):
            *_, blob, letter = field.split(" ")
            previous = next(fields) if letter[0] in "RC" else None
            changes[next(fields)] = (STATUS_NAMES.get(letter[0], "changed"), blob, previous)
            continue
        added, removed, path = field.split("\t")
        if not path:
            next(fields)
            path = next(fields)
        status, blob, previous = changes[path]
        added, removed = added.replace("-", "0"), removed.replace("-", "0")  # of a binary file
        patch = patches.get(path, "")
        files.append(FileChange(path, status, int(added), int(removed), blob, previous, patch))
    return files[:MAX_FILES]


def _patches(text: str) -> dict[str, str]:
    """Return the hunks of a unified diff by the path after the change."""
    patches: dict[str, str] = {}
    for section in re.split(r"(?m)^(?=diff --git )", text):
        start = section.find("\n@@ ")
        named = re.search(r'(?m)^\+\+\+ "?b/(.*?)"?\t?$', section) or re.search(
            r'(?m)^--- "?a/(.*?)"?\t?$', section
        )
        if start >= 0 and named:
            patches[named.group(1)] = section[start + 1 :].rstrip("\n")
    return patches


def merge_tree(git: Git, base: str, head: str) -> str:
    """Return the tree of merging `head` into `base`; raises MergeConflictError when git cannot."""
    try:
        merged = git.run(*MERGE_TREE, base, head)
        return merged.decode().splitlines()[0]
    except GitError as error:
        if error.status == 1:
            raise MergeConflictError(error.arguments, 1, "merge conflict") from error
        raise


def is_mergeable(git: Git, base: str, head: str) -> bool:
    try:
        git.run_kept(*MERGE_TREE, of=(base, head))
    except GitError:
        return False
    return True


def merge_commit(git: Git, base: str, head: str, message: str, author: Signature) -> str:
    """Return a new commit with both parents; raises MergeConflictError."""
    return git.commit_tree(merge_tree(git, base, head), [base, head], message, author)


def squash_message(git: Git, base: str, head: str) -> str:
    """Return the text of a squash for which nobody wrote one: that of the one commit, or all messages.

    Source: docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/
    configuring-pull-request-merges/configuring-commit-squashing-for-pull-requests (the default message).
    """
    made = [commit.message.strip() for commit in commits_between(git, base, head)]
    if len(made) == 1:
        return made[0].partition("\n")[2].strip()
    return "\n\n".join(f"* {message}" for message in made)


def squash_commit(git: Git, base: str, head: str, message: str, author: Signature) -> str:
    """Return a new commit on `base` with everything that `head` brings; raises MergeConflictError."""
    return git.commit_tree(merge_tree(git, base, head), [base], message, author)


def rebase_commit(git: Git, base: str, head: str, committer: Signature) -> str:
    """Return the last of `head`'s commits replayed on `base`; raises MergeConflictError.

    git before 2.40 has no `merge-tree --merge-base`: a stand-in commit with the tree of the new
    base and the parent of the replayed commit makes that parent the merge base.
    """
    onto = base
    for commit in commits_between(git, base, head):
        if len(commit.parents) != 1:
            continue
        tree_of_onto = git.line("rev-parse", f"{onto}^{{tree}}")
        stand_in = git.commit_tree(tree_of_onto, [commit.parents[0]], "stand-in", committer)
        tree = merge_tree(git, stand_in, commit.sha)
        onto = git.commit_tree(tree, [onto], commit.message, commit.author, committer)
    return onto
