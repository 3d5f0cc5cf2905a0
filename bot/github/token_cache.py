"""A cache of GitHub's answers to the App in one record, shared by all processes that have it.

It is encrypted with a key derived from the App's private key, which gives access to GitHub anyway. A missing
or torn record, or one of another App, counts as empty.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.fernet import Fernet, InvalidToken

from bot.github.shared_records import SharedRecords
from bot.system.secret import Secret

MAX = 200  # texts; of more, the oldest are dropped


@dataclass(frozen=True, slots=True)
class TokenCache:
    """Texts by name, in one record of `records`. Texts of another `scope` cannot be read."""

    records: SharedRecords
    record: str
    private_key: Secret
    scope: tuple[str, ...]
    _made: list[Fernet] = field(default_factory=list)
    _newest: dict[bytes, dict[str, str]] = field(default_factory=dict)  # the record decrypted last, alone

    def get(self, name: str) -> str | None:
        """Return the text, or None without one."""
        return self._open(self.records.read(self.record)[0]).get(name)

    def put(self, name: str, text: str) -> None:
        """Store the text."""
        self._change({name: text}, without=None)

    def drop(self, text: str) -> None:
        """Remove the text under any name, but no newer text that another process stored."""
        self._change({}, without=text)

    def claim(self, name: str, for_s: float) -> bool:
        """Tell whether this process shall fetch the text of that name: no other one claimed it lately."""

        def claim_name(record: bytes, now_s: float) -> tuple[bytes, bool]:
            known = self._open(record)
            if float(known.get(name, 0)) > now_s:
                return record, False
            return self._seal({**known, name: str(now_s + for_s)}), True

        return self.records.change(self.record, claim_name)

    def _change(self, more: Mapping[str, str], *, without: str | None) -> None:
        def change_record(record: bytes, _now_s: float) -> tuple[bytes, None]:
            known = self._open(record).items()
            kept = {name: text for name, text in known if text != without and name not in more}
            return self._seal({**kept, **more}), None

        self.records.change(self.record, change_record)

    def _seal(self, texts: Mapping[str, str]) -> bytes:
        return self._lock().encrypt(json.dumps(dict(list(texts.items())[-MAX:])).encode())

    def _open(self, sealed: bytes) -> dict[str, str]:
        texts = self._newest.get(sealed)
        if texts is None:
            texts = self._decrypt(sealed)
            self._newest.clear()
            self._newest[sealed] = texts
        return texts

    def _decrypt(self, sealed: bytes) -> dict[str, str]:
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
