"""Commits that GitHub makes of objects that it has."""

from bot.github.client import Hub, repository_path
from runner.run.run_spec import MadeCommit


def make_commit(hub: Hub, repository: str, tree: str, parents: tuple[str, ...], message: str) -> MadeCommit:
    """Make a commit that no branch has. One of an App that names no author and no committer GitHub signs.

    A lost answer leaves a commit that nobody sees, so the call can be repeated. Source:
    docs.github.com/rest/git/commits#create-a-commit, and docs.github.com/authentication/
    managing-commit-signature-verification/about-commit-signature-verification (for bots).
    """
    body = {"message": message, "tree": tree, "parents": list(parents)}
    made = hub.rest("POST", f"{repository_path(repository)}/git/commits", body=body).body
    verification = made["verification"]
    return MadeCommit(
        str(made["sha"]),
        str(made["tree"]["sha"]),
        tuple(str(parent["sha"]) for parent in made["parents"]),
        bool(verification["verified"]),
        str(verification["reason"]),
    )
