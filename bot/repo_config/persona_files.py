"""Reads a repository's own personas, as they stand at one commit of its default branch."""

from bot.github.client import Hub, repository_path
from bot.github.errors import NotFoundError
from bot.repo_config.policy_file import text_of
from rules.policy.stages import is_persona

FOLDER = ".github/cardinal/personas"
_SUFFIX = ".md"
MAX = 100  # that are looked at by name; a folder with more of them is no list for people


def names(hub: Hub, repository: str, commit: str) -> tuple[str, ...]:
    """Return the names of the personas that the repository has at `commit`; none where there is no folder.

    What is not called as a persona is passed over, and so are folders and links.
    """
    try:
        found = hub.rest(
            "GET", f"{repository_path(repository)}/contents/{FOLDER}", params={"ref": commit}
        ).body
    except NotFoundError:
        return ()
    files = [one for one in found if one.get("type") == "file"] if isinstance(found, list) else []
    stems = (str(one.get("name", "")) for one in files)
    called = (name.removesuffix(_SUFFIX) for name in stems if name.endswith(_SUFFIX))
    return tuple(sorted(name for name in called if is_persona(name)))[:MAX]


def read(hub: Hub, repository: str, commit: str, name: str) -> str:
    """Return the file of one persona that `names` named. Raises NotFoundError."""
    path = f"{repository_path(repository)}/contents/{FOLDER}/{name}{_SUFFIX}"
    return text_of(hub.rest("GET", path, params={"ref": commit}).body)
