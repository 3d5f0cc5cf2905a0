"""A cache of GitHub's answers to the App in one file, shared by all processes of this machine.

The file is encrypted with a key derived from the App's private key, which gives access to GitHub anyway. A
missing or torn file, or one of another App, counts as empty.
"""

import base64
import fcntl
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken

from bot.system import private_file
from bot.system.secret import Secret

MAX = 200  # texts; of more, the oldest are dropped


@dataclass(frozen=True, slots=True)
class TokenFile:
    """Texts by name, in one file. Texts of another `scope` cannot be read."""

    path: Path
    private_key: Secret
    scope: tuple[str, ...]
    _made: list[Fernet] = field(default_factory=list)

    def get(self, name: str) -> str | None:
        """Return the text, or None without one."""
        try:
            with self.path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH)
                return self._opened(file.read()).get(name)
        except FileNotFoundError:
            return None

    def put(self, name: str, text: str) -> None:
        """Store the text."""
        self._change({name: text}, without=None)

    def drop(self, text: str) -> None:
        """Remove the text under any name, but no newer text that another process stored."""
        self._change({}, without=text)

    def _change(self, more: Mapping[str, str], *, without: str | None) -> None:
        private_file.make_folder(self.path.parent)
        with os.fdopen(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            known = {
                name: text
                for name, text in self._opened(file.read()).items()
                if text != without and name not in more
            }
            newest = list({**known, **more}.items())[-MAX:]
            file.seek(0)
            file.write(self._lock().encrypt(json.dumps(dict(newest)).encode()))
            file.truncate()

    def _opened(self, sealed: bytes) -> dict[str, str]:
        try:
            texts: dict[str, str] = json.loads(self._lock().decrypt(sealed)) if sealed else {}
        except InvalidToken:  # torn by a crash, or another App's
            return {}
        return texts

    def _lock(self) -> Fernet:
        if not self._made:
            material = json.dumps([*self.scope, self.private_key.reveal()]).encode()
            self._made.append(Fernet(base64.urlsafe_b64encode(hashlib.sha256(material).digest())))
        return self._made[0]
