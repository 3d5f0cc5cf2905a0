"""One bare git repository on disk, read and written through the `git` command."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any

from cachetools import LRUCache, cached

from forge.git import rulesets

GIT_TIMEOUT_S = 60
COPY_TIMEOUT_S = 1800  # without hard links all objects are copied
ZERO_SHA = "0" * 40
KEPT_BYTES = 16_000_000
ORIGIN = "origin-id"
COMMITS = re.compile(r"[0-9a-f]{40}(?:\.{2,3}[0-9a-f]{40}|\^\{commit\}|:.*)?", re.DOTALL)
MALFORMED = re.compile(r"\0|(?:^|/)(?:|\.|\.\.|\.git)(?:/|$)", re.IGNORECASE)  # git before 2.47 imports it
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

CONFIG = """
[http]
	receivepack = true
[gc]
	auto = 0
[receive]
	autogc = false
[pack]
	compression = 1
[fastimport]
	unpackLimit = 1
[uploadpack]
	allowAnySHA1InWant = true
	allowFilter = true
[core]
	quotePath = false
	bigFileThreshold = 16m
"""

# A push to a protected branch is declined with GitHub's message (error GH006), one that breaks a ruleset with
# GH013. `signed` has lines of a code and a pattern of refs that take verified commits only.
# Source: docs.github.com/repositories/configuring-branches-and-merges-in-your-repository/managing-rulesets/
# troubleshooting-rules.
UPDATE_HOOK = Path(__file__).with_name("update_hook.sh")


class GitError(Exception):
    """A git command failed; `arguments`, `status` and `message` say which and why."""

    def __init__(self, arguments: tuple[str, ...], status: int, message: str) -> None:
        self.arguments = arguments
        self.status = status
        self.message = message
        super().__init__(f"git {' '.join(arguments)}: exit {status}: {message}")


class MergeConflictError(GitError):
    """Two commits change the same lines."""


@dataclass(frozen=True, slots=True)
class Signature:
    """The writer of a commit, and the time."""

    name: str
    email: str
    date: datetime


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as read from git."""

    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str
    trust: str = "N"  # git's letter for the signature: N without one, G for a good one
    signer: str = ""  # the address whose key made it

    @property
    def verification(self) -> str:
        """GitHub's reason for its verdict: `valid` for a verified commit.

        Source: docs.github.com/rest/commits/commits#get-a-commit.
        """
        if self.trust == "G":
            return "valid" if self.signer == self.committer.email else "bad_email"
        return {"N": "unsigned", "B": "invalid"}.get(self.trust, "unknown_key")


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a diff; `patch` is empty for a binary file."""

    path: str
    status: str
    additions: int
    deletions: int
    blob: str
    previous_path: str | None
    patch: str


def clean_environment() -> dict[str, str]:
    """Return an environment in which no configuration of this machine's user counts."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }


@dataclass(frozen=True, slots=True)
class Git:
    """A bare repository at `path`."""

    path: Path

    def run(
        self, *arguments: str, stdin: bytes | None = None, extra: Mapping[str, str] | None = None
    ) -> bytes:
        """Return the standard output of `git <arguments>`; raises GitError when it fails."""
        done = subprocess.run(
            ["git", "--git-dir", str(self.path), *arguments],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=GIT_TIMEOUT_S,
            env={**clean_environment(), **(extra or {})},
            process_group=0,  # killed with its caller's group, it would leave a lock in a person's repository
            check=False,
        )
        if done.returncode:
            message = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
            raise GitError(arguments, done.returncode, message)
        return done.stdout

    def run_kept(
        self, *options: str, of: Sequence[str], state: str = "", before: Sequence[str] = ()
    ) -> bytes:
        """Return the output of `git <before> <options> <of>` as `run` does, kept where it can never change:
        where all commits are named in full. A failure is not kept: a commit may come later.

        `state` is what the output depends on besides options and commits; it does not depend on `before`.
        What is kept also answers for copies of this repository's folder: a command that writes objects,
        which a copy would lack, goes to `run`.
        """
        args = (*before, *options, *of)
        if not all(map(COMMITS.fullmatch, of)):
            return self.run(*args)
        return _run_kept(self, args, (self._origin, options, tuple(of), state))

    def attempt(self, *arguments: str) -> str | None:
        """Return the output of a git command as one stripped text; `None` when it fails."""
        try:
            return self.line(*arguments)
        except GitError:
            return None

    def line(
        self, *arguments: str, stdin: bytes | None = None, extra: Mapping[str, str] | None = None
    ) -> str:
        """Return the output of a git command as one stripped text."""
        return self.run(*arguments, stdin=stdin, extra=extra).decode(errors="replace").strip()

    def create(self, default_branch: str) -> None:
        """Make the bare repository, without commits."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        args = ("--quiet", "--bare", "--template=", f"--initial-branch={default_branch}")  # no sample hooks
        subprocess.run(
            ["git", "init", *args, str(self.path)],
            check=True,
            timeout=GIT_TIMEOUT_S,
            env=clean_environment(),
            capture_output=True,
        )
        self._configure()

    def copy(self, source: Path, branch: str) -> None:
        """Make the bare repository as a copy of one branch of another one on this machine.

        Objects are shared as hard links where the file system allows. Source: git-clone(1); with its option
        --local a work tree on another disk than its repository would have no copy.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        args = ("clone", "--quiet", "--bare", "--template=", "--no-tags", "--single-branch")
        done = subprocess.run(
            ["git", *args, "--branch", branch, "--", str(source), str(self.path)],
            timeout=COPY_TIMEOUT_S,
            env=clean_environment(),
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise GitError(args, done.returncode, done.stderr.decode(errors="replace").strip())
        self.run("remote", "remove", "origin")
        self._configure()

    @property
    def _origin(self) -> str:
        """What this repository has in common with copies of its folder alone."""
        try:
            return (self.path / ORIGIN).read_text()
        except FileNotFoundError:  # made before there was this file
            return str(self.path)

    def _configure(self) -> None:
        (self.path / ORIGIN).write_text(token_hex())
        with (self.path / "config").open("a") as config:
            config.write(CONFIG)
        (self.path / "hooks").mkdir(exist_ok=True)
        hook = self.path / "hooks" / "update"
        places = {"@PYTHON@": sys.executable, "@RULESETS@": str(Path(rulesets.__file__).resolve())}
        text = UPDATE_HOOK.read_text()
        for mark, place in places.items():
            text = text.replace(mark, shlex.quote(place))
        hook.write_text(text)
        hook.chmod(0o755)

    def protect(self, branches: list[str]) -> None:
        """Make pushes to `branches`, and only to those, be declined."""
        (self.path / "protected").write_text("".join(f"refs/heads/{branch}\n" for branch in branches))

    def want_signatures(self, patterns: list[tuple[str, str]]) -> None:
        """Make pushes of unverified commits to these refs be declined, each with its code."""
        (self.path / "signed").write_text("".join(f"{code} {pattern}\n" for code, pattern in patterns))

    def set_rules(self, rules: Mapping[str, Any]) -> None:
        """Make pushes that break these rules be declined; they are given by the pattern of their branches."""
        (self.path / "rules").write_text(json.dumps(rules))

    @property
    def signers(self) -> Path:
        """The file with the keys that signatures are verified by, shared by the repositories of a store."""
        return self.path.parents[2] / "allowed_signers"

    def refs(self) -> dict[str, str]:
        """Return the commit of every branch and tag by full ref name."""
        refs: dict[str, str] = {}
        for kind in ("heads", "tags"):
            for folder, _, names in os.walk(self.path / "refs" / kind):
                for file in (Path(folder, name) for name in names if not name.endswith(".lock")):
                    with suppress(FileNotFoundError):  # deleted, or packed meanwhile
                        refs[str(file.relative_to(self.path))] = file.read_text().strip()
        with suppress(FileNotFoundError):  # read last: what is packed meanwhile is in there
            packed = (self.path / "packed-refs").read_text().splitlines()
            for sha, _, name in (line.partition(" ") for line in packed):
                if name.startswith(("refs/heads/", "refs/tags/")):
                    refs.setdefault(name, sha)
        return dict(sorted(refs.items()))

    def branches(self) -> dict[str, str]:
        heads = "refs/heads/"
        return {ref.removeprefix(heads): sha for ref, sha in self.refs().items() if ref.startswith(heads)}

    def resolve(self, name: str) -> str | None:
        """Return the commit that a branch, tag or sha means; `None` when there is none."""
        if re.fullmatch("[0-9a-f]{40}", name):
            return self._sha(f"{name}^{{commit}}")
        refs, head = self.refs(), f"refs/heads/{name}"
        if name == "HEAD":
            head = (self.path / "HEAD").read_text().strip().removeprefix("ref: ")
        if head in refs:
            return refs[head]
        return self._sha(f"{refs.get(f'refs/tags/{name}') or refs.get(name, name)}^{{commit}}")

    def _sha(self, object_name: str) -> str | None:
        command = ("rev-parse", "--verify", "--quiet", "--end-of-options")
        with suppress(GitError):
            return self.run_kept(*command, of=(object_name,)).decode().strip()
        return None

    def update_ref(self, ref: str, sha: str, expected: str | None = None) -> None:
        """Point `ref` at `sha`; raises GitError when it is not at `expected` (if given)."""
        self.run("update-ref", ref, sha, *([expected] if expected is not None else []))

    def delete_ref(self, ref: str) -> None:
        """Remove `ref`; raises GitError when git refuses."""
        self.run("update-ref", "-d", ref)

    def is_valid_ref(self, ref: str) -> bool:
        return self.attempt("check-ref-format", ref) is not None

    def commit(self, sha: str) -> Commit:
        """Return one commit; raises GitError when there is none."""
        return self.log(sha, limit=1)[0]

    def log(self, range_: str, limit: int = 250) -> list[Commit]:
        """Return up to `limit` commits of a range, newest first."""
        form = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%G?%x00%GS%x00%B%x01"
        trusting = ("-c", f"gpg.ssh.allowedSignersFile={self.signers}")
        args = ("log", f"--max-count={limit}", f"--format={form}", "--end-of-options")
        signers = self.signers.read_text() if self.signers.is_file() else ""
        out = self.run_kept(*args, of=(range_,), state=signers, before=trusting)
        records = out.decode(errors="replace").split("\x01")
        return [_commit(record.lstrip("\n").split("\x00")) for record in records if record.strip()]

    def signature(self, sha: str) -> tuple[str, str] | None:
        """Return a commit's signature and what it signs; `None` for an unsigned one."""
        raw = self.run("cat-file", "commit", sha).decode(errors="replace")
        match = re.search(r"^gpgsig (.*(?:\n .*)*)\n", raw, re.MULTILINE)
        if match is None:
            return None
        return match[1].replace("\n ", "\n"), raw[: match.start()] + raw[match.end() :]

    def read(self, commit: str, path: str) -> bytes | None:
        """Return a file's bytes at `commit`; `None` when it is not a file there."""
        try:
            return self.run_kept("cat-file", "blob", of=(f"{commit}:{path}",))
        except GitError:
            return None

    def entries(self, commit: str, path: str) -> list[tuple[str, str, str]]:
        """Return (type, sha, path) of each entry of a folder at `commit`, empty without such a folder.

        A type is git's own: tree, blob or commit, and `link` for a blob that is a symbolic link.
        """
        where = f"{commit}:{path}" if path else commit
        try:
            out = self.run_kept("ls-tree", "-z", "--end-of-options", of=(where,)).decode(errors="replace")
        except GitError:
            return []
        entries = []
        for entry in filter(None, out.split("\x00")):
            head, name = entry.split("\t", 1)
            mode, kind, sha = head.split(" ")
            entries.append(("link" if mode == "120000" else kind, sha, f"{path}/{name}" if path else name))
        return entries

    def blob_sha(self, commit: str, path: str) -> str | None:
        """Return the object name of a path at `commit`; `None` when it is not there."""
        return self._sha(f"{commit}:{path}")

    def write_files(
        self, branch: str, files: Mapping[str, bytes | None], message: str, author: Signature
    ) -> str:
        """Commit `files` (`None` removes one) on a branch, which is made if need be; return the commit."""
        ref, who = f"refs/heads/{branch}", _format_signature(author)
        parent = self.refs().get(ref)
        lines = [
            *(f"commit {ref}", "mark :1", f"author {who}", f"committer {who}"),
            *(f"data {len(message.encode())}", message),
            *([f"from {parent}"] if parent else []),
        ]
        stream = [line.encode() for line in lines]
        for path, content in files.items():
            if MALFORMED.search(path):
                raise GitError(("fast-import",), 1, "path contains a malformed path component")
            name = '"' + re.sub(r'([\\"])', r"\\\1", path).replace("\n", "\\n") + '"'
            if content is None:
                stream.append(f"D {name}".encode())
            else:
                stream += (f"M 100644 inline {name}".encode(), b"data %d" % len(content), content)
        return self.line("fast-import", "--quiet", stdin=b"\n".join((*stream, b"get-mark :1", b"")))

    def commit_tree(
        self,
        tree: str,
        parents: list[str],
        message: str,
        author: Signature,
        committer: Signature | None = None,
        *,
        key: Path | None = None,
    ) -> str:
        """Write a commit of `tree`, signed with an SSH key if there is one, and return its sha."""
        signature = committer or author
        people = {
            "GIT_AUTHOR_NAME": author.name,
            "GIT_AUTHOR_EMAIL": author.email,
            "GIT_AUTHOR_DATE": f"{int(author.date.timestamp())} +0000",
            "GIT_COMMITTER_NAME": signature.name,
            "GIT_COMMITTER_EMAIL": signature.email,
            "GIT_COMMITTER_DATE": f"{int(signature.date.timestamp())} +0000",
        }
        after = [argument for parent in parents for argument in ("-p", parent)]
        signs = ("-c", "gpg.format=ssh", "-c", f"user.signingkey={key}") if key else ()
        sign = ("-S",) if key else ()
        return self.line(*signs, "commit-tree", *sign, tree, *after, stdin=message.encode(), extra=people)


@cached(
    LRUCache(KEPT_BYTES, getsizeof=lambda out: len(out) + 1000),
    key=lambda _git, _words, key: key,
    lock=Lock(),
)
def _run_kept(git: Git, words: tuple[str, ...], _key: object) -> bytes:
    return git.run(*words)


def _format_signature(signature: Signature) -> str:
    return f"{signature.name} <{signature.email}> {int(signature.date.timestamp())} +0000"


def _commit(fields: list[str]) -> Commit:
    sha, tree, parents, author, author_email, authored, *rest = fields
    committer, committer_email, committed, trust, signer, body = rest
    return Commit(
        sha=sha,
        tree=tree,
        parents=tuple(parents.split()),
        author=Signature(author, author_email, datetime.fromtimestamp(int(authored), UTC)),
        committer=Signature(committer, committer_email, datetime.fromtimestamp(int(committed), UTC)),
        message=body.rstrip("\n"),
        trust=trust,
        signer=signer,
    )
