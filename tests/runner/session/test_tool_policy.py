"""What the policy denies cannot be done; what it grants and nobody can give is refused in a sentence."""

import shutil

import pytest

from ledger.states import Ending
from runner.errors import WorkspaceError
from runner.run.run_spec import ToolSpec
from runner.workspaces import load
from runner.workspaces.contract import Tenancy
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import CARD, World, git

NOTHING = {"finish": {"done": "Looked only.", "nothing_to_do": True}}


def test_an_agent_that_may_not_edit_finds_a_read_only_repository(world: World) -> None:
    world.scenario(plan=[PLAN], work=[{"run": "echo x > hello.txt"}, NOTHING])
    world.run(world.spec(tools=ToolSpec(edit="deny")))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [used.ok for used in world.of("ToolUsed")] == [False]


def test_an_agent_that_may_not_commit_edits_and_cardinal_commits(world: World) -> None:
    tricks = {"run": "mv .git gone || rm -rf .git || echo evil > .git/config || git commit -qam mine"}
    world.scenario(plan=[PLAN], work=[EDIT, {"commit": "Mine"}, tricks, FINISH])
    world.run(world.spec(tools=ToolSpec(commit="deny")))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert [(used.tool, used.ok) for used in world.of("ToolUsed")] == [
        ("edit", True),
        ("commit", False),
        ("run", False),
    ]
    assert git(world.origin, "log", "--format=%s", "main..cardinal/12-hello") == "Work of run r1 on #12"


def test_a_git_folder_that_became_a_link_is_not_shown(world: World) -> None:
    workspace = load("local").open(world.places, Tenancy(CARD))
    (world.places.workspaces / "PVTI_1" / "repo" / ".git").symlink_to(world.root)
    with pytest.raises(WorkspaceError, match="no folder"):
        workspace.start(("true",), env={}, writable=True, cap_bytes=1000, commits=False)


@pytest.mark.parametrize("network", ["list", "full"])
def test_a_network_that_the_workspace_cannot_give_is_refused_before_anything_starts(
    world: World, network: str
) -> None:
    shutil.rmtree(world.places.mirrors)
    world.run(world.spec(tools=ToolSpec(network=network)))
    assert world.ended().reason == "spawn_failed"
    assert f"`network: {network}`" in world.ended().detail
    assert "change `tools: {network: …}` of the column" in world.ended().detail
    assert not world.places.mirrors.exists()


def test_an_agent_that_is_not_there_is_a_sentence_with_a_way_out(world: World) -> None:
    world.run(world.spec(agent="clyde"))
    assert world.ended().detail == (
        "there is no agent called 'clyde' here, only claude, codex, copilot, gemini, goose, kimi, opencode,"
        " qwen, scripted: correct the name (for a column, that is `agent:` in .github/cardinal.yml), then"
        " retry"
    )


def test_an_agent_that_is_not_in_this_kind_of_workspace_is_a_sentence_with_a_way_out(world: World) -> None:
    world.run(world.spec(agent="claude"))
    assert world.ended().reason == "spawn_failed"
    assert world.ended().detail == (
        "claude works in a docker workspace, and this Cardinal uses local: start a Docker engine and run"
        " `cardinal images`, or choose another agent for the column, then retry"
    )
