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
        login = _logins(config.sign_in_logins).get(name.casefold(), "")
        if not login:
            raise SignInError(f"you are not on the operator's list of people: {ASK}")
        return login
    if not LOGIN.fullmatch(name):
        raise SignInError(f"the company's name for you is not a GitHub login: {ASK}")
    return name


def _logins(path: Path) -> dict[str, str]:
    """Return the logins by name in lower case, as the file says now. Raises SignInError."""
    try:
        about = path.stat()
        return _read_logins(path, about.st_mtime_ns, about.st_size)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise SignInError("the operator's list of people cannot be read: ask your operator") from error


@lru_cache(maxsize=2)
def _read_logins(path: Path, _changed_ns: int, _size: int) -> dict[str, str]:
    logins: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, login = (part.strip() for part in text.casefold().rpartition("=")[::2])
        if not name or name in logins or not LOGIN.fullmatch(login):
            raise ValueError("a line is not `name = login`, or a name is there twice")
        logins[name] = login
    return logins
