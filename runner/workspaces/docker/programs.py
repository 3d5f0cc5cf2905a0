"""Cardinal's own programs inside containers, copied to a folder that any engine can mount."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from runner.workspaces.bubblewrap import MIRROR, PLAYER

_RUNNER = Path(__file__).parents[2]
_INSIDE = ("exec/in_container", "agents/*/in_container")  # every agent's own programs, too
_ENDINGS = (".py", ".sh")


def programs(state: Path, uid: int, gid: int) -> Path:
    """Return the folder with `player/`, `passwd`, `group`, `empty/` and `blank`, created when missing.

    It is below the state folder, which Cardinal and the engine see under the same path even where Cardinal
    itself lives in a container. Its name is the digest of its contents, so nobody changes it under a running
    command.
    """
    wanted = _content(uid, gid)
    digest = hashlib.sha256(repr(sorted(wanted.items())).encode()).hexdigest()[:16]
    folder = state / "inside" / digest
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix="draft-"))
    for name, content in wanted.items():
        (draft / name).parent.mkdir(exist_ok=True)
        (draft / name).write_bytes(content)
    (draft / "empty").mkdir()
    (draft / "blank").touch()
    for path in (draft, *draft.rglob("*")):  # another user reads it, whatever the umask
        path.chmod(0o755 if path.is_dir() else 0o644)
    try:
        os.rename(draft, folder)
    except OSError:  # another process was first
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _content(uid: int, gid: int) -> Mapping[str, bytes]:
    inside = (path for folder in _INSIDE for path in _RUNNER.glob(f"{folder}/*") if path.suffix in _ENDINGS)
    sources = [PLAYER / "player.py", *inside]
    return {
        "passwd": f"agent:x:{uid}:{gid}:agent:/workspace/home:/bin/sh\n".encode(),
        "group": f"agent:x:{gid}:\n".encode(),
        # The mirror belongs to the host's user; git reads it only when a file of settings says so.
        "player/gitconfig": f"[safe]\n\tdirectory = {MIRROR}\n".encode(),
    } | {f"player/{path.name}": path.read_bytes() for path in sources if path.name != "__init__.py"}
