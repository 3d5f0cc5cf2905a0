"""A text that must not be printed: it shows as stars until code reads it by name."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from pydantic import SecretStr


class Secret(SecretStr):
    """Wraps a secret; `str`, `repr`, f-strings and tracebacks that show locals get stars only.

    `variable` is the name that it was read from, where that is not the setting's own.
    """

    variable = ""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)

    def reveal(self) -> str:
        """Return the secret itself: call it where it is used, keep the result in no name that lives on."""
        return self.get_secret_value()


def secrets_in(settings: Any) -> Iterator[str]:
    """Return every secret in the fields of a dataclass."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, Secret) and value:
            yield value.reveal()
