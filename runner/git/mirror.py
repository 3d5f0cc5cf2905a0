"""Bare mirrors on the host: the only place where the host reads an agent's work, and pushes from."""

import base64
import binascii
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from errno import EDQUOT, EIO, EMFILE, ENFILE, ENOMEM, ENOSPC, EROFS
from fcntl import LOCK_EX, LOCK_NB, flock
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

from ledger.lifecycle.in_place import put_in_place
from runner import errors
from runner.errors import SigningError
from runner.exec.child import Child, Ran, finish
from runner.git import commits, credentials
from runner.git.cli import run_git
from runner.git.commits import Commit, commit_text, unquote_path
from runner.git.object_files import (
    borrow_objects,
    count_refs,
    make_repository,
    read_ref,
    read_refs,
    write_object,
    write_ref,
)
from runner.git.push_refusals import PushCause, find_push_refusal
from runner.git.tree_entries import change_entries, check_entries
from runner.run.run_spec import Remote, SigningKey
from runner.text.plain import one_line, redact

_LIMIT_S = 30.0
_OUTPUT_BYTES = 100_000
# A signature of another kind differs each time, and so would the commit after a crash. Source: RFC 5656, 3.
_CHANCE = (b"ecdsa-", b"sk-ssh-", b"ssh-dss")


def sign_commit(commit: Commit, key: SigningKey, beat: Callable[[], None]) -> bytes:
    """Return the git object of a commit with its signature; the same commit gives the same object.

    Raises SigningError. Source: git-config(1), gpg.format; ssh-keygen(1), -Y sign.
    """
    content = commit_text(commit)
    child = Child(
        ("ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(key.path)),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"},
        cwd=key.path.parent,
        cap_bytes=_OUTPUT_BYTES,
    )
    child.write(content)
    ran = finish(child, what="ssh-keygen", timeout_s=_LIMIT_S, beat=beat)
    rows = ran.out.strip().splitlines()
    if ran.exit_code != 0 or not rows or rows[0] != "-----BEGIN SSH SIGNATURE-----":
        raise SigningError("it cannot be used: is it there, readable, and without a passphrase?")
    try:
        blob = base64.b64decode("".join(rows[1:-1]))
    except binascii.Error as error:
        raise SigningError("ssh-keygen made a signature that is not Base64") from error
    if any(kind in blob for kind in _CHANCE):
        raise SigningError("its kind signs differently each time: make one with `ssh-keygen -t ed25519`")
    head, _, message = content.partition(b"\n\n")
    header = "\n ".join(rows).encode()
    return b"%s\ngpgsig %s\n\n%s" % (head, header, message)


_FETCH_S, _QUERY_S = 600.0, 60.0
_SIZE_CAP_BYTES = 4_000_000_000
_FILE_BYTES = 4_000_000
_MAX_LINES = 1_000_000_000
_MAX_COMMITS = 1_000
_GONE = re.compile(
    r"not found|does not appear to be a git repository|could not read (?:Username|from remote)|does not exist"
    r"|Authentication failed|returned error: (?:401|403|404|410)|Could not resolve host|unable to access",
    re.IGNORECASE,
)
_UNSOUND = re.compile(
    r"fsck|badObject|bad object|malformed|hasDot|index-pack failed|unresolved deltas", re.IGNORECASE
)
# What this machine lacks: then git has found nothing wrong with objects.
_LACKS = re.compile(
    "|".join(map(re.escape, map(os.strerror, (ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EIO, EROFS)))),
    re.IGNORECASE,
)
_REF_LOCKED = re.compile(r"Unable to create '.*\.lock': File exists")
HALF_MADE = ".new"
MAX_TAGS = 10_000  # each is a file; a checkout of more has none
_BRANCHES, _TAGS = "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"
# Without a credential, and with nothing that a config file would read in another way.
_WEB_ADDRESS = re.compile(r"https?://[^@\s\"\\\x00-\x1f]+")
Beat = Callable[[], None]


@dataclass(frozen=True, slots=True)
class DiffStat:
    """The size of a branch's change against its base; a binary file counts as one added line.

    `sizes` are the added and removed lines of each of `paths`.
    `added_bytes` counts all new objects as stored, also those removed by a later commit.
    """

    files_changed: int
    lines_changed: int
    added_bytes: int
    commits: int
    paths: tuple[str, ...]
    lines_added: int = 0
    sizes: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Heads:
    """Heads of GitHub's branch and base at a claim's fetch; `branch` is empty when it did not exist."""

    branch: str
    base: str


class Mirror:
    """The host's bare copy of one repository; refs/heads are GitHub's, refs/cardinal those of runs."""

    def __init__(
        self,
        folder: Path,
        repository: str,
        remote: Remote,
        beat: Beat,
        *,
        stands_at: Mapping[str, str] | None = None,
    ) -> None:
        name = re.sub(r"[^A-Za-z0-9._-]", "_", repository)
        mark = hashlib.sha256(repository.encode()).hexdigest()[:8]  # two names never share a folder
        self.path = folder / f"{name}-{mark}.git"
        self._repository, self.remote, self.beat = repository, remote, beat
        self._stands_at = stands_at or {}  # commits that stand for the heads of these branches
        self._pushed: dict[str, str] = {}  # since the last fetch
        self._refused_tags = ""  # why the last fetch brought none
        # A commit's name stands for all that is behind it: what git said of names does not change.
        self._known: dict[str, Commit] = {}
        self._listed: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._measured: dict[tuple[str, str], DiffStat] = {}
        self._forks: dict[tuple[str, str], str] = {}
        self._compared: dict[tuple[str, str], tuple[str, ...]] = {}
        # By base and tree: a commit that is made Cardinal's own has no more behind it than the one brought.
        self._brought_bytes: dict[tuple[str, str], int] = {}
        self._files: dict[str, frozenset[str]] = {}
        self._entries: dict[str, tuple[str, ...]] = {}
        self.ignored: dict[tuple[str, frozenset[str]], frozenset[str]] = {}  # by `list_ignored`

    def beating(self, beat: Beat) -> "Mirror":
        """Return the same mirror with another beat, for who must not be stopped."""
        same = copy(self)
        same.beat = beat
        return same

    @property
    def web_address(self) -> str:
        """The repository's address as people know it; empty for one in a folder of this machine."""
        url = self.remote.url
        return url if _WEB_ADDRESS.fullmatch(url) else ""

    def make_whole(self) -> None:
        """Make the repository, whole or not at all: a half-made one no later run can use.

        `git init` makes objects/info last. Source: github.com/git/git, setup.c, init_db.
        """
        last = self.path / "objects" / "info"
        if last.is_dir():
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=self.path.parent, suffix=HALF_MADE) as beside:
            make_repository(new := Path(beside) / "new")
            with suppress(FileNotFoundError):
                self.path.rename(Path(beside) / "half-made")
            try:
                put_in_place(new, self.path)
            except OSError:
                if not last.is_dir():  # another run was quicker
                    raise

    def fetch(self, base_branch: str) -> str:
        """Fetch all branches and tags, and return the head of the base; no tags where one is unsound.

        Raises EmptyRepositoryError, MissingBaseError, GoneRepositoryError, UnsoundObjectsError or GitError.
        """
        self.make_whole()
        self._refused_tags, fetched = "", self._fetch(_BRANCHES, _TAGS)
        if fetched.exit_code != 0 and _says_unsound(fetched.tail):
            self._refused_tags = self._error_text(fetched)
            fetched = self._fetch(_BRANCHES)  # an unsound tag must not keep the branches out
        if fetched.exit_code != 0:
            raise self._error_of("fetch", fetched)
        self._pushed.clear()
        self._check_size()
        base = self.head(base_branch)
        if base_branch in self._stands_at and not self.has(base):
            raise errors.GoneCommitError(self._repository, base)
        if not base:
            ran = self._git("for-each-ref", "--count=1", "refs/heads")
            raise (
                errors.MissingBaseError(self._repository, base_branch)
                if ran.out.strip()
                else errors.EmptyRepositoryError(self._repository)
            )
        return base

    def explain_missing(self) -> str:
        """Return a sentence for people on what checkouts lack: tags, or the newest ones; empty if nothing."""
        if self._refused_tags:
            return (
                f"The repository's newest tags are not here, for git refuses one ({self._refused_tags}):"
                " remove that tag on GitHub."
            )
        if count_refs(self.path, "refs/tags") <= MAX_TAGS:
            return ""
        return f"The repository has more than {MAX_TAGS:,} tags: checkouts have none."

    def _fetch(self, *refs: str) -> Ran:
        args = ("fetch", "--prune", "--no-tags", "--no-write-fetch-head", "--quiet", "--", self.remote.url)
        return self._git(*args, *refs, online=True)

    def head(self, branch: str) -> str:
        """Return a GitHub branch's commit at the last fetch or push, or what stands for it; empty without
        one.
        """
        known = self._stands_at.get(branch) or self._pushed.get(branch)
        return known or read_ref(self.path, f"refs/heads/{branch}")

    def fetch_heads(self, branch: str, base_branch: str) -> Heads:
        """Fetch all branches and return these two heads. Raises the errors of `fetch`."""
        return Heads(base=self.fetch(base_branch), branch=self.head(branch))

    def has(self, commit: str) -> bool:
        ran = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
        return ran.exit_code == 0

    def goes_on_from(self, head: str, commit: str) -> bool:
        """Whether `commit` is in the history of `head`; a missing commit is in none."""
        return self._git("merge-base", "--is-ancestor", "--", commit, head).exit_code == 0

    def fork(self, base: str, head: str) -> str:
        """Return the newest common commit. Raises GitError without one."""
        if commits.lead_to(self._known, head, base):
            return base
        if (base, head) not in self._forks:
            ran = self._git("merge-base", base, head)
            if ran.exit_code == 1:
                raise errors.GitError(
                    "compare the branch with its base", "no commit is in the history of both"
                )
            self._must("merge-base", ran)
            self._forks[base, head] = ran.out.strip()
        return self._forks[base, head]

    def tree(self, commit: str) -> str:
        """Return the tree of a commit: equal for equal files."""
        return self.read_commits((commit,))[0].tree

    def files(self, commit: str) -> frozenset[str]:
        if commit not in self._files:
            rows = self.list_entries(commit)
            self._files[commit] = frozenset(unquote_path(row.partition("\t")[2]) for row in rows)
        return self._files[commit]

    def list_entries(self, commit: str) -> tuple[str, ...]:
        """Return the rows of `git ls-tree -r`, in any order. Raises GitError."""
        if commit not in self._entries:
            near = (pair for pair in self._compared if pair[1] == commit and pair[0] in self._entries)
            self._entries[commit] = (
                tuple(change_entries(self._entries[pair[0]], self._compared[pair]))
                if (pair := next(near, None))
                else tuple(self.query("ls-tree", "-r", commit).splitlines())
            )
        return self._entries[commit]

    def remember(self, name: str, commit: str) -> None:
        """Point refs/cardinal/`name` at a commit. Nobody else writes this name: it begins with a run's id."""
        write_ref(self.path, "refs/cardinal", name, commit)

    def read_ref(self, name: str) -> str:
        """Return the commit of refs/cardinal/`name`, or empty."""
        return read_ref(self.path, f"refs/cardinal/{name}")

    def take_pack(self, pack: Path, head: str, name: str, base: str = "") -> None:
        """Move a pack with the commit `head` in here, and point refs/cardinal/`name` at it.

        The commit `base`, onto which it was packed, is read with it: it is asked for next.

        First every object is checked, in a quarantine: it is sound, the objects that it names are here, and
        trees are no bomb. Raises UnsoundObjectsError, GitLimitError or GitError.
        """
        quarantine = pack.with_suffix(".quarantine")
        packs, inside = quarantine / "pack", self.path / "objects"
        try:
            size_bytes = pack.stat().st_size
            borrow_objects(quarantine, self.path)
            packs.mkdir()
            pack = pack.rename(packs / "unchecked.pack")
            ran = self._git("index-pack", "--strict", str(pack), objects=quarantine, timeout_s=_FETCH_S)
            if ran.exit_code != 0:
                raise self._unsound("take the export", ran)
            check_entries(partial(self.query, objects=quarantine), head)
            for suffix in (".pack", ".rev", ".idx"):  # the last one is what git looks for
                for part in packs.glob(f"*{suffix}"):
                    put_in_place(part, inside / "pack" / f"pack-{ran.out.strip()}{suffix}")
        finally:
            shutil.rmtree(quarantine, ignore_errors=True)
        self._check_size()
        self.remember(name, self.read_commits((head, *filter(None, (base,))))[0].commit)
        self._brought_bytes[base, self.tree(head)] = size_bytes

    def names_of(self, run_id: str) -> tuple[str, ...]:
        """Return the run's own refs, each as its name without the run and its commit."""
        refs = read_refs(self.path, "refs/cardinal", f"{run_id}-")
        return tuple(f"{name.removeprefix(f'{run_id}-')} {commit}" for name, commit in refs.items())

    def take_bundle(self, bundle: Path, name: str, ref: str = "HEAD") -> str:
        """Fetch a ref of a bundle into refs/cardinal/`name`, checking every object; return the commit.

        Raises UnsoundObjectsError, GitLimitError or GitError. A bundle is unpacked in a quarantine first: git
        2.39 does not check the objects of a bundle, whatever fetch.fsckObjects says, but those of a
        repository it does.
        """
        quarantine = bundle.with_suffix(".quarantine")
        try:
            make_repository(quarantine)
            borrow_objects(quarantine / "objects", self.path)
            self._take(str(bundle), f"+{ref}:refs/heads/export", quarantine)
            self._take(str(quarantine), f"+refs/heads/export:refs/cardinal/{name}", self.path)
        finally:
            shutil.rmtree(quarantine, ignore_errors=True)
        self._check_size()
        taken = self.read_ref(name)
        check_entries(self.query, taken)
        return taken

    def _take(self, source: str, refs: str, into: Path) -> None:
        args = ("fetch", "--no-tags", "--no-write-fetch-head", "--quiet", "--", source, refs)
        fetched = self._git(*args, folder=into, timeout_s=_FETCH_S)
        if fetched.exit_code != 0:
            raise self._unsound("take the export", fetched)

    def diff(self, base: str, head: str) -> DiffStat:
        """Return the change of `head` since it left `base`. Raises GitError without a common history."""
        if (base, head) not in self._measured:
            self._measured[base, head] = self._measure(base, head)
        return self._measured[base, head]

    def compare(self, commit: str, other: str) -> tuple[str, ...]:
        """Return the rows of `git diff --raw --numstat` between two commits. Raises GitError."""
        if (commit, other) not in self._compared:
            # A name a line, quoted where it must be: between NULs all of them together would be one line,
            # cut.
            args = ("--raw", "--numstat", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv")
            said = self.query("diff", *args, "--ignore-submodules=none", commit, other, "--")
            self._compared[commit, other] = tuple(said.splitlines())
        return self._compared[commit, other]

    def diff_contents(self, pairs: Sequence[tuple[str, str]]) -> str | None:
        """Return what differs in each pair of files, without context; a missing side is empty.

        The pairs are named by their number, and those that are equal are left out. None where a line is too
        long. Raises GitError.
        """
        with TemporaryDirectory(prefix="cardinal-pairs.") as name:
            borrow_objects(objects := Path(name, "objects"), self.path)
            trees = (
                b"".join(
                    f"100644 {number:06}\0".encode() + bytes.fromhex(side)
                    for number, side in enumerate(sides)
                    if side
                )
                for sides in zip(*pairs, strict=True)
            )
            names = [write_object(objects, "tree", tree) for tree in trees]
            args = ("-p", "-U0", "--text", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv")
            return self.read("diff-tree", *args, *names, objects=objects)

    def _measure(self, base: str, head: str) -> DiffStat:
        paths, lines = [], []
        for row in self.compare(self.fork(base, head), head):
            if row.startswith(":"):
                continue
            added, removed, path = row.split("\t", 2)
            lines.append((1 if added == "-" else int(added), 0 if removed == "-" else int(removed)))
            paths.append(unquote_path(path))
        new, gone = sum(size[0] for size in lines), sum(size[1] for size in lines)
        stored = self._brought_bytes.get((base, self.tree(head)))
        if stored is None:
            args = ("rev-list", "--disk-usage", "--objects", head, f"^{base}")
            stored = int(self._output("measure the branch", *args))
        sizes = new + gone, stored, len(self._list(head, base))
        return DiffStat(len(paths), *sizes, tuple(paths), new, tuple(lines))

    def patch(self, base: str, head: str) -> str:
        """Return the diff of `head` since it left `base`; binary files appear by name."""
        args = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", f"{base}...{head}", "--")
        return self._output("show the change", *args)

    def lines_of(self, commit: str, path: str) -> int | None:
        """Return the number of lines of a file at a commit; None for a missing file.

        A file larger than _FILE_BYTES has _MAX_LINES.
        """
        name = f"{commit}:{path}"
        size = self._git("cat-file", "-s", name)
        kind = self._git("cat-file", "-t", name)
        if size.exit_code != 0 or kind.out.strip() != "blob":
            return None
        if int(size.out.strip()) > _FILE_BYTES:
            return _MAX_LINES
        text = self._output("read a file", "cat-file", "blob", name)
        return len(text.removesuffix("\n").split("\n")) if text else 0

    def differing(self, commit: str, other: str) -> frozenset[str]:
        args = ("--name-only", "--no-renames", "--no-ext-diff", "--ignore-submodules=none")
        return frozenset(map(unquote_path, self.query("diff", *args, commit, other, "--").splitlines()))

    def commits(self, head: str, *known: str) -> tuple[Commit, ...]:
        """Return the commits of `head` without those of `known`, oldest first. Raises LongHistoryError."""
        listed = self._list(head, *known)
        if len(listed) > _MAX_COMMITS:
            raise errors.LongHistoryError(len(listed), _MAX_COMMITS)
        near = filter(None, known) if listed else ()  # their parents are asked for next
        return self.read_commits((*listed, *near))[: len(listed)]

    def _list(self, head: str, *known: str) -> tuple[str, ...]:
        """Return the ids of the commits of `head` without those of `known`, oldest first."""
        if head in known:
            return ()
        without = tuple(dict.fromkeys(filter(None, known)))
        straight = commits.chain(self._known, head, without)
        if straight is not None:
            return straight
        wanted = (head, *(f"^{commit}" for commit in without))
        if wanted not in self._listed:
            listed = self.query("rev-list", "--topo-order", "--reverse", *wanted, "--")
            self._listed[wanted] = tuple(listed.split())
        return self._listed[wanted]

    def read_commits(self, names: Sequence[str]) -> tuple[Commit, ...]:
        """Return the commits of these ids. Raises GitError where one is no commit, or not here."""
        unread = [name for name in dict.fromkeys(names) if name not in self._known]
        for name, kind, text in self.read_objects(unread):
            if kind == "commit":
                read = commits.parse_commit(name, text)
                self._known[name] = self._recode_commit(read) if commits.has_own_encoding(text) else read
        try:
            return tuple(self._known[name] for name in names)
        except KeyError as error:
            raise errors.GitError("read a commit", f"{error} is no commit of the mirror") from error

    def read_objects(self, names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """Yield name, kind and text of each of these objects that is here. Raises GitError."""
        if names:
            mark = secrets.token_hex(16)  # nobody who wrote an object knew it
            args = ("cat-file", f"--batch={mark} %(objectname) %(objecttype)")
            said = self.query(*args, given="".join(f"{name}\n" for name in names).encode())
            for answer in said.split(f"{mark} ")[1:]:
                title, _, text = answer.partition("\n")
                name, _, kind = title.partition(" ")
                yield name, kind, text

    def _recode_commit(self, commit: Commit) -> Commit:
        """Return the commit with its texts in UTF-8, as git shows them."""
        args = ("log", "--no-walk", "--no-notes", "--no-show-signature", "--encoding=UTF-8")
        shown = self.query(*args, "--format=%an <%ae>%n%cn <%ce>%n%B", commit.commit)
        author, committer, message = shown.split("\n", 2)
        return commits.with_texts(commit, author, committer, message)

    def change_digest(self, commit: str) -> str:
        """Return the digest of a commit's changed lines, wherever they stand; its id if unreadable."""
        args = ("-p", "-U0", "--root", "--text", "--no-color", "--no-renames", "--no-ext-diff")
        shown = self.read("diff-tree", *args, "--no-textconv", "--no-commit-id", commit)
        if shown is None:
            return commit
        rows = (row for row in shown.split("\n") if not row.startswith(("@@ ", "index ")))
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def make_commit(self, commit: Commit, key: SigningKey | None = None) -> str:
        """Store a commit, signed if there is a key, and return its id. Raises SigningError."""
        content = sign_commit(commit, key, self.beat) if key else commits.commit_text(commit)
        name = write_object(self.path / "objects", "commit", content)
        self._known[name] = commits.parse_commit(name, content.decode())
        return name

    def query(self, *args: str, given: bytes = b"", objects: Path | None = None) -> str:
        """Return the whole output of one git command. Raises GitError when it fails or is too long."""
        ran = self._git(*args, given=given, objects=objects)
        self._must(args[0], ran)
        if ran.cut:
            raise errors.GitError(args[0], "a line is too long to be read")
        return ran.out

    def read(self, *args: str, objects: Path | None = None) -> str | None:
        """Return the output of one git command; None where a line is too long. Raises GitError."""
        ran = self._git(*args, objects=objects)
        self._must(args[0], ran)
        return None if ran.cut else ran.out

    def push(self, head: str, branch: str, known: str) -> None:
        """Set GitHub's `branch` to `head`, if it is still at `known` (empty: missing).

        Raises MovedBranchError, PushRefusedError, GoneRepositoryError or GitError.
        """
        pushed = self._git(
            *("push", "--porcelain", "--no-verify", f"--force-with-lease=refs/heads/{branch}:{known}", "--"),
            *(self.remote.url, f"{head}:refs/heads/{branch}"),
            online=True,
        )
        if pushed.exit_code == 0:
            self._pushed[branch] = head
            return
        refusal = find_push_refusal(pushed.out + pushed.tail)
        if refusal is None:
            raise self._error_of("push", pushed)
        if refusal.cause is PushCause.MOVED:
            raise errors.MovedBranchError(branch)
        cause, because, step = refusal.cause, refusal.because, refusal.step
        detail = self._error_text(pushed)
        raise errors.PushRefusedError(branch, detail, cause=cause, because=because, step=step)

    def exchange(self, *args: str, refs: str) -> None:
        """Fetch or push one `source:target`. Raises UnsoundObjectsError, GoneRepositoryError or GitError."""
        done = self._git(*args, "--quiet", "--", self.remote.url, refs, online=True)
        if done.exit_code != 0:
            raise self._error_of(args[0], done)

    def _check_size(self) -> None:
        size = sum(pack.stat().st_size for pack in (self.path / "objects").glob("pack/*.pack"))
        if size > _SIZE_CAP_BYTES:
            raise errors.OversizedRepositoryError(self._repository, _SIZE_CAP_BYTES)

    def _git(
        self,
        *args: str,
        online: bool = False,
        timeout_s: float = _QUERY_S,
        objects: Path | None = None,
        folder: Path | None = None,
        given: bytes = b"",
    ) -> Ran:
        writes = args[0] in ("fetch", "update-ref")

        def run() -> Ran:
            return run_git(
                args,
                folder=folder or self.path,
                beat=self.beat,
                timeout_s=_FETCH_S if online else timeout_s,
                more_env=credentials.fresh(self.remote, self.beat)
                if online
                else _object_environment(objects),
                lock=self.path / "cardinal.lock" if writes else None,
                given=given,
                transfers=online,
                bare=True,
            )

        try:
            ran = run()
            if writes and _REF_LOCKED.search(ran.tail):
                self._drop_left("refs/**/*.lock", "packed-refs.lock")
                ran = run()
            return ran
        finally:
            if args[0] == "fetch":
                self._drop_left("objects/pack/tmp_*")

    def _drop_left(self, *patterns: str) -> None:
        """Remove what fetches left that failed or were killed, unless another one is at work.

        Git keeps packs for weeks: on a full disk each try would take what room somebody made. It never
        removes the lock of a ref, without which nobody can write that ref.
        """
        with (self.path / "cardinal.lock").open("wb") as lock, suppress(BlockingIOError):
            flock(lock, LOCK_EX | LOCK_NB)
            for left in chain.from_iterable(map(self.path.glob, patterns)):
                left.unlink()

    def _error_of(self, what: str, ran: Ran) -> errors.RepositoryError:
        if _GONE.search(ran.tail):
            return errors.GoneRepositoryError(self._repository, self._error_text(ran))
        return self._unsound(what, ran)

    def _unsound(self, what: str, ran: Ran) -> errors.RepositoryError:
        detail = self._error_text(ran)
        return (
            errors.UnsoundObjectsError(detail) if _says_unsound(ran.tail) else errors.GitError(what, detail)
        )

    def _output(self, what: str, *args: str) -> str:
        """Return the output of a git command. Raises GitError, which says `what` failed."""
        ran = self._git(*args)
        self._must(what, ran)
        return ran.out

    def _must(self, what: str, ran: Ran) -> None:
        if ran.exit_code != 0:
            raise errors.GitError(what, self._error_text(ran))

    @staticmethod
    def _error_text(ran: Ran) -> str:
        return one_line(redact(ran.tail), 600)


def _says_unsound(text: str) -> bool:
    return bool(_UNSOUND.search(text)) and not _LACKS.search(text)


def _object_environment(objects: Path | None) -> dict[str, str]:
    """Return the environment in which git's objects are those of a folder and of its alternates."""
    return {} if objects is None else {"GIT_OBJECT_DIRECTORY": str(objects)}
