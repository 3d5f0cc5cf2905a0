"""Webhooks of a subscriber's own: signed posts that name their notice, so that a repeated one is known.

An address is webhook+https://:SECRET@host/path; webhook+private+… may lead into a private network.
"""

import hashlib
import hmac
import ipaddress
import json
import socket
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx2

from bot.outbox.contract import GivenUpError

SCHEME, PRIVATE = "webhook+", "private+"
SIGNATURE = "X-Cardinal-Signature-256"
TIMEOUT_S = 10.0
MIN_SECRET = 16  # characters


def post(address: str, document: Mapping[str, Any]) -> bool:
    """Send the document, and follow no redirect; False when it was not accepted.

    Raises GivenUpError for an address that can never be.
    """
    rest = address.removeprefix(SCHEME)
    is_private, parts = rest.startswith(PRIVATE), urlsplit(rest.removeprefix(PRIVATE))
    secret, host = unquote(parts.password or ""), parts.hostname or ""
    if parts.scheme not in (("https", "http") if is_private else ("https",)) or not host:
        raise GivenUpError("its address is no webhook+https://:SECRET@host/path: add it again")
    if len(secret) < MIN_SECRET:
        raise GivenUpError(f"its secret has less than {MIN_SECRET} characters: make a longer one")
    place = _resolved(host, is_private)
    if not place:
        return False
    port = f":{parts.port}" if parts.port else ""
    url = urlunsplit((parts.scheme, f"{place}{port}", parts.path, parts.query, ""))
    body = json.dumps(document).encode()
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "Host": f"{host}{port}",
        SIGNATURE: f"sha256={digest}",
    }
    try:
        with httpx2.Client(timeout=TIMEOUT_S, trust_env=False) as http:
            return http.post(url, content=body, headers=headers, extensions={"sni_hostname": host}).is_success
    except httpx2.HTTPError:
        return False


def _resolved(host: str, is_private: bool) -> str:
    """Return the address to connect to, so that no later look-up can name another; empty without one."""
    try:
        answers = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return ""
    known = [ipaddress.ip_address(it[4][0]) for it in answers]
    if not is_private and not all(it.is_global for it in known):
        because = "its address is one of a private network"
        raise GivenUpError(f"{because}: an operator allows that by webhook+private+https://…")
    return f"[{known[0]}]" if known[0].version == 6 else str(known[0])
