"""The roles that GitHub gives to people in a repository, from the lowest to the highest."""

import re
from collections.abc import Iterable
from enum import StrEnum

# A person's login, or an organisation's, as GitHub names them; an App's ends with [bot].
LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class Role(StrEnum):
    """A person's role in a repository. Source: docs.github.com/rest/collaborators (role_name)."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        return list(Role).index(self)

    def covers(self, needed: "Role") -> bool:
        return self.rank >= needed.rank


def role_of(text: str) -> Role:
    """Return the role of that name; a name that GitHub may add tomorrow counts as none."""
    word = text.strip().lower()
    return Role(word) if word in set(Role) else Role.NONE


def is_covered(allowed: Iterable[str], role: Role, login: str) -> bool:
    """Return whether one of the allowed roles and people is the role, a lower one, or that person."""
    for word in allowed:
        if word in set(Role):
            if role.covers(Role(word)):
                return True
        elif word.removeprefix("@").casefold() == login.casefold():
            return True
    return False
