"""A signed webhook of one's own, for programs.

Its address is webhook+https://:SECRET@host/path; webhook+private+… may lead into a private network.
"""

import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import anyio
import httpx2

from bot.frontends import Notice, UnfitAddressError
from bot.system.config import Config
from runner.gateway.network.addresses import is_public_address, may_be_private

SCHEME, PRIVATE = "webhook+", "private+"
SCHEMES = (SCHEME,)
SIGNATURE = "X-Cardinal-Signature-256"
TIMEOUT_S = 10.0  # for all of a post: who reads and answers slowly holds up no other notice
MIN_SECRET = 16  # characters
UNFIT = "its address is not webhook+https://:SECRET@host/path: add it again"


def knows_repeats(_address: str) -> bool:
    """Return True: a repeated notice has the same id."""
    return True


def send_notice(config: Config, address: str, notice: Notice) -> bool:  # noqa: ARG001 -- others need it
    """Post the notice with its news."""
    news = [item.about for item in notice.items]
    return post(address, {"id": notice.key, "title": notice.title, "text": notice.text, "news": news})


def post(address: str, document: Mapping[str, Any]) -> bool:
    """Send the document, and follow no redirect; False when it was not accepted.

    Raises UnfitAddressError for an address that can never be.
    """
    rest = address.removeprefix(SCHEME)
    is_private = rest.startswith(PRIVATE)
    try:
        parts = urlsplit(rest.removeprefix(PRIVATE))
        secret, host = unquote(parts.password or ""), parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError as error:
        raise UnfitAddressError(UNFIT) from error
    if parts.scheme not in (("https", "http") if is_private else ("https",)) or not host:
        raise UnfitAddressError(UNFIT)
    if len(secret) < MIN_SECRET:
        raise UnfitAddressError(f"its secret has less than {MIN_SECRET} characters: make a longer one")
    place = _resolve(host, is_private)
    if not place:
        return False
    url = urlunsplit((parts.scheme, f"{place}{port}", parts.path, parts.query, ""))
    body = json.dumps(document).encode()
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "Host": f"[{host}]{port}" if ":" in host else f"{host}{port}",
        SIGNATURE: f"sha256={digest}",
    }
    try:
        return anyio.run(partial(_is_accepted, url, host, content=body, headers=headers))
    except (httpx2.HTTPError, TimeoutError):
        return False
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise UnfitAddressError(UNFIT) from error


async def _is_accepted(url: str, host: str, **sent: Any) -> bool:
    """Tell whether the answer is a success; only its status is read."""
    with anyio.fail_after(TIMEOUT_S):
        async with (
            httpx2.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as http,
            http.stream("POST", url, extensions={"sni_hostname": host}, **sent) as answer,
        ):
            return answer.is_success


def _resolve(host: str, is_private: bool) -> str:
    """Return the address to connect to, so that no later look-up can name another; empty without one."""
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ""
    except UnicodeError as error:  # a name that DNS cannot have
        raise UnfitAddressError(UNFIT) from error
    known = [ipaddress.ip_address(answer[4][0]) for answer in answers]
    if not all(is_public_address(it) or (is_private and may_be_private(it)) for it in known):
        because = "its address is one of a private network, or no host's"
        raise UnfitAddressError(f"{because}: an operator allows a private one by webhook+private+https://…")
    return f"[{known[0]}]" if known[0].version == 6 else str(known[0])
