"""One card's folder on the host, shared by both backends; nothing of its contents is trusted."""

import fnmatch
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from ledger.ids import CardId
from ledger.lifecycle.in_place import put_in_place
from runner.errors import OversizedRepositoryError, WorkspaceError
from runner.workspaces.contract import DiskUsage

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
MAX_FILES = 1000


def move_files(source: Path, target: Path, patterns: Sequence[str]) -> None:
    """Move the plain files of `source` that fit a pattern to the same place in `target`, which is empty.

    A part of a pattern fits a part of a path. Folders on the way are made anew, with the owner of `target`.
    Raises WorkspaceError.
    """
    try:
        with _folder_at(source) as here, _folder_at(target) as there:
            moved = 0
            for pattern in patterns:
                moved += _move_fitting(here, there, pattern.split("/"), MAX_FILES - moved)
    except OSError as error:
        raise WorkspaceError("keeping the session", error.strerror or str(error)) from error


def _move_fitting(here: int, there: int, parts: Sequence[str], most: int) -> int:
    """Move the files that fit, so many at most; return how many."""
    moved = 0
    for name in _names_like(here, parts[0]):
        if moved >= most:
            break
        kind = os.stat(name, dir_fd=here, follow_symlinks=False).st_mode
        if len(parts) == 1:
            if stat.S_ISREG(kind):
                os.rename(name, name, src_dir_fd=here, dst_dir_fd=there)
                os.chmod(name, stat.S_IRUSR | stat.S_IWUSR, dir_fd=there)
                moved += 1
        elif stat.S_ISDIR(kind):
            moved += _move_inside(here, there, name, parts[1:], most - moved)
    return moved


def _move_inside(here: int, there: int, name: str, parts: Sequence[str], most: int) -> int:
    os.chmod(name, stat.S_IRWXU, dir_fd=here)  # its owner may have taken that away
    with ExitStack() as stack:
        inside = stack.enter_context(_folder_at(name, here))
        made = False
        try:
            os.mkdir(name, stat.S_IRWXU, dir_fd=there)
            made = True
        except FileExistsError:
            pass
        beside = stack.enter_context(_folder_at(name, there))
        if made:
            owner = os.stat(there)
            os.chown(beside, owner.st_uid, owner.st_gid)
        return _move_fitting(inside, beside, parts, most)


def _boot_id() -> str:
    """Return the id of the machine's last start; empty without /proc."""
    try:
        return BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _names_like(folder: int, pattern: str) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if fnmatch.fnmatchcase(entry.name, pattern))


@contextmanager
def _folder_at(path: Path | str, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


_COPY_BYTES = 1 << 20
_PROGRAM_S = 300
_WEIGH_S = 60
_ROW, _ROW_BYTES = "%20i%10n%19b\\n", 50  # inode, names, blocks
_BLOCK_BYTES = 512
_PARTS = ("repo", "home", "out")
_TOLD, _STANDS, _DISTRUSTED, _SIGNED = "told.json", "stands", "distrusted", "claims"
_INSIDE, _OLD = "workspace", ".old"
# Another one after each start of the machine. Source: proc_sys_kernel(5), random/boot_id.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_SINCE = "since="
_MAX_LINKS = 40
_HASHED = re.compile(r"[0-9a-f]{32}")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


class Folder:
    """The base of a workspace; see its contract. `repo/`, `home/` and `out/` belong to the user inside.

    `card`, `claims`, `ready`, `stands`, `told.json` and `skills/` belong to the host.
    """

    changes = 0

    def __init__(self, root: Path, card_id: CardId, uid: int, gid: int) -> None:
        self.root = root.absolute()
        self.repo = self.root / "repo"
        for name in (*_PARTS, "skills"):
            part = self.root / name
            part.mkdir(parents=True, exist_ok=True)
            part.chmod(part.stat().st_mode | stat.S_IRWXU)  # its owner inside may have taken that away
        (self.root / "card").write_text(card_id, encoding="utf-8")
        self._give_to(uid, gid)

    @property
    def fresh(self) -> bool:
        """Whether no checkout was completed here."""
        return not (self.root / "ready").exists()

    def mark_ready(self) -> None:
        self._keep("ready", "")

    def sign(self, *claims: str) -> None:
        self._keep(_SIGNED, " ".join((*claims, _SINCE + _boot_id())))

    def read_signatures(self) -> tuple[str, ...]:
        signed = self._read_name(_SIGNED).split()
        claims = tuple(name for name in signed if not name.startswith(_SINCE))
        # What programs wrote before the machine went down may never have reached the disk.
        return claims if len(claims) == len(signed) or _SINCE + _boot_id() in signed else ()

    def mark_untrusted(self, why: str) -> None:
        self._keep(_DISTRUSTED, why)

    def why_untrusted(self) -> str:
        """Return the recorded reason, or empty."""
        return self._read_name(_DISTRUSTED)

    def unlock(self) -> None:
        """Restore the owner's rights on the checkout."""
        _program("the workspace", "chmod", "-R", "u+rwX", "--", str(self.root / "repo"))

    def clear(self, kept: Sequence[str] = ()) -> None:
        """Empty the checkout, and the home but for its plain files of these patterns: it is fresh then."""
        for mark in ("ready", _DISTRUSTED, _STANDS, _SIGNED):
            (self.root / mark).unlink(missing_ok=True)
        for name in ("repo", "home"):
            part, old = self.root / name, self.root / f"{name}{_OLD}"
            _remove("clearing the workspace", old)  # of a clearing that was cut short
            owner = part.stat()
            part.rename(old)
            part.mkdir()
            os.chown(part, owner.st_uid, owner.st_gid)
            if name == "home" and kept:
                move_files(old, part, kept)
            _remove("clearing the workspace", old)

    def plain_git(self) -> Path:
        """Return `.git`. Raises WorkspaceError when it is a link, which would expose a folder of the host."""
        git = self.root / "repo" / ".git"
        if not git.is_dir() or git.is_symlink():
            raise WorkspaceError("protecting .git", "it is no folder any more")
        return git

    def collect(self, name: str, target: Path, cap_bytes: int) -> None:
        """Copy `out/<name>` without following a link, then remove it."""
        source = self.root / "out" / name
        try:
            descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise WorkspaceError("the export", str(error)) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise WorkspaceError("the export", f"{name} is no plain file")
        with os.fdopen(descriptor, "rb") as opened, target.open("wb") as copy:
            copied = 0
            while chunk := opened.read(_COPY_BYTES):
                copied += len(chunk)
                if copied > cap_bytes:
                    raise OversizedRepositoryError("what the run made", cap_bytes)
                copy.write(chunk)
        source.unlink()

    def equip(self, files: Mapping[str, bytes]) -> None:
        """Replace the contents of `skills/` with these files, which everybody can read."""
        place = self.root / "skills"
        if not files and not any(place.iterdir()):
            return
        _remove("removing old skills", place)
        place.mkdir()
        for name, content in files.items():
            parts = name.split("/")
            if not all(_PLAIN_NAME.fullmatch(part) for part in parts):
                raise WorkspaceError("the skills", f"{name!r} is no path of a skill's file")
            path = place.joinpath(*parts)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            path.chmod(0o444)
        for folder in (place, *(path for path in place.rglob("*") if path.is_dir())):
            folder.chmod(0o555)

    def register_secrets(self, phrases: Sequence[str]) -> None:
        """Store the phrases; nothing is stored where there never were any."""
        if phrases or (self.root / _TOLD).exists():
            self._keep(_TOLD, json.dumps(list(phrases)))

    def private_phrases(self) -> tuple[str, ...]:
        try:
            return tuple(map(str, json.loads((self.root / _TOLD).read_text(encoding="utf-8"))))
        except FileNotFoundError:
            return ()

    def record_base(self, commit: str) -> None:
        """Store the commit of GitHub's branch that the checkout is based on."""
        self._keep(_STANDS, commit)

    def read_base(self) -> str:
        """Return the commit that was stored last, or empty."""
        return self._read_name(_STANDS)

    def _read_name(self, name: str) -> str:
        try:
            return (self.root / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    def _keep(self, name: str, text: str) -> None:
        """Replace a file of the host's atomically; only this user can read it."""
        descriptor, fresh = tempfile.mkstemp(dir=self.root, prefix=name)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        put_in_place(Path(fresh), self.root / name)

    def usage(self, most_files: int) -> DiskUsage:
        """Return the place's size; counting ends at `most_files` + 1, for agents make millions of files.

        Files that vanish meanwhile do not count. Raises WorkspaceError.
        """
        what, used = "measuring the workspace", DiskUsage()
        with tempfile.TemporaryFile() as rows:
            # At this size the kernel ends `find`.
            cap = ("prlimit", "--core=0", f"--fsize={(most_files + 1) * _ROW_BYTES}", "--")
            find = ("find", str(self.root), "-xdev", "-printf", _ROW)
            ran = _program(what, *cap, *find, limit_s=_WEIGH_S, out=rows)
            rows.seek(0)
            linked = set[bytes]()  # a file with several names takes its space once
            while row := rows.read(_ROW_BYTES):
                inode, names, blocks = row[:20], row[20:30], row[30:]
                if inode not in linked:
                    used.disk_bytes += int(blocks) * _BLOCK_BYTES
                if int(names) > 1:
                    linked.add(inode)
                used.files += 1
        if not used.files:
            raise WorkspaceError(what, ran.stderr.decode(errors="replace"))
        return used

    def mask(self, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Yield for each existing name a cover (`empty`, a folder, or `blank`, a file) and the resolved path.

        Raises WorkspaceError for a link that leaves the repository, whose target inside the host cannot know.
        """
        for name in names:
            try:
                path = self._resolve(name)
            except OSError as error:
                raise WorkspaceError(f"hiding {name}", str(error)) from error
            if path is not None:
                folder = self.root.joinpath(*path.split("/")[2:]).is_dir()
                yield "empty" if folder else "blank", path

    def _resolve(self, name: str) -> str | None:
        """Resolve links as a command inside would, never on the host; None for a missing path."""
        waiting, at, links = deque(name.split("/")), [_INSIDE, "repo"], 0
        while waiting:
            part = waiting.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                del at[-1:]
                continue
            at.append(part)
            if waiting and at == [_INSIDE]:
                continue
            if at[0] != _INSIDE or at[1:2] not in (["repo"], ["home"]):
                raise WorkspaceError(
                    f"hiding {name}", "it is a link that leads out of the repository: make it a folder"
                )
            here = self.root.joinpath(*at[1:])
            if here.is_symlink():
                links += 1
                if links > _MAX_LINKS:
                    return None
                target = os.readlink(here)
                at = [] if target.startswith("/") else at[:-1]
                waiting.extendleft(reversed(target.split("/")))
            elif not here.is_dir() and (waiting or not here.is_file()):
                return None
        return "/" + "/".join(at)

    def destroy(self) -> None:
        """Remove the folder without following its links. Raises WorkspaceError."""
        if any(any(self.root.glob(f"{name}/*")) for name in (*_PARTS, "skills")):
            _remove("removing the workspace", self.root)
        else:  # nobody has worked here
            shutil.rmtree(self.root, ignore_errors=True)

    def _give_to(self, uid: int, gid: int) -> None:
        """Make the user inside the owner, also of files from another kind of workspace."""
        if os.geteuid() != 0:
            return
        for name in _PARTS:
            part = self.root / name
            if part.stat().st_uid == uid:
                continue
            if not any(part.iterdir()):  # as for every new place
                os.chown(part, uid, gid)
            else:
                done = _program("the workspace", "chown", "-R", "-h", f"{uid}:{gid}", "--", str(part))
                if done.returncode != 0:
                    raise WorkspaceError("giving the workspace away", done.stderr.decode(errors="replace"))


def folder_name(card_id: CardId) -> str:
    """Return a folder name for any card id: readable where possible, and unique."""
    if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", card_id):
        return card_id
    return hashlib.sha256(card_id.encode()).hexdigest()[:32]


ASIDE = "aside-"  # begins the names of folders that were set aside: no card has them


def is_there(workspaces: Path, card_id: CardId) -> bool:
    return (workspaces / folder_name(card_id)).is_dir()


@contextmanager
def set_aside(workspaces: Path, card_id: CardId) -> Iterator[None]:
    """Rename the card's folder, if there is one: it is nobody's then, and only to be removed.

    Where the block fails, the folder has its name again.
    """
    folder, aside = workspaces / folder_name(card_id), workspaces / f"{ASIDE}{secrets.token_hex(8)}"
    moves = folder.is_dir()
    if moves:
        folder.rename(aside)
    try:
        yield
    except BaseException:
        if moves:
            aside.rename(folder)
        raise


def cards_in(workspaces: Path) -> tuple[CardId, ...]:
    """Return the cards that have a folder there.

    A host that died in the middle of its making or removal leaves one whose mark is missing or empty.
    """
    folders = (path for path in sorted(workspaces.glob("*")) if path.is_dir())
    return tuple(filter(None, map(_card_of, folders)))


def _card_of(folder: Path) -> CardId:
    """Return the card of a folder; empty for one without a mark whose name is no card's.

    One that was set aside has its own name.
    """
    if folder.name.startswith(ASIDE):
        return CardId(folder.name)
    try:
        marked = (folder / "card").read_text(encoding="utf-8")
    except FileNotFoundError:
        marked = ""
    return CardId(marked or ("" if _HASHED.fullmatch(folder.name) else folder.name))


def _remove(what: str, path: Path) -> None:
    """Remove a folder; with programs where agents nested folders deeper than Python recurses, or removed
    rights.

    Raises WorkspaceError.
    """
    with suppress(OSError, RecursionError):
        shutil.rmtree(path)
    if not os.path.lexists(path):
        return
    done = _program(what, "rm", "-rf", "--", str(path))
    if done.returncode != 0:
        _program(what, "chmod", "-R", "u+rwx", "--", str(path))
        done = _program(what, "rm", "-rf", "--", str(path))
    if done.returncode != 0:
        raise WorkspaceError(what, done.stderr.decode(errors="replace"))


def _program(
    what: str, *argv: str, limit_s: int = _PROGRAM_S, out: IO[bytes] | int = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """Run a program, which writes to `out`. Raises WorkspaceError where that takes too long."""
    no, errors = subprocess.DEVNULL, subprocess.PIPE
    try:
        return subprocess.run(argv, stdin=no, stdout=out, stderr=errors, timeout=limit_s)
    except subprocess.TimeoutExpired as error:
        raise WorkspaceError(what, f"{argv[0]} took longer than {limit_s} s") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise WorkspaceError(what, str(error)) from error
