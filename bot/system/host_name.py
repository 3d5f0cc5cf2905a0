"""Name of this host: the operator's, or one that is made once and stays with the home."""

import os
import re
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from bot.system import private_file
from bot.system.config import Config

FILE = "host"  # in the home, whose workspaces are of that host: a copy of it goes along
MAX_MACHINE_CHARS = 40


def host_name(config: Config) -> str:
    """Return the setting, else the name in the home, which is made where there is none yet. Raises OSError.

    It is kept, for a container has another machine's name whenever it is made again; the end of it keeps two
    homes on one machine apart.
    """
    if config.host_name:
        return config.host_name
    path = config.home / FILE
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    return _make(path)


def _make(path: Path) -> str:
    """Make the name; of processes that do so at once, all return the first one's."""
    machine = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:MAX_MACHINE_CHARS].strip("-") or "host"
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    private_file.write(fresh, f"{machine}-{secrets.token_hex(3)}\n")
    with suppress(FileExistsError):
        os.link(fresh, path)  # unlike a replacement, it is refused where another process was first
    fresh.unlink()
    return path.read_text(encoding="ascii").strip()
