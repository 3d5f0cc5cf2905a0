"""A monorepo's checks by path: whatever a commit changes, the checks of its deepest path see it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.states import Ending
from runner.checks.by_path import ROOT, covering, select_checks
from runner.run.run_spec import PathSpec, ValidationSpec
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import World, limited

API = PathSpec("services/api", "services/api", ("make deps",), ("lint",), ("test-api",))
WEB = PathSpec("web", "web", (), ("test-web",))
ALL = PathSpec("services", ROOT, (), (), ("test-services",))
OWN = ValidationSpec(("prepare",), ("compile",), ("test",), definition="d", paths=(API, WEB, ALL))
HERE = frozenset({ROOT, "services", "services/api", "web"})
IN_API = "cd services/api || exit; "
IN_WEB = "cd web || exit; "


@pytest.mark.parametrize(
    ("changed", "covers", "setup", "fast", "full"),
    [
        (["README.md"], [ROOT], [], ["compile"], ["test"]),
        (["services/api/a.py"], ["services/api"], ["make deps"], ["lint"], ["test-api"]),
        (["services/other.py"], ["services"], [], [], ["test-services"]),
        (["web/a.js"], ["web"], [], ["test-web"], []),  # fast checks alone are the gate
        (["web"], ["web"], [], ["test-web"], []),  # a file, or link, in the folder's place
        (["website/a.js", "Web/a.js"], [ROOT], [], ["compile"], ["test"]),
        ([], [ROOT], [], ["compile"], ["test"]),
        (
            ["web/a.js", "services/api/a.py", "Makefile"],
            [ROOT, "services/api", "web"],
            ["make deps"],
            ["compile", "lint"],
            ["test", "test-api", "test-web"],
        ),
    ],
)
def test_changed_files_decide_which_checks_run(
    changed: list[str], covers: list[str], setup: list[str], fast: list[str], full: list[str]
) -> None:
    placed = {"make deps": IN_API, "lint": IN_API, "test-api": IN_API, "test-web": IN_WEB}
    got = select_checks(OWN, changed, HERE)
    assert list(got.covers) == covers
    for lines, named in ((got.setup, ["prepare", *setup]), (got.fast, fast), (got.full, full)):
        assert list(lines) == [placed.get(line, "") + line for line in named]
    assert (got.definition, got.waived, got.paths) == ("d", False, ())


@pytest.mark.parametrize(("changed", "waived"), [(["a"], True), (["web/a"], False), (["a", "web/a"], False)])
def test_checks_that_are_waived_are_not_those_of_paths(changed: list[str], waived: bool) -> None:
    none = replace(OWN, fast=(), full=(), waived=True)
    got = select_checks(none, changed, HERE)
    assert (got.waived, got.fast) == (waived, () if waived else (f"{IN_WEB}test-web",))


@pytest.mark.parametrize("gone", ["services", ROOT])
def test_a_path_whose_folder_is_gone_fails_and_says_so(gone: str) -> None:
    (line,) = select_checks(OWN, ["services/a"], HERE - {gone}).full
    assert line.startswith(f"echo '{gone} is not a folder")
    assert line.endswith("exit 1")


NAMES = st.lists(st.sampled_from(["a", "b", "ab", "A"]), min_size=1, max_size=4).map("/".join)


@given(st.lists(NAMES, max_size=6), st.sets(NAMES, max_size=5))
def test_each_changed_file_is_covered_by_its_deepest_path_or_the_roots(
    changed: list[str], paths: set[str]
) -> None:
    covered = covering(changed, paths)
    for file in changed:
        parts = file.split("/")
        above = ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
        assert next((folder for folder in above if folder in paths), ROOT) in covered
    assert covered
    assert covered <= paths | {ROOT}


def test_the_gate_asks_git_which_paths_a_commit_changes_and_leaves_out_no_side_of_a_move(
    world: World,
) -> None:
    files = {"services/api/a.py": "print(1)\n" * 30, "web/index.js": "1\n"}
    world.commit(files)
    move = {"run": "git mv services/api/a.py web/a.py && git commit -qm 'Move it'"}
    keep = {"edit": {"path": "services/api/b.py", "content": "2\n"}}
    world.scenario(plan=[PLAN], work=[keep, {"commit": "Keep"}, move, FINISH])
    api, web = replace(API, setup=("true",), fast=(), full=("ls b.py",)), replace(WEB, fast=("ls a.py",))
    spec = ValidationSpec((), (), ("false",), paths=(api, web))
    world.run(world.spec(validation=spec))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.only("ValidationEnded").paths == ("services/api", "web")
    assert [check.command for check in world.of("CommandChecked")] == [
        f"{IN_API}true",
        f"{IN_API}ls b.py",
        f"{IN_WEB}ls a.py",
    ]


def test_a_link_in_a_paths_place_does_not_stand_in_for_it(world: World) -> None:
    world.commit({"services/api/a.py": "1\n", "easy/a.py": "1\n"})
    link = {"run": "git rm -qr services/api && ln -s ../easy services/api && git add . && git commit -qm x"}
    world.scenario(plan=[PLAN], work=[link, FINISH])
    spec = ValidationSpec((), (), ("true",), paths=(replace(API, setup=(), fast=(), full=("true",)),))
    world.run(world.spec(validation=spec, limits=limited(iterations=1)))
    assert "services/api is not a folder at this commit" in world.of("CommandChecked")[-1].tail
    assert world.of("BranchPushed") == []
