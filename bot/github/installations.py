"""Where the App is installed: at an organisation or at a person."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from bot.github.errors import NotFoundError
from bot.github.hub import Hub


def of_owner(hub: Hub, owner: str) -> Mapping[str, Any]:
    """Return the App's installation at the account with that login, as GitHub describes it.

    Raises NotFoundError where it is not installed. Source: docs.github.com/rest/apps/apps,
    "Get an organization installation", "Get a user installation": the first knows no persons.
    """
    name = quote(owner, safe="")
    try:
        found: Mapping[str, Any] = hub.as_app("GET", f"/orgs/{name}/installation").body
    except NotFoundError:
        found = hub.as_app("GET", f"/users/{name}/installation").body
    return found
