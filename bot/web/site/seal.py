"""Texts that only Cardinal can read, for cookies: sealed with a key made of the App's client secret."""

import base64
import hashlib

from cryptography.fernet import Fernet, InvalidToken

from bot.system.clock import Clock
from bot.system.secret import Secret


class Seal:
    """Seals texts for one purpose: the seal of another does not open."""

    def __init__(self, purpose: str, secret: Secret, clock: Clock) -> None:
        material = f"{purpose} {secret.reveal()}".encode()
        self._lock = Fernet(base64.urlsafe_b64encode(hashlib.sha256(material).digest()))
        self._clock = clock

    def close(self, text: str) -> str:
        """Return the text sealed, with the time."""
        return self._lock.encrypt_at_time(text.encode(), self._now_s()).decode()

    def open(self, sealed: str, ttl_s: int) -> str | None:
        """Return the text; None for one not sealed here, or longer than `ttl_s` ago."""
        try:
            return self._lock.decrypt_at_time(sealed.encode(), ttl_s, self._now_s()).decode()
        except InvalidToken:
            return None

    def _now_s(self) -> int:
        return int(self._clock().timestamp())
