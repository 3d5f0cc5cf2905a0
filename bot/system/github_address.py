"""GitHub's addresses: all of them follow from the root of its REST API.

Source: docs.github.com/enterprise-server/rest/enterprise-admin#endpoint-urls, and for `api.` in front of the
host docs.github.com/enterprise-cloud/admin/data-residency.
"""

import re
from urllib.parse import urlsplit

GITHUB_API = "https://api.github.com"
SERVER_PATH = "/api/v3"
API_VERSION = "2026-03-10"  # the version whose published contract the calls follow
SERVER_API_VERSION = "2022-11-28"  # Enterprise Servers document it from 3.9 on
# Cards are read with `ProjectV2ItemStatusChangedEvent` and `blockedBy`. Source: docs.github.com, the GraphQL
# reference of each release: 3.19 has no such event, 3.18 no blockers.
SERVER_SINCE = (3, 20)


def api_root(address: str) -> str:
    """Return the REST root at `address`, which may be the web address of a host that speaks https."""
    parts = urlsplit(address.rstrip("/"))
    if parts.scheme != "https" or parts.path or parts.netloc.startswith("api."):
        return address.rstrip("/")
    if parts.netloc == "github.com" or parts.netloc.endswith(".ghe.com"):
        return f"https://api.{parts.netloc}"
    return f"https://{parts.netloc}{SERVER_PATH}"


def is_server(api: str) -> bool:
    """Tell whether the REST root is that of a GitHub Enterprise Server."""
    return api.endswith(SERVER_PATH)


def web_root(api: str) -> str:
    """Return the root of pages, git, OAuth and App manifests."""
    if is_server(api):  # whose own name may begin with `api.`
        return api.removesuffix(SERVER_PATH)
    return api.replace("https://api.", "https://", 1)


def graphql_url(api: str) -> str:
    """Return the address of GraphQL; on an Enterprise Server it is not below the REST root."""
    return f"{api.removesuffix('/v3') if is_server(api) else api}/graphql"


def api_version(api: str) -> str:
    """Return the version of the API that calls ask for; GitHub refuses one that it does not know."""
    return SERVER_API_VERSION if is_server(api) else API_VERSION


def problem_of_server(version: str) -> str:
    """Return why Cardinal cannot work with an Enterprise Server of this version; empty where it can.

    `version` is the header X-GitHub-Enterprise-Version, which github.com does not send.
    """
    release = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", version)
    if not version or (release and tuple(map(int, release.groups())) >= SERVER_SINCE):
        return ""
    known = release[0] if release else "of an unknown version"
    since = ".".join(map(str, SERVER_SINCE))
    return (
        f"GitHub Enterprise Server {known} does not report what Cardinal needs to know about cards: {since} "
        "does"
    )
