"""What set-up and tools leave in a workspace is nobody's work: it is in no commit that leaves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ledger.states import Ending
from runner.checks import set_up
from runner.run.run_spec import ValidationSpec
from tests.runner.flows.test_hosts import ASK, folder
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.flows.test_travel import on
from tests.runner.world import BRANCH, CARD, World, checks, git

TRACKED = {"a.txt": "a\n", "gone.txt": "g\n", "old.txt": "o\n", "x": "x\n", "tool.sh": "#!/bin/sh\n"}
LEAVES = (
    "echo set-up >> a.txt; mkdir gen; echo gen > gen/out.txt; rm gone.txt; git mv old.txt 'n ü\"w.txt'",
    "rm x; mkdir x; echo y > x/y; chmod +x tool.sh; ln -s a.txt link; git clone -q . inner",
)
MINE = {"edit": {"path": "mine.txt", "content": "mine\n"}}
ADD_ALL = {"run": "git add -Af && git commit -qm all"}


def changed(world: World) -> set[str]:
    """Return the names of files in the published branch, on its way as well."""
    listed = git(world.origin, "log", "--format=", "--name-only", "--no-renames", f"main..{BRANCH}")
    return set(listed.splitlines())


def repo(world: World) -> Path:
    return world.places.workspaces / CARD / "repo"


def done(
    world: World,
    *work: Mapping[str, Any],
    setup: tuple[str, ...] = LEAVES,
    **sections: list[Mapping[str, Any]],
) -> None:
    world.commit(TRACKED)
    world.scenario(plan=[PLAN], work=[*work, FINISH], **sections)
    world.run(world.spec(validation=checks(setup=setup)))


def test_what_set_up_left_is_not_published_and_stays_where_it_is(world: World) -> None:
    done(world, MINE)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt"}
    assert (repo(world) / "a.txt").read_text() == "a\nset-up\n"
    assert (repo(world) / "x/y").exists()


def test_an_agent_that_commits_everything_publishes_its_own_files_alone(world: World) -> None:
    done(world, MINE, ADD_ALL, {"edit": {"path": "b.txt", "content": "b\n"}}, ADD_ALL)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt", "b.txt"}
    assert world.show("a.txt") == "a"
    assert (repo(world) / "gen/out.txt").exists()


def test_what_the_agent_changed_after_set_up_is_its_work_as_it_stands(world: World) -> None:
    work = [{"run": "echo agent >> a.txt; echo agent >> gen/out.txt; rm link; echo back > gone.txt"}]
    done(world, *work)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"a.txt", "gen/out.txt", "gone.txt"}
    assert world.show("a.txt") == "a\nset-up\nagent"


@pytest.mark.parametrize("commits", ["", " && git add -A && git commit -qm mine"])
def test_work_where_set_up_has_a_folder_in_place_of_a_file_is_not_lost(world: World, commits: str) -> None:
    done(world, {"run": f"echo mine > x/mine.txt{commits}"}, setup=("rm x; mkdir x; echo y > x/y",))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"x", "x/mine.txt"}
    assert (repo(world) / "x/y").exists()


def test_a_file_of_the_agents_where_set_up_has_a_link_in_place_of_a_folder_is_not_lost(world: World) -> None:
    world.commit({"d/a.txt": "a\n"})
    work = {"run": "rm d; echo mine > d; git add -A; git commit -qm mine"}
    done(world, work, setup=("rm -r d; ln -s . d",))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"d", "d/a.txt"}
    assert world.show("d") == "mine"


def test_work_with_a_history_of_its_own_gets_no_file_of_set_up(world: World) -> None:
    steps = (
        "git checkout -q --orphan own && git rm -rfq --cached . && git add mine.txt && git commit -qm own",
        f"git checkout -qf {BRANCH} && git merge -q --allow-unrelated-histories -m Join own",
    )
    done(world, MINE, {"run": " && ".join(steps)}, setup=("echo set-up >> a.txt",))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt"}


def test_a_record_of_set_up_that_the_agent_made_itself_names_no_files(world: World) -> None:
    made = "git update-ref refs/cardinal/set-up $(git commit-tree -m mine HEAD^{tree})"
    done(world, MINE, {"run": made}, setup=("echo set-up >> a.txt",))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt", "a.txt"}


def test_a_lock_file_that_the_agent_made_anew_is_published_with_its_manifest(world: World) -> None:
    """`npm install` in set-up touches the lock file; the agent adds a package, and installs again."""
    install = "(cat manifest; echo resolved) > lock"
    world.commit({"manifest": "one\n", "lock": "one\n"})
    done(world, {"run": f"echo two >> manifest; {install}"}, setup=(install,))
    assert changed(world) == {"manifest", "lock"}
    assert world.show("lock") == "one\ntwo\nresolved"


def test_commits_of_nothing_but_set_up_are_no_work_and_the_run_says_why(world: World) -> None:
    done(world, ADD_ALL)
    assert world.ended().reason == "no_changes"
    assert "take the command that makes them out of `setup`" in world.ended().detail


def test_commits_of_set_up_itself_are_not_published(world: World) -> None:
    commit = "git -c user.name=a -c user.email=a@b commit -qm made"
    done(world, MINE, setup=(f"echo a > made && git add made && {commit} && git checkout -qb other",))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt"}


def test_checks_find_what_set_up_left_also_after_they_were_tidied_up(world: World) -> None:
    world.commit(TRACKED)
    look = (
        "test -f gen/out.txt && grep -q set-up a.txt && echo x > report.xml && echo x >> a.txt && rm -r gen"
    )
    world.scenario(
        plan=[PLAN],
        work=[MINE, FINISH],
        repair=[{"run": "test -f gen/out.txt && grep -q set-up a.txt && touch fixed.txt"}, FINISH],
    )
    fast = (f"{look} && test -f fixed.txt",)
    world.run(world.spec(validation=ValidationSpec(LEAVES, fast, ("true",))))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt", "fixed.txt"}


def test_a_base_that_changed_the_same_files_meanwhile_is_in_nobodys_way(world: World) -> None:
    world.commit(TRACKED)
    world.scenario(plan=[PLAN], work=[MINE, ADD_ALL, {"fail": 3}])
    world.run(world.spec(validation=checks(setup=LEAVES)))
    world.commit({"a.txt": "base\n", "gen/out.txt": "base\n"})
    world.lease = None
    world.scenario(plan=[PLAN], work=[{"edit": {"path": "b.txt", "content": "b\n"}}, ADD_ALL, FINISH])
    world.run(world.spec(run_id="r2", attempt=2, validation=checks(setup=LEAVES)))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert changed(world) == {"mine.txt", "b.txt"}
    assert world.show("a.txt") == "base"
    assert (repo(world) / "a.txt").read_text() == "base\n"
    assert (repo(world) / "x/y").exists()


def test_an_unfinished_merge_of_a_base_with_a_file_as_set_up_makes_it_undoes_nothing(world: World) -> None:
    world.commit(TRACKED)
    merge = "git checkout -q -- . && git add mine.txt && git commit -qm mine; git merge origin/main"
    world.scenario(plan=[PLAN], work=[MINE, ASK, {"run": f"{merge}; echo both > mine.txt"}, FINISH])
    spec = world.spec(validation=checks(setup=("echo set-up >> a.txt; echo gen > gen.txt",)))
    assert world.run(spec).why == "question"
    world.commit({"a.txt": "a\nset-up\n", "mine.txt": "theirs\n"})
    world.answer(spec, "Moin")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert git(world.origin, "diff", "--name-only", "main", BRANCH).split() == ["mine.txt"]


def test_a_person_who_pushes_a_file_as_set_up_makes_it_is_not_undone(world: World) -> None:
    world.commit(TRACKED)
    world.scenario(plan=[PLAN], work=[MINE, ADD_ALL, FINISH])
    setup = checks(setup=LEAVES)
    world.run(world.spec(validation=setup))
    world.commit({"a.txt": "a\nset-up\n"}, branch=BRANCH)
    world.lease = None
    world.scenario(plan=[PLAN], revise=[{"edit": {"path": "b.txt", "content": "b\n"}}, ADD_ALL, FINISH])
    world.run(world.spec(run_id="r2", attempt=2, kind="revision", validation=setup))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert changed(world) == {"mine.txt", "a.txt", "b.txt"}
    assert world.show("a.txt") == "a\nset-up"


def test_a_persons_commit_carries_nothing_of_set_up_when_the_agent_rebases_it(world: World) -> None:
    world.commit(TRACKED)
    setup = checks(setup=("echo set-up >> a.txt",))
    world.scenario(plan=[PLAN], work=[MINE, FINISH])
    world.run(world.spec(validation=setup))
    world.commit({"theirs.txt": "theirs\n"}, branch=BRANCH)
    world.lease = None
    steps = (
        "git checkout -qf --detach HEAD~1 && echo set-up >> a.txt && git commit -qam mine",
        f"git cherry-pick {BRANCH} && git checkout -qB {BRANCH}",
    )
    world.scenario(plan=[PLAN], revise=[{"run": " && ".join(steps)}, FINISH])
    world.run(world.spec(run_id="r2", attempt=2, kind="revision", validation=setup))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert changed(world) == {"mine.txt", "theirs.txt"}


@pytest.mark.parametrize("commits", [[], [ADD_ALL]])
def test_a_run_that_goes_on_on_another_host_publishes_what_set_up_left_on_neither(
    world: World, commits: list[Mapping[str, Any]]
) -> None:
    leaves = "echo set-up > a.txt; mkdir -p gen; echo gen > gen/out.txt; rm -f gone.txt; date +%N > stamp"
    world.commit(TRACKED)
    world.scenario(plan=[PLAN], work=[MINE, *commits, ASK, ADD_ALL, FINISH])
    spec = world.spec(validation=checks(setup=[leaves]))
    assert world.run(on(world, spec, "b")).why == "question"
    world.answer(on(world, spec, "c"), "Moin")
    assert (folder(world, "c") / "repo/gen/out.txt").exists()
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert changed(world) == {"mine.txt"}


def test_work_that_is_published_early_has_nothing_of_set_up(world: World) -> None:
    world.commit(TRACKED)
    world.scenario(plan=[PLAN], work=[MINE, ADD_ALL, ASK, FINISH])
    world.run(world.spec(early=True, validation=checks(setup=LEAVES)))
    assert changed(world) == {"mine.txt"}


def test_a_set_up_that_leaves_too_much_says_what_to_do(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(set_up, "MAX_FILES", 2)
    done(world, MINE)
    assert world.ended().reason == "repository"
    assert "name their folders in .gitignore" in world.ended().detail


def test_what_tools_leave_is_not_published_unless_the_repository_keeps_its_like(world: World) -> None:
    tag = "Signature: 8a477f597d28d172789f06886806bc55"
    leave = (
        "mkdir -p target/debug pkg/x.egg-info .ruff_cache node_modules coverage/lcov-report tests/__pycache__"
        f" && echo '{tag}' > target/CACHEDIR.TAG && echo x | tee target/debug/a .coverage app.tsbuildinfo"
        " pkg/x.egg-info/PKG-INFO .ruff_cache/x node_modules/new.js coverage/lcov-report/i.html"
        " tests/__pycache__/a.pyc"
    )
    world.commit({"node_modules/kept.js": "kept\n"})
    done(world, MINE, {"run": leave}, setup=())
    assert changed(world) == {"mine.txt", "node_modules/new.js"}
