"""What set-up left behind comes back in another workspace, and nothing else does."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from runner.errors import WorkspaceError
from runner.workspaces.backends.docker import home_of
from runner.workspaces.contract import DEFAULT_IMAGE, CleanWorkspace
from runner.workspaces.docker import seeds
from runner.workspaces.docker.engine import Engine, engine_address
from tests.containers.engine import Bench, sh

ODD = "made/new\nline -x\u00e9"
CLONE = (
    "git init -q . && echo tracked > tracked && echo made/ > .gitignore && git add . && git -c user.name=A"
)
COMMIT = f"{CLONE} -c user.email=a@example.org commit -qm first"


def made(bench: Bench, card: str = "maker") -> CleanWorkspace:
    """Return a workspace after a set-up that left odd things behind."""
    workspace = bench.open_clean(card)
    assert sh(workspace, COMMIT).exit_code == 0
    script = (
        "import os\n"
        "os.mkdir('made')\n"
        f"open({ODD!r}, 'w').write('odd')\n"
        "open('--checkpoint-action=exec=touch pwned', 'w')\n"
        "os.symlink('/etc/passwd', 'made/link'); os.symlink('../..', 'made/up')\n"
        "open('made/tool', 'w').write('#!/bin/sh\\necho tool'); os.chmod('made/tool', 0o755)\n"
        "os.makedirs(os.path.expanduser('~/.cache/deep')); open(os.path.expanduser('~/.cache/deep/x'), 'w')\n"
    )
    ran = sh(workspace, f'cat > /tmp/s.py <<"E"\n{script}E\npython3 /tmp/s.py; echo changed > tracked')
    assert ran.exit_code == 0, ran.tail
    return workspace


@contextmanager
def another_image(bench: Bench) -> Iterator[str]:
    """Give the name of an image that has all that the agent's has, and is another one."""
    name = f"cardinal-test-another:{home_of(bench.places.workspaces)[:12]}"
    changed = bench.api.create_container(DEFAULT_IMAGE, ["true"])["Id"]
    try:
        repository, tag = name.split(":")
        bench.api.commit(changed, repository, tag, changes="ENV ANOTHER=1")
    finally:
        bench.api.remove_container(changed)
    try:
        yield name
    finally:
        bench.api.remove_image(name, force=True)


def test_it_comes_back_with_odd_names_links_and_rights_and_without_tracked_files(bench: Bench) -> None:
    workspace = made(bench)
    workspace.keep_setup("key")
    assert len(bench.images()) == 1
    assert bench.containers() == []
    other = bench.open("other")
    sh(other, f"{COMMIT}; rm -f tracked; git checkout -q -- .")
    assert other.restore_setup("key")
    look = (
        "cat tracked; made/tool; readlink made/link made/up; cat made/new*; ls ~/.cache/deep; stat -c %U made"
    )
    told = sh(other, look).out.splitlines()
    assert told == ["tracked", "tool", "/etc/passwd", "../..", "oddx", "agent"]
    status = sh(other, "git status --short").out.splitlines()
    assert status == ['?? "--checkpoint-action=exec=touch pwned"']
    for one in (workspace, other):
        one.destroy()


def test_another_key_another_image_or_another_cardinal_has_nothing(bench: Bench) -> None:
    workspace = made(bench)
    workspace.keep_setup("key")
    assert not workspace.restore_setup("another key")
    with another_image(bench) as image:
        based = bench.open("elsewhere", image=image)
        assert sh(based, COMMIT).exit_code == 0
        assert not based.restore_setup("key")
        based.destroy()
    name = bench.images()[0]
    assert seeds.seed_name("another home", "sha256:x", "key") != name
    workspace.destroy()


def test_what_is_there_already_is_not_replaced_and_the_history_not_touched(bench: Bench) -> None:
    workspace = made(bench)
    workspace.keep_setup("key")
    sh(
        workspace,
        "echo mine > made/tool; mkdir -p ~/.cache/deep; echo mine > ~/.cache/deep/x; git log > /dev/null",
    )
    assert workspace.restore_setup("key")
    assert sh(workspace, "cat made/tool ~/.cache/deep/x").out == "mine\nmine\n"
    workspace.destroy()


def test_an_image_that_is_no_good_is_made_anew(bench: Bench) -> None:
    workspace = made(bench)
    workspace.keep_setup("key")
    (name,) = bench.images()
    broken = bench.api.create_container("cardinal/base:bookworm", entrypoint=["true"])["Id"]
    bench.api.commit(broken, repository=name.partition(":")[0], tag=name.partition(":")[2])
    bench.api.remove_container(broken)
    assert not workspace.restore_setup("key")
    assert not workspace.restore_setup("key")
    workspace.keep_setup("key")
    assert workspace.restore_setup("key")
    workspace.keep_setup("key")  # as two workers do at once: the first image loses its name
    assert len(bench.images()) > 1
    bench.sweep(lambda run, generation: True)
    assert bench.images() == [name]
    workspace.destroy()


def test_a_place_that_cannot_take_it_costs_nobody_else_the_image(bench: Bench) -> None:
    workspace = made(bench)
    workspace.keep_setup("key")
    spoiled = bench.open("spoiled")
    sh(spoiled, f"{COMMIT}; mkdir ~/.cache; chmod 555 ~/.cache")
    assert not spoiled.restore_setup("key")
    assert len(bench.images()) == 1
    other = bench.open("other")
    sh(other, COMMIT)
    assert other.restore_setup("key")
    for one in (workspace, spoiled, other):
        one.destroy()


def test_a_place_where_an_agent_may_work_keeps_nothing_for_others(bench: Bench) -> None:
    workspace = bench.open("card")
    assert not hasattr(workspace, "keep_setup")
    assert not hasattr(workspace, "serve")
    sh(workspace, "echo left > ~/left")
    clean = bench.open_clean("card")
    assert sh(clean, "ls -A ~ .").out == ".:\n\n/workspace/home:\n"
    clean.destroy()


def test_a_place_without_a_checkout_keeps_nothing(bench: Bench) -> None:
    workspace = bench.open_clean("empty")
    with pytest.raises(WorkspaceError, match="keeping what set-up made"):
        workspace.keep_setup("key")
    assert bench.images() == []
    assert bench.containers() == []
    workspace.destroy()


def test_only_the_newest_are_kept(bench: Bench) -> None:
    workspace = made(bench)
    for key in ("a", "b", "c"):
        workspace.keep_setup(key)
    home = home_of(bench.places.workspaces)
    assert len(bench.images()) == 3
    old = list(seeds.old(Engine(engine_address()), home, most=1))
    assert (len(old), len(bench.images())) == (2, 3)  # nobody has called their removal, as in a dry run
    for leftover in old:
        leftover.remove()
    assert len(bench.images()) == 1
    assert bench.sweep(lambda run, generation: True) == []
    workspace.destroy()
