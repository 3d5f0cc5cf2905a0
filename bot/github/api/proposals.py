"""A changed file as a pull request, from a branch named after its content: asked for twice, it is one."""

import base64
import hashlib
from urllib.parse import quote

from bot.github.api import pulls, repositories
from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError, RefusedError

PREFIX = "cardinal/policy-"


def propose_file(hub: Hub, repository: str, path: str, text: str, *, title: str, body: str) -> int:
    """Return the number of the draft pull request with this text of the file, opened unless it is open.

    Raises GithubError.
    """
    raw = text.encode()
    branch = f"{PREFIX}{hashlib.sha256(raw).hexdigest()[:12]}"
    root, start = repository_path(repository), repositories.head(hub, repository)
    where = f"{root}/contents/{quote(path)}"
    try:
        hub.rest("POST", f"{root}/git/refs", body={"ref": f"refs/heads/{branch}", "sha": start})
    except RefusedError as error:
        if "already exists" not in error.because.lower():
            raise
    try:
        there = hub.rest("GET", where, params={"ref": branch}).body
    except NotFoundError:
        there = {}
    if base64.b64decode(there.get("content", "")) != raw:
        fields = {"message": title, "content": base64.b64encode(raw).decode(), "branch": branch}
        # GitHub asks for the name of what is replaced: docs.github.com/rest/repos/contents.
        hub.rest("PUT", where, body={**fields, **({"sha": there["sha"]} if there else {})})
    return pulls.open_draft(hub, repository, branch=branch, title=title, body=body).number
