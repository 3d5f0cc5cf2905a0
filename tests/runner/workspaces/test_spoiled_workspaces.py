"""A place where an agent has been is not trusted: what an agent does to it spoils its own run at most."""

from pathlib import Path

import pytest

from ledger.events.artifact import SET_ASIDE
from ledger.ids import RunId
from ledger.model.policy_settings import Resources
from ledger.states import Ending
from runner.artifacts.store import store_of
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World

HONEST = {"edit": {"path": "honest.txt", "content": "honest\n"}}
COMMIT = {"commit": "Say hello"}
NEXT = RunId("r2")
SPOILED = {
    "no .git": "rm -rf .git",
    "a HEAD that is a folder": "rm .git/HEAD; mkdir .git/HEAD",
    ".git is a file": 'mv .git ~/git; echo "gitdir: $HOME/git" > .git',
    ".git is a link": "mv .git ~/git; ln -s ~/git .git",
    "no rights at all": "chmod -R a-rwx .",
    "another work tree": "git config core.worktree ~",
    "a config of the future, with a filter that fails": "echo '* filter=x' > .git/info/attributes;"
    " git config filter.x.clean false; git config filter.x.required true;"
    " git config extensions.zzz 1; git config core.repositoryFormatVersion 99",
    "a config that is a folder, and another common folder": "rm .git/config; mkdir .git/config;"
    " echo /nowhere > .git/commondir",
    "objects are a link": "mv .git/objects ~/objects; ln -s ~/objects .git/objects",
    "objects from nowhere": "rm -rf .git/objects; mkdir -p .git/objects/info;"
    " echo / > .git/objects/info/alternates",
    "an index of garbage, and a shallow end": "head -c 500 /dev/urandom > .git/index;"
    " git rev-parse HEAD > .git/shallow; git rev-parse HEAD > .git/info/grafts",
    "locks that nobody holds": "touch .git/index.lock .git/HEAD.lock .git/refs/heads/main.lock",
    "a commit behind HEAD that no host takes": "set -- $(git rev-parse HEAD HEAD^{tree});"
    r" c=$(printf 'tree %s\nparent %s\nauthor x\ncommitter x\n\nm\n' $2 $1"
    " | git hash-object -t commit -w --literally --stdin); git reset --soft $(git commit-tree -p $c -m m $2)",
    "a rebase that goes on": "mkdir .git/rebase-merge; echo x > .git/rebase-merge/head-name",
}


def spoil(world: World, how: str, *, resources: Resources | None = None) -> None:
    """Let one run of the card do that after it edited, and another one of it be honest."""
    world.scenario(plan=[PLAN], work=[EDIT, {"run": "echo precious > left.txt"}, {"run": how}, FINISH])
    world.run(world.spec(resources=resources or Resources()))
    world.scenario(plan=[PLAN], work=[HONEST, COMMIT, FINISH])
    world.run(world.spec(run_id=NEXT, attempt=2, resources=resources or Resources()))


def kept(world: World) -> str:
    """Return what the second run set aside, or empty."""
    found = [one for one in world.of("ArtifactKept", NEXT) if one.name == "set-aside.patch"]
    store = store_of(world.places)
    return "".join((store.read(one.digest) or b"").decode() for one in found)


@pytest.mark.parametrize("how", SPOILED.values(), ids=SPOILED)
def test_the_next_run_of_the_card_succeeds_whatever_an_agent_did_to_the_place(world: World, how: str) -> None:
    spoil(world, how)
    ended = world.ended(NEXT)
    assert ended.ending is Ending.SUCCEEDED, ended
    assert world.show("honest.txt") == "honest"


@pytest.mark.parametrize("how", [SPOILED["no .git"], "rm README.md; mkfifo README.md"])
def test_what_was_not_committed_is_set_aside_as_a_patch_and_the_run_says_so(world: World, how: str) -> None:
    spoil(world, how)
    assert "+precious" in kept(world)
    kinds = {one.kind for one in world.of("ArtifactKept", NEXT) if one.name == "set-aside.patch"}
    assert kinds == {SET_ASIDE}
    said = [one.text for one in world.of("Progressed", NEXT)]
    assert any("made again" in text and "set-aside.patch" in text for text in said), said


def test_a_place_over_its_share_is_made_anew(world: World) -> None:
    spoil(
        world, "head -c 20000000 /dev/zero > ~/big", resources=Resources().model_copy(update={"disk_mb": 16})
    )
    assert world.ended(NEXT).ending is Ending.SUCCEEDED
    assert not list(Path(world.places.workspaces).glob("*/home/big"))


def test_a_place_that_is_made_anew_has_no_file_of_the_agents_home(world: World) -> None:
    """Set-up runs in that home, with the rights that the policy gives to its code and not to an agent's."""
    poison = (
        "mkdir -p ~/bin ~/.cache/locked; touch ~/.npmrc ~/bin/python3 ~/usercustomize.py ~/.cache/locked/x;"
        " chmod 0 ~/.cache/locked; rm -rf .git"
    )
    spoil(world, poison)
    assert world.ended(NEXT).ending is Ending.SUCCEEDED
    homes = list(Path(world.places.workspaces).glob("*/home"))
    names = {path.name for home in homes for path in home.rglob("*")}
    assert names & {".npmrc", "bin", "python3", "usercustomize.py", ".cache", "locked"} == set()


def test_a_place_that_nobody_spoiled_stays_as_it_is(world: World) -> None:
    spoil(world, "echo more > more.txt")
    assert world.ended(NEXT).ending is Ending.SUCCEEDED
    assert world.show("more.txt") == "more"
    assert kept(world) == ""
