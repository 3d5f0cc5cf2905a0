"""The devcontainer.json of a repository's default branch, which makes the image of its runs."""

from collections.abc import Iterator

from bot.github.api import contents
from bot.github.client import Hub
from rules.errors import PolicyError
from rules.policy.projects import devcontainer
from rules.policy.projects.devcontainer import Devcontainer
from rules.policy.projects.files import MAX_CHARS

_NAME = "devcontainer.json"
_MAX_FOLDERS = 10


def read_devcontainer(hub: Hub, repository: str, commit: str) -> Devcontainer | None:
    """Return what the file says that counts at this commit; None without one.

    Raises PolicyError where no image can be made of it, or where several have equal rights, and a GithubError
    when GitHub does not answer.
    """
    names = tuple(_names(hub, repository, commit))
    path = devcontainer.choose_devcontainer(names)
    if not path:
        if found := devcontainer.find_devcontainers(names):
            only = devcontainer.DEFAULTS[0]
            raise PolicyError((f"{', '.join(found)}: none counts; put the one for agents at {only}",))
        return None
    raw = contents.content(hub, repository, path, commit, most_bytes=MAX_CHARS)
    if raw is None:
        raise PolicyError((f"{path} is not a file of at most {MAX_CHARS:,} bytes",))
    return devcontainer.parse_devcontainer(path, raw.decode("utf-8-sig", "replace"))


def _names(hub: Hub, repository: str, commit: str) -> Iterator[str]:
    """Yield the paths at which such a file is; of the folders below, only the first ones are looked into."""
    listed = contents.entries(hub, repository, devcontainer.FOLDER, commit)
    default, at_root = devcontainer.DEFAULTS
    if any((entry.name, entry.kind) == (_NAME, "file") for entry in listed):
        yield default
        return  # the others do not count
    if contents.content(hub, repository, at_root, commit, most_bytes=MAX_CHARS) is not None:
        yield at_root  # the root has no listing, and a link there leads to a file of the repository
        return
    for folder in [entry.name for entry in listed if entry.kind == "dir"][:_MAX_FOLDERS]:
        inside = contents.entries(hub, repository, f"{devcontainer.FOLDER}/{folder}", commit)
        if any((entry.name, entry.kind) == (_NAME, "file") for entry in inside):
            yield f"{devcontainer.FOLDER}/{folder}/{_NAME}"
