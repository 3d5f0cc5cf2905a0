"""`python -m forge.portable.carried`: the forge's part of `cardinal export`, `import` and `try --move-to`.

Secrets stay: whoever takes a board in makes new ones. Git comes as bundles, for a repository brings hooks and
settings along that git would obey.
"""

import sys
from dataclasses import replace
from pathlib import Path

from forge.git.repository import GitError
from forge.portable import listing
from forge.portable.saved import SavedForge, StateError
from forge.portable.world import OWNER
from forge.seed.world import World
from forge.store import Store
from forge.store.authorizations import Authorizations
from forge.store.deliveries import Deliveries
from forge.store.manifests import Manifests
from forge.store.models import Repo
from forge.store.repos import NAME

FETCH = ("-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance")


def give(root: Path, target: Path) -> None:
    """Write the state of the forge at `root` and its repositories into the folder `target`, without secrets.

    Raises StateError, GitError.
    """
    opened = SavedForge(root).read()
    if opened is None:
        raise StateError("the board was never started")
    store, world, _ = opened
    _forget(store)
    store.apps.renew(world.app)
    world.app.webhook_secret = world.app.client_secret = ""
    SavedForge(target).write(store, replace(world, private_key=""), {})
    (target / "git").mkdir()
    for repo in store.repos.all():
        git, bundle = store.repos.git(repo), (target / "git" / f"{repo.name}.bundle").resolve()
        if git.refs():  # git makes no empty bundle
            git.run("bundle", "create", "--quiet", str(bundle), "--all")


def take(source: Path, root: Path) -> None:
    """Make a forge at `root`, which is empty, from what `give` has written; it may be anybody's.

    Raises StateError, GitError.
    """
    try:
        store, world, _, refs = SavedForge(source).load()
        _require_sound(store, world)
        _forget(store)
        store.root = root
        for repo in store.repos.all():
            _unpack(store, repo, source / "git" / f"{repo.name}.bundle", refs[repo.full_name])
        renewed = replace(world, private_key=store.apps.renew(world.app))
        SavedForge(root).write(store, renewed, {})
    except (StateError, GitError):
        raise
    except Exception as error:  # a torn or foreign pickle raises whatever its bytes say
        raise StateError(f"{type(error).__name__}: {error}") from error


def _require_sound(store: Store, world: World) -> None:
    """Raise StateError where a name leads out of the store, or somebody else than the board's App listens."""
    if type(store) is not Store or type(world) is not World or store.apps.all() != [world.app]:
        raise StateError("it is no board of `cardinal try`")
    for repo in store.repos.all():
        known = repo.owner.login == OWNER and NAME.fullmatch(repo.name) and repo.name not in {".", ".."}
        if type(repo) is not Repo or not known:
            raise StateError("a repository in it has a name that none can have")


def _forget(store: Store) -> None:
    """Leave out tokens, sign-ins and deliveries: they are secrets, or are sent to whom they name."""
    store.authorizations, store.manifests = Authorizations(store), Manifests(store)
    store.deliveries = Deliveries(store)


def _unpack(store: Store, repo: Repo, bundle: Path, refs: dict[str, str]) -> None:
    git = store.repos.git(repo)
    git.create(repo.default_branch)
    if refs:
        git.run(*FETCH, str(bundle.resolve()), "+refs/*:refs/*")
    if git.refs() != refs:
        raise StateError(f"the branches of {repo.full_name} are not those that it names")
    for branch, reviews in list(repo.protected.items()):
        store.repos.protect(repo, branch, reviews=reviews)
    for branch in list(repo.signed_branches):
        store.repos.want_signatures(repo, branch)
    for pattern, rules in list(repo.rules.items()):
        store.repos.set_rules(repo, pattern, *rules, bypass=pattern in repo.bypassed)


def main() -> int:
    """Run `give FORGE FOLDER`, `list FORGE FOLDER` or `take FOLDER FORGE`; return the exit status."""
    verb, source, target = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    target.mkdir(mode=0o700, exist_ok=True)
    try:
        {"give": give, "list": listing.write, "take": take}[verb](source, target)
    except (StateError, GitError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
