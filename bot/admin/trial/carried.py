"""A board of `cardinal try` as one file, and a board from such a file, which may be anybody's."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bot.admin.clone.own_git import CloneError
from bot.admin.trial import trial
from ledger.lifecycle import backup, transfer
from ledger.lifecycle.in_place import put_in_place
from ledger.lifecycle.open import open_ledger
from rules.policy import schema
from runner.exec.launch import die_with_parent

LEDGER, MANIFEST, FRESH = "ledger.db", "manifest.json", ".cardinal.import"
DATA = "data"  # where a home has its ledger
OPTIONAL = (trial.POLICY, "host")
FORMAT = 1
MAX_BYTES, MAX_FILES, MAX_TEXT_BYTES = 8 << 30, 100_000, 64 << 20
FORGE_S = 1800
PIECE = 1 << 20
NAME = re.compile(
    r"try\.json|policy\.yml|host|state|ledger\.db|git/[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}\.bundle"
    r"|artifacts/[0-9a-f]{2}/[0-9a-z.]{1,100}"
)
ANSWERS = {
    "name": r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}",
    "into": r"[^\0-\x1f]{1,250}",
    "login": r"[A-Za-z0-9_-]{1,39}",
    "person": r"[^\0-\x1f<>]{1,200}",
    "email": r"[^\0-\x1f<>]{0,200}",
}


def pack_board(place: trial.Trial, target: Path) -> int:
    """Write the board into `target`, which appears whole or not at all; return its size. Raises CloneError.

    Keys, tokens and the settings in `env` are left out, and places of agents: work of theirs that is not
    committed.
    """
    if target.exists():
        raise CloneError(f"{target} exists already: choose another file name")
    if place.is_new or not (place.folder / DATA / LEDGER).exists():
        raise CloneError("no board has been started here: run `cardinal try` first")
    with hold_board(place.folder), scratch(place.folder / "export") as root:
        run_forge("give", place.folder / "forge", root)
        engine = open_ledger(f"sqlite:///{place.folder / DATA / LEDGER}", migrate=False)
        try:
            backup.backup(engine, root / LEDGER)
        finally:
            engine.dispose()
        for file in OPTIONAL:
            if (place.folder / file).exists():
                shutil.copyfile(place.folder / file, root / file)
        answers = {key: text for key, text in place.answers().items() if key in {*ANSWERS, "columns"}}
        (root / trial.ANSWERS).write_text(json.dumps(answers), encoding="utf-8")
        files = {str(file.relative_to(root)): file for file in root.rglob("*") if file.is_file()}
        kept = place.folder.glob("artifacts/??/*")
        files |= {str(file.relative_to(place.folder)): file for file in kept}
        _write(target, {name: file for name, file in files.items() if NAME.fullmatch(name)})
    return target.stat().st_size


def _write(target: Path, files: dict[str, Path]) -> None:
    partial = target.with_name(f"{target.name}.partial")
    try:
        with (
            os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b") as out,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            sums = {}
            for name, file in sorted(files.items()):
                with file.open("rb") as content, archive.open(name, "w", force_zip64=True) as member:
                    sums[name] = _copy(content, member, MAX_BYTES)
            archive.writestr(MANIFEST, json.dumps({"format": FORMAT, "sha256": sums}))
        put_in_place(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def unpack_board(file: Path, folder: Path) -> trial.Trial:
    """Make the board of the file in the clone around `folder`, at once or not at all. Raises CloneError."""
    try:
        with zipfile.ZipFile(file) as archive:
            sums = _sums(archive)
            answers = _answers(_text(archive, trial.ANSWERS))
            place = trial.find(folder, answers["into"])
            if not place.is_new or (place.folder.exists() and any(place.folder.iterdir())):
                raise CloneError(f"{place.folder} is not empty: delete it first, or use another clone")
            with scratch(place.top / FRESH) as fresh:
                (fresh / trial.GITIGNORE).write_text("*\n")
                (fresh / schema.FILE).write_text(schema.schema_text(), encoding="utf-8")
                _unpack(archive, sums, fresh)
                _build(fresh, answers, place)
                put_in_place(fresh, place.folder)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, KeyError, EOFError) as error:
        because = f"{file} is not a Cardinal export, or is incomplete ({error}): export it again"
        raise CloneError(because) from error
    return place


def _sums(archive: zipfile.ZipFile) -> dict[str, str]:
    """Return the digest of each file. Raises ValueError for names that no export has."""
    manifest = json.loads(_text(archive, MANIFEST))
    if manifest["format"] != FORMAT:
        raise CloneError("this export was made by another version of Cardinal: use that version")
    sums, names = manifest["sha256"], archive.namelist()
    known = all(NAME.fullmatch(name) for name in sums)
    if not known or len(names) > MAX_FILES or sorted(names) != sorted([*sums, MANIFEST]):
        raise ValueError("it contains a name that no export has")
    return {str(name): str(digest) for name, digest in sums.items()}


def _text(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as content:
        data = content.read(MAX_TEXT_BYTES + 1)
    if len(data) > MAX_TEXT_BYTES:
        raise ValueError(f"{name} is too large")
    return data.decode()


def _answers(text: str) -> dict[str, str]:
    given = json.loads(text)
    for key, pattern in ANSWERS.items():
        if not re.fullmatch(pattern, str(given[key])):
            raise ValueError(f"its {key} is not valid")
    return {key: str(given[key]) for key in ANSWERS}


def _unpack(archive: zipfile.ZipFile, sums: dict[str, str], fresh: Path) -> None:
    left = MAX_BYTES
    for name, digest in sums.items():
        path = fresh / "import" / name if not name.startswith("artifacts/") else fresh / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with archive.open(name) as content, path.open("xb") as out:
            if _copy(content, out, left) != digest:
                raise ValueError(f"{name} differs from the exported one")
        left -= path.stat().st_size


def _build(fresh: Path, answers: dict[str, str], place: trial.Trial) -> None:
    incoming = fresh / "import"
    (fresh / DATA).mkdir(mode=0o700)
    transfer.take_in(incoming / LEDGER, f"sqlite:///{fresh / DATA / LEDGER}")
    run_forge("take", incoming, fresh / "forge")
    for name in OPTIONAL:
        if (incoming / name).exists():
            (incoming / name).rename(fresh / name)
    shutil.rmtree(incoming)
    # Made by nobody here, so that `cardinal try` shows it and makes sure.
    known = {**answers, "columns": trial.COLUMNS, "port": trial.PORT, "git": str(place.common), "made_by": ""}
    (fresh / trial.ANSWERS).write_text(json.dumps(known, indent=1), encoding="utf-8")


def _copy(source: IO[bytes], target: IO[bytes], limit: int) -> str:
    """Copy, and return the digest. Raises ValueError beyond the limit."""
    digest, size = hashlib.sha256(), 0
    while piece := source.read(PIECE):
        size += len(piece)
        if size > limit:
            raise ValueError("it is too large")
        digest.update(piece)
        target.write(piece)
    return digest.hexdigest()


@contextmanager
def scratch(folder: Path) -> Iterator[Path]:
    """Give a new folder for the time of the block; one of a killed process goes first."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def hold_board(folder: Path) -> Iterator[None]:
    """Keep the board of that folder from starting. Raises CloneError while it runs."""
    with (folder / "try.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise CloneError("the board is running: stop it with Ctrl-C first") from error
        yield


def run_forge(verb: str, source: Path, target: Path) -> None:
    """Let the forge read or write its own files. Raises CloneError."""
    args = (sys.executable, "-P", "-m", "forge.portable.carried", verb, str(source), str(target))
    command = die_with_parent(
        args, env=os.environ, cwd=source
    )  # a killed export or import leaves no writer behind
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=FORGE_S, check=False)
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2][:500]
        raise CloneError(f"the board's repositories cannot be exported: {said}")
