"""A changed file as a pull request, from a branch named after its content: asked for twice, it is one."""

import base64
import hashlib
from dataclasses import dataclass
from urllib.parse import quote

from bot.github.api import pulls
from bot.github.client import Hub, repository_path
from bot.github.errors import ConflictError, NotFoundError, RefusedError

PREFIX = "cardinal/policy-"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileProposal:
    """A file's new text, as a change of the commit `start`, and the words of its pull request."""

    path: str
    text: str
    start: str
    title: str
    body: str


def propose_file(hub: Hub, repository: str, proposal: FileProposal) -> int:
    """Return the number of the draft pull request with this text of the file, opened unless it is open.

    Raises ConflictError where somebody put something else on its branch, and GithubError.
    """
    raw, path, start = proposal.text.encode(), proposal.path, proposal.start
    branch = f"{PREFIX}{hashlib.sha256(raw).hexdigest()[:12]}"
    root = repository_path(repository)
    where = f"{root}/contents/{quote(path)}"
    try:
        hub.rest("POST", f"{root}/git/refs", body={"ref": f"refs/heads/{branch}", "sha": start})
    except RefusedError as error:
        if "already exists" not in error.because.lower():
            raise
        compared = hub.rest("GET", f"{root}/compare/{start}...{quote(branch)}").body
        if {it["filename"] for it in compared["files"]} - {path}:
            raise ConflictError(branch, 409, "the branch has other changes, too") from error
    try:
        there = hub.rest("GET", where, params={"ref": branch}).body
    except NotFoundError:
        there = {}
    if base64.b64decode(there.get("content", "")) != raw:
        fields = {"message": proposal.title, "content": base64.b64encode(raw).decode(), "branch": branch}
        # GitHub asks for the name of what is replaced: docs.github.com/rest/repos/contents.
        hub.rest("PUT", where, body={**fields, **({"sha": there["sha"]} if there else {})})
    pull = pulls.open_draft(hub, repository, branch=branch, title=proposal.title, body=proposal.body)
    return pull.number
