"""Somebody's repository, and a forge with a copy of one branch of it."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from forge.portable.branches import Branches
from forge.portable.world import Wanted, build
from forge.seed.world import World
from forge.store import Store
from tests.runner.world import git


@dataclass
class Portable:
    """The person's clone `mine`, the forge's state, and what the person was told."""

    mine: Path
    root: Path
    store: Store
    world: World
    branches: Branches
    said: list[str] = field(default_factory=list)

    @property
    def ours(self) -> Path:
        """The folder of the forge's copy."""
        return self.root / "git/local/shop.git"

    def work(self, branch: str, text: str, start: str = "main") -> str:
        """Commit on a branch of the forge's copy, as an agent's push; return the commit."""
        repo = self.store.repos.get("local", "shop")
        if branch not in self.store.repos.git(repo).branches():
            sha = git(self.ours, "rev-parse", start)
            self.store.repos.create_ref(repo, f"refs/heads/{branch}", sha, actor=self.world.app.bot)
        files: dict[str, bytes | None] = {"hello.txt": text.encode()}
        return self.store.repos.write_files(repo, branch, files, "Work", actor=self.world.app.bot)

    def merge(self, branch: str) -> str:
        """Move the forge's `main` to a branch, as a merge does; return the commit."""
        sha = git(self.ours, "rev-parse", branch)
        git(self.ours, "update-ref", "refs/heads/main", sha)
        return sha

    def commit(self, text: str) -> str:
        """Commit in the person's clone, where they are; return the commit."""
        (self.mine / "own.txt").write_text(text)
        git(self.mine, "add", "own.txt")
        git(self.mine, "commit", "--quiet", "--message", text)
        return git(self.mine, "rev-parse", "HEAD")

    def heads(self) -> dict[str, str]:
        """Return the person's branches."""
        lines = git(self.mine, "for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        return dict(line.split(" ") for line in lines.splitlines())


def besides_git(folder: Path) -> str:
    """Return a digest of the work tree, the index and the settings of a clone."""
    digest = hashlib.sha256()
    kept = [path for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts]
    for path in sorted((*kept, *(folder / ".git" / name for name in ("index", "config", "HEAD")))):
        if path.is_file():
            digest.update(str(path).encode() + path.read_bytes() + str(path.stat().st_mtime_ns).encode())
    return digest.hexdigest()


@pytest.fixture
def portable(tmp_path: Path) -> Portable:
    mine = tmp_path / "shop"
    git(tmp_path, "init", "--quiet", "--initial-branch=main", str(mine))
    (mine / "answer").write_text("right\n")
    git(mine, "add", "answer")
    git(mine, "commit", "--quiet", "--message", "Begin")
    columns = ("Tasks", "In Progress", "Done")
    wanted = Wanted(str(mine / ".git"), "shop", "main", "ann", "Ann", "ann@example.com", columns)
    root = tmp_path / "forge"
    store = Store(root)
    world = build(store, wanted)
    said: list[str] = []
    return Portable(mine, root, store, world, Branches(store, wanted, lambda: None, said.append), said)
