"""A mirror reads refs from git's files, and reads what git itself would."""

from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import GitError
from runner.git import cleanup
from runner.git.mirror import Mirror
from tests.runner.world import REPOSITORY, World, git


def nothing() -> None:
    """The beat of a command that nobody watches."""


@pytest.fixture
def mirror(world: World) -> Mirror:
    for name in ("team/a-branch", "gone"):
        git(world.origin, "branch", name, "main")
    new_mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, nothing)
    new_mirror.fetch("main")
    return new_mirror


def by_git(folder: Path, ref: str) -> str:
    return git(folder, "for-each-ref", "--format=%(objectname)", ref).strip()


@pytest.mark.parametrize("packed", [False, True])
def test_a_branch_is_where_git_says(mirror: Mirror, world: World, packed: bool) -> None:
    if packed:
        git(mirror.path, "pack-refs", "--all")
        assert not (mirror.path / "refs/heads/main").exists()
    assert mirror.head("main") == by_git(mirror.path, "refs/heads/main") != ""
    assert mirror.head("team/a-branch") == mirror.head("main")
    assert mirror.head("team") == mirror.head("branch") == mirror.head("mai") == mirror.head("none") == ""


@pytest.mark.parametrize("name", ["refs/heads/main.lock", "packed-refs.lock"])
def test_a_lock_that_a_killed_git_left_is_in_nobodys_way(mirror: Mirror, world: World, name: str) -> None:
    newer = world.commit({"new.txt": "New\n"}, "main")
    git(world.origin, "branch", "-D", "gone")
    (mirror.path / name).touch()
    mirror.fetch("main")
    assert (mirror.head("main"), mirror.head("gone")) == (newer, "")
    assert list(mirror.path.rglob("*.lock")) == [mirror.path / "cardinal.lock"]


def test_a_loose_ref_counts_before_a_packed_one(mirror: Mirror) -> None:
    git(mirror.path, "pack-refs", "--all")
    tree = git(mirror.path, "rev-parse", "main^{tree}").strip()
    newer = git(
        mirror.path, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-m", "Newer"
    ).strip()
    mirror.remember("r1-start", newer)
    git(mirror.path, "pack-refs", "--all")
    assert mirror.read_ref("r1-start") == newer
    git(mirror.path, "update-ref", "refs/heads/gone", newer)
    assert mirror.head("gone") == newer != mirror.head("main")


@pytest.mark.parametrize("packed", [False, True])
def test_a_branch_that_was_deleted_is_gone(mirror: Mirror, world: World, packed: bool) -> None:
    if packed:
        git(mirror.path, "pack-refs", "--all")
    assert mirror.head("gone")
    git(world.origin, "branch", "-D", "gone")
    mirror.fetch("main")
    assert mirror.head("gone") == ""


def test_a_runs_own_names_are_those_that_git_lists_wherever_they_stand(mirror: Mirror) -> None:
    assert mirror.names_of("r1") == ()
    tree, main = git(mirror.path, "rev-parse", "main^{tree}"), mirror.head("main")
    newer = git(mirror.path, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-m", "Newer")
    for name in ("r1-start", "r1-head", "r1-gone", "r11-start"):
        mirror.remember(name, main)
    git(mirror.path, "pack-refs", "--all")
    mirror.remember("r1-head", newer)
    mirror.remember("r1-export", newer)
    git(mirror.path, "update-ref", "-d", "refs/cardinal/r1-gone")
    (mirror.path / "refs/cardinal/r1-start.lock").write_text(f"{newer}\n")
    listed = git(mirror.path, "for-each-ref", "--format=%(refname) %(objectname)", "refs/cardinal/r1-*")
    assert mirror.names_of("r1") == (f"export {newer}", f"head {newer}", f"start {main}")
    assert listed.replace("refs/cardinal/r1-", "").splitlines() == [*mirror.names_of("r1")]


def test_a_name_does_not_lead_out_of_the_branches(mirror: Mirror) -> None:
    mirror.remember("r1-start", mirror.head("main"))
    assert mirror.read_ref("r1-start")
    for name in ("../cardinal/r1-start", "../../HEAD", "..", ""):
        assert mirror.head(name) == ""
    (mirror.path / "refs/heads/odd").write_text("ref: refs/heads/main\n")
    assert mirror.head("odd") == ""


def test_a_commit_is_known_by_its_id(mirror: Mirror) -> None:
    assert mirror.has(mirror.head("main"))
    assert not mirror.has("0" * 40)
    assert not mirror.has(git(mirror.path, "rev-parse", "main^{tree}").strip())


@pytest.mark.parametrize(
    ("name", "commit"), [("../heads/main", ""), ("a/b", ""), ("r1", "main"), ("r1", "x" * 40)]
)
def test_only_a_runs_own_name_is_written_and_only_a_commit_in_it(
    mirror: Mirror, name: str, commit: str
) -> None:
    before = git(mirror.path, "for-each-ref")
    with pytest.raises(GitError):
        mirror.remember(name, commit or mirror.head("main"))
    assert git(mirror.path, "for-each-ref") == before


def test_a_commit_that_is_written_is_what_git_would_have_written(mirror: Mirror) -> None:
    git(mirror.path, "pack-refs", "--all")
    (start,) = mirror.read_commits((mirror.head("main"),))
    made = mirror.make_commit(replace(start, parents=(start.commit,), message="Grüße\n\nvon hier"))
    mirror.remember("r1-head", made)
    assert by_git(mirror.path, "refs/cardinal/r1-head") == made == mirror.read_ref("r1-head")
    assert git(mirror.path, "log", "-1", "--format=%B%P", made) == f"Grüße\n\nvon hier\n{start.commit}"
    git(mirror.path, "fsck", "--strict")
    assert mirror.tree(made) == start.tree
    with pytest.raises(GitError, match="is no commit"):
        mirror.tree(start.tree)


def test_a_commit_in_another_encoding_is_read_with_all_its_letters(mirror: Mirror) -> None:
    (start,) = mirror.read_commits((mirror.head("main"),))
    text = (
        f"tree {start.tree}\nparent {start.commit}\nauthor Jörg <j@example.org> 1 +0000\n"
        "committer Jörg <j@example.org> 1 +0000\nencoding ISO-8859-1\n\nGrüße\n\nvon hier\n"
    )
    made = mirror.query("hash-object", "-t", "commit", "-w", "--stdin", given=text.encode("latin-1")).strip()
    (read,) = mirror.read_commits((made,))
    assert (read.author, read.committer) == ("Jörg <j@example.org>", "Jörg <j@example.org>")
    assert (read.message, read.parents, read.authored) == ("Grüße\n\nvon hier", (start.commit,), "1 +0000")


@pytest.mark.parametrize("left", ["HEAD", "HEAD.lock", "config.lock", ""])
def test_a_mirror_whose_making_was_killed_is_made_anew(world: World, left: str) -> None:
    new_mirror = Mirror(world.places.mirrors, "acme/half-made", world.remote, nothing)
    (new_mirror.path / "refs").mkdir(parents=True)
    if left:
        (new_mirror.path / left).write_text("ref: refs/heads/main\n")
    assert new_mirror.fetch("main") == by_git(world.origin, "refs/heads/main")
    assert cleanup.list_unfinished_mirrors(world.places.mirrors) == ()
