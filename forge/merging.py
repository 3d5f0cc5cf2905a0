"""Comparing and merging in a bare repository, without a working tree."""

import re

from forge.git import Commit, FileChange, Git, GitError, MergeConflictError, Signature

STATUS_NAMES = {"A": "added", "M": "modified", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}
MAX_FILES = 3000  # docs.github.com/rest/pulls/pulls#list-pull-requests-files


def merge_base(git: Git, one: str, other: str) -> str | None:
    """Return the best common ancestor; `None` for unrelated histories."""
    try:
        return git.line("merge-base", one, other)
    except GitError:
        return None


def ahead_behind(git: Git, base: str, head: str) -> tuple[int, int]:
    """Return how many commits `head` has that `base` lacks, and the other way round."""
    behind, ahead = git.line("rev-list", "--left-right", "--count", f"{base}...{head}").split()
    return int(ahead), int(behind)


def commits_between(git: Git, base: str, head: str) -> list[Commit]:
    """Return the commits of `head` that `base` lacks, oldest first."""
    return list(reversed(git.log(f"{base}..{head}")))


def diff(git: Git, base: str, head: str, *, from_merge_base: bool = True) -> str:
    """Return the unified diff of `head` against `base`, by default against where they parted."""
    start = (merge_base(git, base, head) or base) if from_merge_base else base
    return git.run("diff", "--no-ext-diff", "--no-color", "-M", start, head).decode(errors="replace")


def changed_files(git: Git, base: str, head: str, *, from_merge_base: bool = True) -> list[FileChange]:
    """Return the files that `head` changes against where it parted from `base`."""
    start = (merge_base(git, base, head) or base) if from_merge_base else base
    raw = git.run("diff", "--raw", "-z", "--no-abbrev", "-M", start, head).decode(errors="replace")
    counts = _line_counts(git, start, head)
    patches = _patches(diff(git, start, head, from_merge_base=False))
    fields = iter(raw.split("\x00"))
    files: list[FileChange] = []
    for head_field in fields:
        if not head_field.startswith(":"):
            continue
        *_, blob, letter = head_field.split(" ")
        path, previous = next(fields), None
        if letter[0] in "RC":
            previous, path = path, next(fields)
        added, removed = counts.get(path, (0, 0))
        status = STATUS_NAMES.get(letter[0], "changed")
        files.append(FileChange(path, status, added, removed, blob, previous, patches.get(path, "")))
    return files[:MAX_FILES]


def _line_counts(git: Git, start: str, head: str) -> dict[str, tuple[int, int]]:
    out = git.run("diff", "--numstat", "-z", "-M", start, head).decode(errors="replace")
    fields = iter(out.split("\x00"))
    counts: dict[str, tuple[int, int]] = {}
    for entry in fields:
        if not entry:
            continue
        added, removed, path = entry.split("\t")
        if not path:
            next(fields)
            path = next(fields)
        counts[path] = (0 if added == "-" else int(added), 0 if removed == "-" else int(removed))
    return counts


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


def merged_tree(git: Git, base: str, head: str) -> str:
    """Return the tree of merging `head` into `base`; raises MergeConflictError when git cannot."""
    try:
        return git.line("merge-tree", "--write-tree", "--no-messages", base, head).splitlines()[0]
    except GitError as error:
        if error.status == 1:
            raise MergeConflictError(error.arguments, 1, "merge conflict") from error
        raise


def is_mergeable(git: Git, base: str, head: str) -> bool:
    """Return whether `head` merges into `base` without a conflict."""
    try:
        merged_tree(git, base, head)
    except GitError:
        return False
    return True


def merge_commit(git: Git, base: str, head: str, message: str, author: Signature) -> str:
    """Return a new commit with both parents; raises MergeConflictError."""
    return git.commit_tree(merged_tree(git, base, head), [base, head], message, author)


def squash_commit(git: Git, base: str, head: str, message: str, author: Signature) -> str:
    """Return a new commit on `base` with everything that `head` brings; raises MergeConflictError."""
    return git.commit_tree(merged_tree(git, base, head), [base], message, author)


def rebased_commit(git: Git, base: str, head: str, committer: Signature) -> str:
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
        tree = merged_tree(git, stand_in, commit.sha)
        onto = git.commit_tree(tree, [onto], commit.message, commit.author, committer)
    return onto
