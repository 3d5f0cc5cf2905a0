"""Sign-in at a company's OpenID provider: authorization code with PKCE, and an ID token that is checked.

Sources: openid.net/specs/openid-connect-core-1_0.html (3.1.3.7), rfc-editor.org/rfc/rfc9700.
"""

import base64
import hashlib
import json
import logging
import re
import threading
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

import jwt
import requests
from cachetools import TTLCache, cached

from bot.github.oauth import AGAIN, WAIT_S, SignInError
from bot.github.transport import send_plain
from bot.system.config import Config
from rules.text import plain

log = logging.getLogger(__name__)
BACK = "/sign-in/oidc"
# Signatures by a key that only the provider has; never `none`, nor one by a secret that both know.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
CLAIMS = ("iss", "sub", "aud", "exp", "iat")
SLACK_S = 60
MAX_LOGGED = 300  # characters of what the provider said
MAX_BYTES = 256 * 1024  # of an answer; one that is longer is cut, so that it is not JSON
KEPT_S = 600
BEARER = "-._~+/="  # what a token has besides letters and digits: rfc-editor.org/rfc/rfc6750, section 2.1
BASIC = "client_secret_basic"
OPERATOR = "the operator has to look at the log"
_ERROR = re.compile(r"[a-z_]{1,60}")
# The provider's error -> what to do. Sources: rfc-editor.org/rfc/rfc6749, sections 4.1.2.1 and 5.2.
STEPS = {
    "access_denied": f"the company's provider did not let you in: {AGAIN}, or ask your operator",
    "invalid_client": "the operator has to set CARDINAL_OIDC_CLIENT_ID and CARDINAL_OIDC_CLIENT_SECRET as "
    "the company's provider has them",
    "invalid_grant": f"the code was used before or is too old: {AGAIN}",
    "server_error": "the company's provider has trouble: try again soon",
    "temporarily_unavailable": "the company's provider has trouble: try again soon",
}
_found = TTLCache[str, Mapping[str, str]](8, KEPT_S)


class ProviderSettingError(SignInError):
    """The operator has to mend something, here or at the provider, who alone may see what is `known`."""

    def __init__(self, problem: str, known: str) -> None:
        self.problem, self.known = problem, plain(known, MAX_LOGGED)
        super().__init__(f"{problem}: {OPERATOR}")
        log.warning("sign-in at the provider fails reason=%s %s", self.problem, self.known)


def way_to_provider(config: Config, state: str, verifier: str, nonce: str) -> str:
    """Return the address where the person signs in. Raises SignInError."""
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "response_type": "code",
        "client_id": config.oidc_client_id,
        "redirect_uri": config.public_url + BACK,
        "scope": "openid profile email",
        "state": state,
        "nonce": nonce,
        "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
    }
    address = _discover(config.oidc_issuer)["authorization_endpoint"]
    return f"{address}{'&' if '?' in address else '?'}{urlencode(query)}"


def read_refusal(name: str) -> SignInError:
    """Return the error for one that the provider sent back by the browser, or answered."""
    if not _ERROR.fullmatch(name):
        return SignInError(f"the company's provider did not sign you in: {AGAIN}")
    log.warning("provider refused error=%s", name)
    return SignInError(STEPS.get(name, f"the company's provider refused ({name}): {OPERATOR}"))


def name_behind(config: Config, code: str, verifier: str, nonce: str) -> str:
    """Return who the person is, as the claim of the settings says. Raises SignInError."""
    provider = _discover(config.oidc_issuer)
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": config.public_url + BACK,
        "code_verifier": verifier,
    }
    headers = {}
    if provider["takes_basic"]:
        headers["Authorization"] = _basic(config)
    else:
        form |= {"client_id": config.oidc_client_id, "client_secret": config.oidc_client_secret.reveal()}
    tokens = _ask("POST", provider["token_endpoint"], form, headers)
    token = tokens.get("id_token")
    if not isinstance(token, str):
        raise ProviderSettingError("the company's provider sent no ID token", f"answer={sorted(tokens)}")
    claims = _check_token(config, token, _ask("GET", provider["jwks_uri"]), nonce)
    needed = {config.oidc_claim} | ({"email_verified"} if config.oidc_claim == "email" else set())
    if provider["userinfo_endpoint"] and not needed <= claims.keys():
        claims = {**_read_userinfo(provider["userinfo_endpoint"], tokens, claims["sub"]), **claims}
    if config.oidc_claim == "email" and claims.get("email_verified") is not True:
        raise SignInError("the company's provider has not verified your address of mail: ask your operator")
    name = claims.get(config.oidc_claim)
    if not isinstance(name, str) or not name:
        because = f"the company's provider did not say who you are: it told no {config.oidc_claim}"
        raise ProviderSettingError(because, f"CARDINAL_OIDC_CLAIM={config.oidc_claim} told={sorted(claims)}")
    return name


def _read_userinfo(address: str, tokens: Mapping[str, Any], sub: str) -> Mapping[str, Any]:
    """Return what the provider says of the person there alone: openid.net/specs/openid-connect-core-1_0.html,
    5.3 and 5.4. Raises SignInError.
    """
    said = _ask(
        "GET",
        address,
        headers={"Authorization": f"Bearer {quote(str(tokens.get('access_token')), safe=BEARER)}"},
    )
    if said.get("sub") != sub:
        raise SignInError(f"the company's provider answered about another person: {AGAIN}")
    return said


def _check_token(config: Config, token: str, keys: Mapping[str, Any], nonce: str) -> Mapping[str, Any]:
    """Return the claims of a token that the provider made for Cardinal and this very sign-in.

    Raises SignInError.
    """
    try:
        key = _key_of(token, keys)
        claims: Mapping[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(ALGORITHMS),
            audience=config.oidc_client_id,
            issuer=config.oidc_issuer,
            leeway=SLACK_S,
            options={"require": list(CLAIMS)},
        )
    except (jwt.PyJWTError, ValueError, TypeError) as error:
        kind = type(error).__name__
        raise ProviderSettingError(
            f"the company's ID token is refused ({kind})", f"reason={error}"
        ) from error
    audience = claims["aud"]
    if isinstance(audience, list) and len(audience) > 1 and claims.get("azp") != config.oidc_client_id:
        raise ProviderSettingError("the company's ID token is for another program", f"aud={audience}")
    if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise SignInError(f"the company's ID token is of another sign-in: {AGAIN}")
    return claims


def _key_of(token: str, keys: Mapping[str, Any]) -> jwt.PyJWK:
    """Return the provider's key that the token names. They are read at each sign-in: keys change.

    Raises PyJWTError.
    """
    named = jwt.get_unverified_header(token).get("kid")
    listed = keys.get("keys")
    usable = [
        key
        for key in (listed if isinstance(listed, list) else ())
        if isinstance(key, dict) and key.get("use", "sig") == "sig"
    ]
    fitting = [key for key in usable if key.get("kid") == named] if named is not None else usable
    if len(fitting) != 1:
        raise jwt.InvalidKeyError(f"{len(fitting)} of the provider's keys fit")
    return jwt.PyJWK.from_dict(fitting[0])


@cached(_found, lock=threading.Lock())
def _discover(issuer: str) -> Mapping[str, str]:
    """Return the provider's addresses, and how it takes a password, for ten minutes. Raises SignInError."""
    found = _ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if found.get("issuer") != issuer:
        because = "CARDINAL_OIDC_ISSUER is not the issuer that the provider names"
        raise ProviderSettingError(because, f"provider={found.get('issuer')}")
    addresses = {}
    scheme = f"{issuer.partition('://')[0]}://"
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        address = found.get(name)
        if not isinstance(address, str) or not address.startswith(scheme):
            raise ProviderSettingError(f"the company's provider has no {name}", f"{name}={address}")
        addresses[name] = address
    userinfo = found.get("userinfo_endpoint")
    is_one = isinstance(userinfo, str) and userinfo.startswith(scheme)
    addresses["userinfo_endpoint"] = str(userinfo) if is_one else ""
    methods = found.get("token_endpoint_auth_methods_supported", [BASIC])  # what it is where nothing is said
    return {**addresses, "takes_basic": BASIC if isinstance(methods, list) and BASIC in methods else ""}


def _basic(config: Config) -> str:
    """Return Cardinal's password for the provider, as rfc-editor.org/rfc/rfc6749#section-2.3.1 writes it."""
    pair = (quote_plus(part) for part in (config.oidc_client_id, config.oidc_client_secret.reveal()))
    return f"Basic {base64.b64encode(':'.join(pair).encode()).decode()}"


def _ask(
    method: str,
    address: str,
    form: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the provider's answer, an object. Raises SignInError, whose words show no secret."""
    try:
        accept = {"Accept": "application/json", **(headers or {})}
        answer = send_plain(method, address, headers=accept, timeout_s=WAIT_S, form=form, stream=True)
        with answer:
            body = answer.raw.read(MAX_BYTES, decode_content=True)
    except (requests.RequestException, OSError, ValueError) as error:
        log.warning("provider did not answer address=%s kind=%s", address, type(error).__name__)
        raise SignInError("the company's provider did not answer: try again soon") from None
    try:
        content = json.loads(body)
    except ValueError:
        content = None
    status = answer.status_code
    if status == 200 and isinstance(content, dict):
        return content
    if status >= 500 or status == 429:
        log.warning("provider did not answer address=%s status=%s", address, status)
        raise SignInError(f"the company's provider answered {status}: try again soon")
    if isinstance(content, dict) and _ERROR.fullmatch(name := str(content.get("error"))):
        raise read_refusal(name)
    raise ProviderSettingError(
        f"the company's provider answered {status}, without what was asked", f"at {address}"
    )
