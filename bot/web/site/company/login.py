"""Who somebody is at their company, and which GitHub account that is: by a proxy's header, or a list."""

import ipaddress
import logging

from flask import Request

from bot.github.oauth import SignInError
from bot.system import people
from bot.system.config import Config
from bot.system.people import PeopleListError

log = logging.getLogger(__name__)
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
        try:
            login = people.find_listed_login(config, name)
        except PeopleListError as error:
            log.warning("nobody can sign in reason=%s", error)
            raise SignInError("the operator's list of people cannot be read: ask your operator") from error
        if not login:
            raise SignInError(f"you are not on the operator's list of people: {ASK}")
        return login
    if not people.LOGIN.fullmatch(name):
        raise SignInError(f"the company's name for you is not a GitHub login: {ASK}")
    return name


def may_stay(config: Config, login: str) -> bool:
    """Tell whether the list, if there is one, can be read and still has that GitHub account."""
    try:
        return people.is_admitted(config, login)
    except PeopleListError:
        return False
