"""Reads the policy file as it stands on a repository's default branch, or another branch or pull request."""

import base64
import binascii
import re
from typing import NamedTuple

from bot.github.api import pulls, repositories
from bot.github.client import Hub, repository_path
from bot.github.errors import ConflictError, NotFoundError, RefusedError
from rules.policy.locations import PATH

INLINE_BYTES = 1_000_000  # docs.github.com/rest/repos/contents: larger files come without their content
# No YAML text may hold it (yaml.org/spec/1.2.2 §5.1), so what is not UTF-8 is refused, not guessed at.
NOT_TEXT = "\x01"
PULL = re.compile(r"#([1-9][0-9]{0,8})")


class PolicyFile(NamedTuple):
    """The text, None where there is no file, and the commit it was read at, empty in an empty repository."""

    text: str | None
    commit: str


def read(hub: Hub, repository: str) -> PolicyFile:
    """Return the file at the newest commit of the default branch, both from the same commit.

    Raises NotFoundError when the repository itself is not there. A file that is too large for
    GitHub to hand over comes back as that many comment signs: too long to be a policy.
    """
    root = repository_path(repository)
    try:
        commit = str(hub.rest("GET", f"{root}/commits/HEAD").body["sha"])
    except ConflictError:  # "Git Repository is empty."
        return PolicyFile(None, "")
    except RefusedError as error:
        if error.status == 422 and "No commit found" in error.because:  # the default branch is not there
            return PolicyFile(None, "")
        raise
    return PolicyFile(read_at(hub, repository, commit), commit)


def read_proposed(hub: Hub, repository: str, place: str) -> PolicyFile:
    """Return the file at the newest commit of a branch, or of a pull request such as `#12`.

    Raises NotFoundError where there is no such place.
    """
    pull = PULL.fullmatch(place)
    commit = (
        pulls.read(hub, repository, int(pull[1])).head
        if pull
        else repositories.branch_head(hub, repository, place)
    )
    return PolicyFile(read_at(hub, repository, commit), commit)


def read_at(hub: Hub, repository: str, ref: str) -> str | None:
    """Return the file's text at a branch or commit; None where there is no file, or no such place."""
    try:
        answer = hub.at_commit(f"{repository_path(repository)}/contents/{PATH}", ref)
    except NotFoundError:
        return None
    return text_of(answer)


def text_of(answer: object) -> str:
    """Return the text of one file as GitHub handed it over; NOT_TEXT where it is none."""
    if not isinstance(answer, dict) or answer.get("type") != "file":
        return NOT_TEXT  # a folder, a link or a submodule stands where the file should
    if answer.get("encoding") != "base64":
        return "#" * min(int(answer.get("size") or INLINE_BYTES), INLINE_BYTES)
    try:
        content = base64.b64decode(str(answer.get("content", "")))
        return content.decode("utf-8-sig")
    except (UnicodeDecodeError, binascii.Error):
        return NOT_TEXT
