"""The operator's list of people: which GitHub account each has. Who is not on it is let in nowhere."""

import re
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from bot.system.config import Config
from ledger.errors import CardinalError
from ledger.queue.sign_ins import SignIn

LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class PeopleListError(CardinalError):
    """The operator's list of people cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        self.path, self.problem = path, problem
        super().__init__(f"{path} cannot be read: {problem}. Correct it: until then nobody is let in")


class NotAdmittedError(CardinalError):
    """The operator's list of people has nobody with that GitHub account."""

    def __init__(self, login: str) -> None:
        self.login = login
        super().__init__(f"{login} is not on the operator's list of people: ask your operator to add you")


def find_listed_login(config: Config, name: str) -> str:
    """Return the login of the person whom the company calls `name`; empty where the list has none.

    Raises PeopleListError.
    """
    return _logins(config).get(_as_listed(config, name), "")


def admit_person(config: Config, *, user_id: int, login: str, until: datetime) -> SignIn:
    """Return the visit of a person who acts by what they hold: a program's token, an address for replies.

    Raises NotAdmittedError, PeopleListError.
    """
    if not is_admitted(config, login):
        raise NotAdmittedError(login)
    return SignIn(user_id, login, until)


def is_admitted(config: Config, login: str) -> bool:
    """Tell whether the list, if there is one, has that GitHub account. Raises PeopleListError."""
    return config.sign_in_logins is None or login.casefold() in _logins(config).values()


def _as_listed(config: Config, name: str) -> str:
    """Return the name as the list has it: of ASCII letters the case says nothing. Others keep theirs, since
    one more name could become the same (`\u212a`, the Kelvin sign, is a `k`), and so does a `sub`: see
    openid.net/specs/openid-connect-core-1_0.html#IDToken.
    """
    exact = config.sign_in == "oidc" and config.oidc_claim == "sub"
    return name if exact else name.encode().lower().decode()


def _logins(config: Config) -> dict[str, str]:
    """Return the logins by name, as the file says now. Raises PeopleListError."""
    path = config.sign_in_logins
    assert path is not None
    try:
        about = path.stat()
        pairs = _read_logins(path, about.st_mtime_ns, about.st_size)
        logins = {_as_listed(config, name): login for name, login in pairs}
        if len(logins) < len(pairs):
            raise ValueError("a name is there twice")
        return logins
    except OSError as error:
        raise PeopleListError(path, error.strerror or type(error).__name__) from error
    except UnicodeDecodeError as error:
        raise PeopleListError(path, "it is not UTF-8") from error
    except ValueError as error:
        raise PeopleListError(path, str(error)) from error


@lru_cache(maxsize=2)
def _read_logins(path: Path, _changed_ns: int, _size: int) -> tuple[tuple[str, str], ...]:
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, login = (part.strip() for part in text.rpartition("=")[::2])
        if not name or not LOGIN.fullmatch(login):
            raise ValueError("a line is not `name = login`")
        pairs.append((name, login.lower()))
    return tuple(pairs)
