"""Sign-in of a person by GitHub: the address to agree at, and the person behind a code.

These are no calls of an installation, so `token_scope` has none of them.
Source: docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/
generating-a-user-access-token-for-a-github-app (web application flow, with PKCE by S256).
"""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import requests

from bot.github.transport import plain_headers, send_plain
from bot.system.config import Config
from bot.system.secret import Secret
from ledger.errors import CardinalError

BACK = "/sign-in/back"
WAIT_S = (5.0, 10.0)  # a thread of the web server waits, and there are few
AGAIN = "sign in again"
# GitHub's error -> what to do. Source: docs.github.com/apps/oauth-apps/maintaining-oauth-apps,
# "Troubleshooting OAuth app access token request errors".
STEPS = {
    "bad_verification_code": f"the code was used before or is too old: {AGAIN}",
    "incorrect_client_credentials": "the operator has to set CARDINAL_CLIENT_ID and "
    "CARDINAL_CLIENT_SECRET as on the App's settings page",
    "redirect_uri_mismatch": "the operator has to add its callback URL to the App's settings: "
    f"CARDINAL_PUBLIC_URL followed by {BACK}",
    "access_denied": f"you did not authorize Cardinal on GitHub: {AGAIN} if you want to",
    "application_suspended": "the App is suspended: an owner can unsuspend it",
}


class SignInError(CardinalError):
    """A sign-in failed; `because` names the next step."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(f"Sign-in failed: {because}")


@dataclass(frozen=True, slots=True)
class Person:
    """A person who signed in, as GitHub names them."""

    user_id: int
    login: str
    token: Secret  # to ask what the person may read


def way_to_github(config: Config, state: str, verifier: str) -> str:
    """Return the address where the person agrees; it holds only a digest of `verifier`."""
    digest = hashlib.sha256(verifier.encode()).digest()
    query = {
        "client_id": config.client_id,
        "redirect_uri": config.public_url + BACK,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
    }
    return f"{config.git_url}/login/oauth/authorize?{urlencode(query)}"


def sign_in_error(name: str) -> SignInError:
    """Return the error for a name that GitHub sent back by the browser, or answered."""
    return SignInError(STEPS.get(name, f"GitHub refused: {AGAIN}"))


def who(config: Config, code: str, verifier: str) -> Person:
    """Return the person behind the code, which works once. Raises SignInError."""
    form = {
        "client_id": config.client_id,
        "client_secret": config.client_secret.reveal(),
        "code": code,
        "redirect_uri": config.public_url + BACK,
        "code_verifier": verifier,
    }
    address = f"{config.git_url}/login/oauth/access_token"
    answer = _answer("POST", address, {"Accept": "application/json"}, form)
    if "access_token" not in answer:  # with the status 200
        raise sign_in_error(str(answer.get("error") or ""))
    token = Secret(str(answer["access_token"]))
    headers = {**plain_headers(config.github_url), "Authorization": f"Bearer {token.reveal()}"}
    person = _answer("GET", f"{config.github_url}/user", headers, None)
    if not isinstance(person.get("id"), int) or not isinstance(person.get("login"), str):
        raise sign_in_error("")
    return Person(person["id"], person["login"], token)


def _answer(
    method: str, address: str, headers: Mapping[str, str], form: Mapping[str, str] | None
) -> dict[str, Any]:
    """Return GitHub's answer, an object; raises SignInError for any other, and for none."""
    try:
        answer = send_plain(method, address, headers=headers, timeout_s=WAIT_S, form=form)
        content = answer.json() if answer.status_code == 200 else None
    except requests.RequestException:  # also JSONDecodeError; its words and its cause could show secrets
        raise SignInError("GitHub did not answer: try again soon") from None
    if not isinstance(content, dict):
        raise SignInError(f"GitHub answered {answer.status_code}: try again soon")
    return content
