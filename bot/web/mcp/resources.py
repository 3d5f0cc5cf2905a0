"""Resources: a job, a run and its files, each as the API gives it."""

import json
import re
from collections.abc import Mapping

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ReadResourceResult, ResourceTemplate, TextResourceContents

from bot.web.api.client import ApiClient
from bot.web.api.operation import OPERATIONS
from bot.web.api.sending import ApiProblemError, ApiUnreachableError
from ledger.parts import charter

SCHEME = "cardinal:/"
JSON = "application/json"
SHOWN: Mapping[str, str] = {  # each at its operation's own path
    "job": "get_job",
    "run": "get_run",
    "artifacts": "list_artifacts",
    "artifact": "get_artifact",
}


def templates() -> list[ResourceTemplate]:
    """Return the addresses that a client may fill in."""
    parts = ((name, OPERATIONS.load(operation)) for name, operation in SHOWN.items())
    return [
        ResourceTemplate(name=name, uri_template=SCHEME + it.PATH, description=charter(it), mime_type=JSON)
        for name, it in parts
    ]


def address(name: str, **fields: object) -> str:
    """Return the address of a resource."""
    return SCHEME + OPERATIONS.load(SHOWN[name]).PATH.format(**fields)


async def read(client: ApiClient, uri: str) -> ReadResourceResult:
    """Return the resource at that address. Raises MCPError."""
    for operation in SHOWN.values():
        pattern = re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", OPERATIONS.load(operation).PATH)
        match = re.fullmatch(re.escape(SCHEME) + pattern, uri)
        if match is None:
            continue
        try:
            document = await client.call(operation, match.groupdict())
        except (ApiProblemError, ApiUnreachableError) as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        text = json.dumps(document, ensure_ascii=False)
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=JSON, text=text)])
    ways = " or ".join(SCHEME + OPERATIONS.load(it).PATH for it in SHOWN.values())
    raise MCPError(INVALID_PARAMS, f"a resource is {ways}")
