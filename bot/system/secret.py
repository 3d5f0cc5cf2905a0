"""A text that must not be printed: it shows as stars until code reads it by name."""

from pydantic import SecretStr


class Secret(SecretStr):
    """Wraps a secret; `str`, `repr`, f-strings and tracebacks that show locals get stars only."""

    def __init__(self, text: str = "") -> None:
        super().__init__(text)

    def reveal(self) -> str:
        """Return the secret itself: call it where it is used, keep the result in no name that lives on."""
        return self.get_secret_value()
