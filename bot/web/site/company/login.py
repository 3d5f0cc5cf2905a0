"""Who somebody is at their company, and which GitHub account that is: by a proxy's header, or a list."""

import ipaddress
import re
from functools import lru_cache
from pathlib import Path

from flask import Request

from bot.github.oauth import SignInError
from bot.system.config import Config

LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
MAX_NAME = 320  # characters: the longest address of mail
ASK = "ask your operator to add you, with your GitHub login"


def login_from_proxy(config: Config, incoming: Request) -> str:
    """Return the GitHub login of the person that the proxy names. Raises SignInError.

    Its address is that of the connection: `X-Forwarded-For` and its like say nothing here. A header that came
    twice is one value with a comma, which no name has: a proxy that adds its own to a visitor's is refused.
    """
    try:
        peer = ipaddress.ip_address((incoming.remote_addr or "").partition("%")[0])
    except ValueError as error:
        raise SignInError("the connection has no address: the operator has to look at the proxy") from error
    peer = getattr(peer, "ipv4_mapped", None) or peer
    if not any(peer.version == network.version and peer in network for network in config.sign_in_from):
        because = "this did not come through the company's proxy: use the address that your colleagues use"
        raise SignInError(because)
    given = incoming.headers.get(config.sign_in_header, "").strip()
    if not given or "," in given:
        raise SignInError("the company's proxy did not say who you are: sign in there again")
    return login_of(config, given)


def login_of(config: Config, name: str) -> str:
    """Return the GitHub login of the person whom the company calls `name`. Raises SignInError."""
    if len(name) > MAX_NAME or not name.isprintable():
        raise SignInError("the company's name for you cannot be read: ask your operator")
    if config.sign_in_logins is not None:
        login = _logins(config).get(_as_listed(config, name), "")
        if not login:
            raise SignInError(f"you are not on the operator's list of people: {ASK}")
        return login
    if not LOGIN.fullmatch(name):
        raise SignInError(f"the company's name for you is not a GitHub login: {ASK}")
    return name


def may_stay(config: Config, login: str) -> bool:
    """Tell whether the list, if there is one, still has somebody with that GitHub account."""
    try:
        return config.sign_in_logins is None or login.casefold() in _logins(config).values()
    except SignInError:
        return False


def _as_listed(config: Config, name: str) -> str:
    """Return the name as the list has it: of ASCII letters the case says nothing. Others keep theirs, since
    one more name could become the same (`\u212a`, the Kelvin sign, is a `k`), and so does a `sub`: see
    openid.net/specs/openid-connect-core-1_0.html#IDToken.
    """
    exact = config.sign_in == "oidc" and config.oidc_claim == "sub"
    return name if exact else name.encode().lower().decode()


def _logins(config: Config) -> dict[str, str]:
    """Return the logins by name, as the file says now. Raises SignInError."""
    path = config.sign_in_logins
    assert path is not None
    try:
        about = path.stat()
        pairs = _read_logins(path, about.st_mtime_ns, about.st_size)
        logins = {_as_listed(config, name): login for name, login in pairs}
        if len(logins) < len(pairs):
            raise ValueError("a name is there twice")
        return logins
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SignInError("the operator's list of people cannot be read: ask your operator") from error


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
