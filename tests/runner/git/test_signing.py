"""Commits that are signed with an operator's SSH key, as git itself verifies them."""

import subprocess
from pathlib import Path

import pytest

from ledger.states import Ending
from runner.errors import SigningError
from runner.git.commits import Commit
from runner.git.mirror import Mirror
from runner.run.run_spec import Authorship, Committer, SigningKey
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import BRANCH, COMMITTER, REPOSITORY, World, git

OWNER = Committer("Olga Operator", "olga@acme.org")


def nothing() -> None:
    """The beat of a command that nobody watches."""


def new_key(folder: Path, *options: str) -> SigningKey:
    path = folder / "signing"
    words = ("ssh-keygen", "-q", "-N", "", "-f", str(path), *options)
    subprocess.run(words, check=True, timeout=60)
    return SigningKey(path, OWNER)


@pytest.fixture
def mirror(world: World) -> Mirror:
    new_mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, nothing)
    new_mirror.fetch("main")
    return new_mirror


def commit_on(mirror: Mirror) -> Commit:
    base = mirror.head("main")
    name = f"{OWNER.name} <{OWNER.email}>"
    return Commit(
        "", mirror.tree(base), (base,), "Cardinal <c@x>", "1 +0000", name, "1 +0000", "Tïtle\n\nText"
    )


def test_git_verifies_a_commit_by_the_owner_and_the_same_one_is_made_again(
    mirror: Mirror, tmp_path: Path
) -> None:
    key, commit = new_key(tmp_path, "-t", "ed25519"), commit_on(mirror)
    made = mirror.make_commit(commit, key)
    assert mirror.make_commit(commit, key) == made != mirror.make_commit(commit)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"{OWNER.email} {key.path.with_suffix('.pub').read_text()}")
    known = ("-c", f"gpg.ssh.allowedSignersFile={allowed}")
    git(mirror.path, *known, "verify-commit", made)
    assert git(mirror.path, *known, "log", "-1", "--format=%G? %GS %an %B", made).startswith(
        f"G {OWNER.email} Cardinal Tïtle"
    )
    git(mirror.path, "fsck", "--strict", made)
    assert mirror.read_commits((made,))[0].message == commit.message


def test_all_that_a_run_pushes_is_signed_also_peoples_commits_that_it_rebased(
    world: World, tmp_path: Path
) -> None:
    key = new_key(tmp_path, "-t", "ed25519")
    world.commit({"theirs.txt": "Hi\n"}, BRANCH)
    world.commit({"base.txt": "Moved on\n"})
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Hello"}, FINISH])
    world.run(world.spec(authorship=Authorship(COMMITTER, key)))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    allowed = tmp_path / "allowed"
    allowed.write_text(f"{OWNER.email} {key.path.with_suffix('.pub').read_text()}")
    known = ("-c", f"gpg.ssh.allowedSignersFile={allowed}")
    verdicts = git(world.origin, *known, "log", "--reverse", "--format=%G? %cn, %an", f"main..{BRANCH}")
    assert verdicts.splitlines() == [f"G {OWNER.name}, Ann", f"G {OWNER.name}, {COMMITTER.name}"]


@pytest.mark.parametrize("options", [("-t", "ecdsa"), ("-t", "ed25519", "-N", "a passphrase")])
def test_a_key_that_cannot_sign_alike_twice_or_is_locked_is_refused(
    mirror: Mirror, tmp_path: Path, options: tuple[str, ...]
) -> None:
    with pytest.raises(SigningError, match="CARDINAL_SIGNING_KEY"):
        mirror.make_commit(commit_on(mirror), new_key(tmp_path, *options))


def test_a_key_that_is_not_there_is_refused(mirror: Mirror, tmp_path: Path) -> None:
    with pytest.raises(SigningError, match="is it there"):
        mirror.make_commit(commit_on(mirror), SigningKey(tmp_path / "none", OWNER))
