"""What a repository ignores is what the `.gitignore` files of its base say, and nobody else's."""

import shutil
import subprocess
from pathlib import Path

import pytest

from runner.errors import GitError, SpawnError
from runner.git.left_files import list_ignored
from runner.git.mirror import Mirror
from runner.guards.diff import Known, change_of
from tests.runner.guards.test_guards import brought_out
from tests.runner.world import REPOSITORY, World, git

RULES = {
    ".gitignore": "# what stays here\n*.log\n!kept.log\n/local.ini\nsecret/\ndata/**/raw\n\\#odd\n a\n",
    "web/.gitignore": "*.tmp\n!*.log\n",
    "docs a/.gitignore": "*.draft\n",
    'odd "é\n/.gitignore': "*.tmp\n",
}
IGNORED = """
a.log|src/a.log|local.ini|secret/a|src/secret/b/c|data/raw|data/x/y/raw|data/raw/a|#odd| a|web/a.tmp
web/src/b.tmp|docs a/x.draft|odd "é
/x.tmp|"quoted".log|-a.log|:(glob)a.log|:/a.log|:!a.log|é.log|a\\b.log|line
break.log|web/secret/kept.log|\ttab.log
"""
SEEN = """
kept.log|src/kept.log|src/local.ini|secret|web/a.log|a.tmp|src/a.tmp|docs a/x.md|x.draft|a|LOCAL.INI|a.LOG
odd/x.tmp|webs/a.tmp|.gitignore|new/.gitignore
"""


def split(text: str) -> frozenset[str]:
    """Return the names between bars and at the ends of lines; one has a line break."""
    joined = text.strip("\n").replace('"é\n/', '"é\0/').replace("line\nbreak", "line\0break")
    return frozenset(name.replace("\0", "\n") for row in joined.split("\n") for name in row.split("|"))


def mirror_of(world: World, files: dict[str, str]) -> tuple[Mirror, str]:
    """Return a mirror of the repository with these files, and its base."""
    index = world.root / "index"
    env = {"GIT_DIR": str(world.origin), "GIT_INDEX_FILE": str(index), "PATH": "/usr/bin:/bin"}
    for name, text in files.items():
        stored = subprocess.run(
            ("git", "hash-object", "-w", "--stdin"),
            input=text,
            env=env,
            capture_output=True,
            text=True,
            check=True,
        )
        entry = f"100644,{stored.stdout.strip()},{name}"
        subprocess.run(("git", "update-index", "--add", "--cacheinfo", entry), env=env, check=True)
    tree = subprocess.check_output(("git", "write-tree"), env=env, text=True).strip()
    made = git(world.origin, "-c", "user.name=a", "-c", "user.email=a@b", "commit-tree", tree, "-m", "Rules")
    git(world.origin, "update-ref", "refs/heads/main", made)
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    return mirror, mirror.fetch("main")


def test_paths_are_ignored_as_git_ignores_them_in_any_folder_and_under_any_name(world: World) -> None:
    mirror, base = mirror_of(world, RULES)
    ignored, seen = split(IGNORED), split(SEEN)
    assert len(ignored) >= 20
    assert list_ignored(mirror, base, mirror.files(base), ignored | seen) == ignored
    assert list_ignored(mirror, base, mirror.files(base), frozenset()) == frozenset()


def test_git_is_asked_once_about_a_commit(world: World) -> None:
    mirror, base = mirror_of(world, {".gitignore": "a\n"})
    files, paths = mirror.files(base), frozenset({"a", "b"})
    assert list_ignored(mirror, base, files, paths) == {"a"}
    shutil.rmtree(mirror.path)
    assert mirror.files(base) == files == {".gitignore"}
    assert list_ignored(mirror, base, files, paths) == {"a"}
    with pytest.raises(SpawnError):
        list_ignored(mirror, base, files, frozenset({"c"}))


def test_rules_of_the_host_ignore_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    mirror, base = mirror_of(world, {".gitignore": "a\n"})
    home = world.root / "home"
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("b\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    assert list_ignored(mirror, base, mirror.files(base), frozenset({"a", "b"})) == {"a"}


def test_more_rules_than_are_read_stop_the_comparison_and_say_what_to_do(world: World) -> None:
    mirror, base = mirror_of(world, {".gitignore": "#\n" * 1_500_000, "a/.gitignore": "#\n" * 1_500_000})
    files = mirror.files(base)
    assert list_ignored(mirror, base, files, frozenset({"b"})) == frozenset()
    with pytest.raises(GitError, match=r"6,000,000 bytes are more than 5,000,000: shorten them on the def"):
        list_ignored(mirror, base, files, frozenset({"a/b"}))
    folders = [str(number) for number in range(1_001)]
    many = frozenset(f"{folder}/.gitignore" for folder in folders)
    with pytest.raises(GitError, match=r"1,001 are about this change, more than 1,000: split the"):
        list_ignored(mirror, base, many, frozenset(f"{folder}/x" for folder in folders))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("echo a > local.ini; git add -f local.ini", {"local.ini"}),
        # The rules are the base's: the agent's own neither allow a file nor forbid one.
        ("echo '!local.ini' > .gitignore; echo a > local.ini", {"local.ini"}),
        ("git rm -q .gitignore; echo a > local.ini", {"local.ini"}),
        ("echo new.txt > .gitignore; echo a > new.txt; git add -f new.txt", set()),
        ("echo a > local.ini; git add -f local.ini; git commit -qm a; git rm -q local.ini", {"local.ini"}),
        ("git mv README.md local.ini", {"local.ini"}),
        ("ln -s README.md local.ini; git add -f local.ini", {"local.ini"}),
        # What people keep all the same is changed, not added.
        ("echo a >> tracked.log", set()),
        ("git rm -q tracked.log; git commit -qm a; echo a > tracked.log; git add -f tracked.log", set()),
        ("echo a > b.txt", set()),
    ],
)
def test_an_ignored_file_that_a_change_adds_is_found_by_the_rules_of_the_base(
    world: World, line: str, expected: set[str]
) -> None:
    world.commit({".gitignore": "local.ini\n*.log\n", "tracked.log": "a\n"})
    mirror, base, head = brought_out(world, line)
    assert change_of(mirror, base, head, Known((base,), "", ())).ignored == expected


def test_a_link_and_a_submodule_called_gitignore_ignore_nothing_as_for_git(
    world: World, tmp_path: Path
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(world.origin), str(clone))
    (clone / "rules").write_text("a\n")
    (clone / ".gitignore").symlink_to("rules")
    git(clone, "add", "--all")
    entry = f"160000,{git(clone, 'rev-parse', 'HEAD')},web/.gitignore"
    git(clone, "update-index", "--add", "--cacheinfo", entry)
    git(clone, "commit", "--quiet", "-m", "Link")
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    mirror = Mirror(world.places.mirrors, REPOSITORY, world.remote, lambda: None)
    base = mirror.fetch("main")
    assert list_ignored(mirror, base, mirror.files(base), frozenset({"a", "rules/a", "web/a"})) == frozenset()
