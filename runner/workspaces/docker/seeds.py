"""The result of set-up as an image: one layer with two archives, packed and unpacked inside.

Their file names are the repository's, so neither the host nor the engine ever reads one.
"""

import contextlib
import hashlib
import io
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from runner.errors import RunnerError, WorkspaceError
from runner.exec.child import finish
from runner.workspaces.contract import Leftover
from runner.workspaces.docker.cell import Cell, lock_argv
from runner.workspaces.docker.container import Container, start_container
from runner.workspaces.docker.engine import Engine
from runner.workspaces.docker.errors import ImageMissingError

REPOSITORY = "cardinal/setup"
KEPT = 10
HOME_LABEL = "cardinal.home"
REPOSITORY_LABEL = "cardinal.repository"  # GitHub's id of the repository whose set-up made it
_PACK_S = 180
_OUTPUT_BYTES = 1_000_000
_GIT = "git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c safe.bareRepository=explicit"
_PACK = f"""set -eu
cd /workspace/repo
{_GIT} ls-files --others -z > /tmp/names
tar --create --file=/seed/repo.tar --null --files-from=/tmp/names
tar --create --file=/seed/home.tar --directory=/workspace/home .
"""
# Existing files came with the checkout, and are newer than the kept ones.
_UNPACK = """set -eu
tar --extract --preserve-permissions --skip-old-files --file=/seed/repo.tar --directory=/workspace/repo
tar --extract --preserve-permissions --skip-old-files --file=/seed/home.tar --directory=/workspace/home
"""


def seed_name(home: str, base_image_id: str, key: str) -> str:
    """Return the image's name for a key, different for every base image and every Cardinal."""
    digest = hashlib.sha256("\0".join((home, base_image_id, key)).encode()).hexdigest()[:32]
    return f"{REPOSITORY}:{digest}"


def keep_seed(engine: Engine, cell: Cell, name: str, uid: int, gid: int) -> None:
    """Make the image `name` of the cell's folders. `cell` is made from the base image.

    Raises WorkspaceError when packing fails, or an error of the engine.
    """
    tag = name.partition(":")[2]
    unsealed = replace(cell, argv=lock_argv("/bin/sh", "-c", _PACK), sealed=False)
    container_id = engine.create(unsealed)
    try:
        engine.unpack(container_id, _folder("seed", uid, gid))
        child = Container(engine, container_id, unsealed, cap_bytes=_OUTPUT_BYTES, keeps=True)
        ran = finish(child, what="keeping what set-up made", timeout_s=_PACK_S, beat=lambda: None)
        if ran.exit_code != 0:
            raise WorkspaceError("keeping what set-up made", ran.tail)
        engine.commit(container_id, REPOSITORY, tag)
    finally:
        with contextlib.suppress(RunnerError):
            engine.remove(container_id)


def restore_seed(engine: Engine, cell: Cell, name: str) -> bool:
    """Unpack the image `name` into the cell's folders; False where that fails, or it is another repository's.

    The image stays: the cause may lie in these folders, which are one card's, and the image is everybody's.
    """
    try:
        image = engine.image(name)
        if image.labels.get(REPOSITORY_LABEL) != cell.labels[REPOSITORY_LABEL]:
            return False
        unpacking = replace(cell, image=image.image_id, argv=lock_argv("/bin/sh", "-c", _UNPACK))
        child = start_container(engine, unpacking, cap_bytes=_OUTPUT_BYTES)
    except ImageMissingError:
        return False
    ran = finish(child, what="bringing back what set-up made", timeout_s=_PACK_S, beat=lambda: None)
    return ran.exit_code == 0


def old(engine: Engine, home: str, most: int = KEPT) -> Iterator[Leftover]:
    images = engine.images({HOME_LABEL: home})
    named = [image for image in images if image.names]
    for image in (*named[most:], *(image for image in images if not image.names)):
        what = f"{' '.join(image.names) or image.image_id[:19]}, an old image of a set-up"
        yield Leftover(what, partial(_remove, engine, image.names or (image.image_id,)))


def _remove(engine: Engine, names: Iterable[str]) -> None:
    for name in names:
        engine.remove_image(name)


def _folder(name: str, uid: int, gid: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.uid, entry.gid = tarfile.DIRTYPE, 0o700, uid, gid
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as packed:
        packed.addfile(entry)
    return archive.getvalue()
