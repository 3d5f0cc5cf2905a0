"""Parts of a snapshot that are read for some events only: to use one that was not read is an error."""

from typing import Any, NoReturn

from rules.errors import UnreadPartError


class Unread:
    """Stands where a part was not read. It has no value: each use raises UnreadPartError."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __repr__(self) -> str:
        return f"<{self._part} was not read>"

    def _refuse(self, *_other: object) -> NoReturn:
        raise UnreadPartError(self._part)

    __getattr__ = __iter__ = __bool__ = __len__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse


def leave_unread(part: str) -> Any:
    """Return the default of a part that is read for some events only."""
    return Unread(part)
