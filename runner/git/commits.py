"""Commits as git stores them: parsed, written, and made Cardinal's own. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile

from runner.run.run_spec import Committer

# The begin of each file in a patch: git puts a sign before each line of a file, never a letter.
PATCHED_FILE = re.compile(r"^diff --git ", re.MULTILINE)
_WHEN = re.compile(r"\d{1,18} [+-]\d{4}", re.ASCII)
_NEVER = "0 +0000"
_SIGNED_CHARS = 1_000  # of a name with its address: nobody has longer ones
_MESSAGE_CHARS = 50_000
# git takes a trailer with a space before its colon, too.
_OURS = re.compile(r"^cardinal-[a-z-]{1,100}[ \t]*:[^\n]*(?:\n|\Z)", re.IGNORECASE | re.MULTILINE)
_RUN = re.compile(r"^Cardinal-Run: (r[0-9]{1,18})$", re.MULTILINE)
_TRAILERS = re.compile(r"(?:[A-Za-z0-9-]++: [^\n]*+(?:\n|\Z))++\Z")
_QUOTED = re.compile(r"\\([0-7]{3}|.)")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit; names are `Name <address>`, times in git's format: seconds and zone."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    author: str
    authored: str
    committer: str
    committed: str
    message: str


def parse_commit(commit: str, text: str) -> Commit:
    """Return the commit in the output of `git cat-file commit`; unknown headers are skipped."""
    head, _, message = text.partition("\n\n")
    headers: dict[str, list[str]] = {}
    lines = head.split("\n")
    parents = tuple(line[7:] for line in takewhile(lambda line: line.startswith("parent "), lines[1:]))
    for line in lines:
        name, _, rest = line.partition(" ")
        headers.setdefault(name, []).append(rest)
    author, authored = _parse_signature(headers.get("author", [""])[0])
    committer, committed = _parse_signature(headers.get("committer", [""])[0])
    tree = headers.get("tree", [""])[0]
    return Commit(commit, tree, parents, author, authored, committer, committed, message.rstrip("\n"))


def has_own_encoding(text: str) -> bool:
    """Whether the output of `git cat-file commit` has an `encoding`: a commit in UTF-8 has none."""
    head = text.partition("\n\n")[0]
    return any(line.startswith("encoding ") for line in head.split("\n"))


def with_texts(commit: Commit, author: str, committer: str, message: str) -> Commit:
    """Return the commit with other names and another message, cut as in `parse_commit`."""
    names = (author[:_SIGNED_CHARS], committer[:_SIGNED_CHARS])
    return replace(commit, author=names[0], committer=names[1], message=message.rstrip("\n"))


def lead_to(known: Mapping[str, Commit], head: str, commit: str) -> bool:
    waiting, passed = [head], set[str]()
    while waiting:
        name = waiting.pop()
        if name == commit:
            return True
        if name not in passed and name in known:
            waiting += known[name].parents
        passed.add(name)
    return False


def chain(known: Mapping[str, Commit], head: str, ends: Collection[str]) -> tuple[str, ...] | None:
    """Return the ids from behind the newest of `ends` to `head`, oldest first; None where that is not known.

    It is where each of them has one parent, and all ends are in one line.
    """
    listed, name = list[str](), head
    while name not in ends:
        if name not in known or len(known[name].parents) != 1:
            return None
        listed.append(name)
        (name,) = known[name].parents
    return tuple(reversed(listed)) if all(lead_to(known, name, end) for end in ends) else None


def commit_text(commit: Commit) -> bytes:
    """Return the git object of a commit: only these fields, so no header hides anything."""
    rows = [
        f"tree {commit.tree}",
        *(f"parent {parent}" for parent in commit.parents),
        f"author {commit.author} {commit.authored}",
        f"committer {commit.committer} {commit.committed}",
    ]
    return ("\n".join(rows) + f"\n\n{commit.message}\n").encode("utf-8", "replace")


def own_commit(commit: Commit, committer: Committer, run_id: str, card: str, when: str) -> Commit:
    """Return the commit as Cardinal's own, with trailers for run and card."""
    name = f"{committer.name} <{committer.email}>"
    said = _OURS.sub("", commit.message.replace("\0", ""))[:_MESSAGE_CHARS].strip() or f"Work of run {run_id}"
    _, _, last = said.rpartition("\n\n")
    together = last != said and _TRAILERS.match(last)
    message = f"{said}{'' if together else chr(10)}\n{trailers((run_id,), card)}"
    return replace(commit, author=name, authored=when, committer=name, committed=when, message=message)


def find_run_of_commit(commit: Commit, ours: Collection[str]) -> str:
    """Return the run that made the commit; empty where its author is none of `ours`, Cardinal's names.

    Anybody can write the trailer, so it counts in Cardinal's own commits only.
    """
    named = find_run_trailers(commit.message) if commit.author in ours else []
    return named[-1] if named else ""


def find_run_trailers(message: str) -> list[str]:
    """Return the runs that the trailers of a commit's message name, whoever wrote them."""
    return [str(run_id) for run_id in _RUN.findall(message)]


def trailers(runs: Iterable[str], card: str) -> str:
    """Return the lines with which the message of each commit of Cardinal ends."""
    return "\n".join((*(f"Cardinal-Run: {run_id}" for run_id in runs), f"Cardinal-Card: {card}"))


def git_time(at: datetime, earlier_s: int = 0) -> str:
    """Return a time in git's format, that many seconds earlier, in UTC."""
    return f"{int(at.timestamp()) - earlier_s} +0000"


def unquote_path(path: str) -> str:
    """Return a path without git's quotes; bytes that are no UTF-8 stay escaped.

    Source: git-config(1), core.quotePath.
    """
    if not path.startswith('"'):
        return path
    raw, at = bytearray(), 0
    inside = path[1:-1]
    for match in _QUOTED.finditer(inside):
        raw += inside[at : match.start()].encode("utf-8", "replace")
        code = match[1]
        raw.append(int(code, 8) & 255 if len(code) == 3 else _ESCAPES.get(code, ord(code) & 127))
        at = match.end()
    raw += inside[at:].encode("utf-8", "replace")
    return raw.decode("utf-8", "backslashreplace")


def _parse_signature(text: str) -> tuple[str, str]:
    """Return a header's `Name <address>`, at most 1,000 characters of it, and its time."""
    who, *when = text.rsplit(" ", 2)
    written = " ".join(when)
    if not _WHEN.fullmatch(written):
        return text[:_SIGNED_CHARS], _NEVER
    return who[:_SIGNED_CHARS], written
