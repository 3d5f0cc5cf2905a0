"""Makes an App of a manifest: the one call that nobody has to be known for, since the code is the secret."""

import time
from dataclasses import dataclass
from typing import Any

import requests

from bot.github.errors import UnavailableError, from_answer
from bot.github.transport import ACCEPT, API_VERSION, CONNECT_S, USER_AGENT, as_it_is
from bot.system.secret import Secret

READ_S = 30.0
CALL = "POST /app-manifests/…/conversions"  # the code stays out of messages


@dataclass(frozen=True, slots=True)
class Converted:
    """What GitHub tells of a new App, this once."""

    app_id: int
    slug: str
    page: str
    owner: str
    private_key: Secret
    webhook_secret: Secret
    client_id: str
    client_secret: Secret


def convert(api_url: str, code: str) -> Converted:
    """Return the App that GitHub makes of the manifest behind `code`; it works once, and for an hour.

    Raises NotFoundError for a code that was used, is too old or was never given; UnavailableError when trying
    again may help. Source: docs.github.com/rest/apps/apps#create-a-github-app-from-a-manifest.
    """
    headers = {"Accept": ACCEPT, "X-GitHub-Api-Version": API_VERSION, "User-Agent": USER_AGENT}
    try:
        answer = requests.post(
            f"{api_url}/app-manifests/{code}/conversions",
            headers=headers,
            auth=as_it_is,
            timeout=(CONNECT_S, READ_S),
            allow_redirects=False,
        )
        found: Any = answer.json() if answer.content else None
    except requests.RequestException as error:  # also JSONDecodeError: a proxy's page, for one
        raise UnavailableError(CALL, 0, type(error).__name__) from None  # the cause would show the address
    if answer.status_code != 201:
        lowered = {name.lower(): value for name, value in answer.headers.items()}
        raise from_answer(CALL, answer.status_code, lowered, found, time.time())
    return Converted(
        int(found["id"]),
        str(found["slug"]),
        str(found["html_url"]),
        str((found.get("owner") or {}).get("login") or ""),
        Secret(str(found["pem"])),
        Secret(str(found.get("webhook_secret") or "")),
        str(found["client_id"]),
        Secret(str(found["client_secret"])),
    )
