"""A run without a repository: its report and its files are the result, and GitHub is not asked."""

from typing import Any

from ledger.events.run import RunEnded
from ledger.events.workspace import FolderRestored
from ledger.ids import CardId, RunId
from ledger.rows.limit_answers import answer_question
from ledger.states import Ending
from runner.artifacts.store import store_of
from runner.phases.keep_files import MAX_KEPT
from runner.run.run_spec import Guards, RunSpec, ValidationSpec
from tests.runner.flows.test_kill import die_at, wait_for_its_end
from tests.runner.flows.test_story import PLAN
from tests.runner.world import CARD, World, checks, git

FOLDER = f"scratch/{CARD}"
NOTES = {"edit": {"path": "notes.md", "content": "# Found\n"}}
FINISH = {"finish": {"done": "Looked it up."}}


def scratch(world: World, *steps: Any, **changes: Any) -> RunSpec:
    world.scenario(plan=[PLAN], work=[*steps, FINISH])
    changes = {"mode": "scratch", "folder": FOLDER, "folder_mb": 1, "validation": checks()} | changes
    return world.spec(**changes)


def kept(world: World, run_id: str = "r1") -> dict[str, bytes | None]:
    store = store_of(world.places)
    return {
        one.name: store.read(one.digest) for one in world.of("ArtifactKept", run_id) if one.kind == "file"
    }


def branches(world: World) -> list[str]:
    return git(world.origin, "for-each-ref", "--format=%(refname)").splitlines()


def test_report_and_files_are_the_result_and_nothing_of_it_is_on_github(world: World) -> None:
    world.run(scratch(world, {"run": "ls -A > listed; ls"}, NOTES))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert kept(world) == {"notes.md": b"# Found\n", "listed": b".git\nlisted\n"}
    assert world.only("FinalReported").done == "Looked it up."
    assert branches(world) == ["refs/heads/main"]
    assert set(world.kinds()).isdisjoint({"BranchExported", "BranchPushed", "ValidationWaived"})


def test_a_report_alone_is_a_result_and_the_repository_is_not_asked_for(world: World) -> None:
    world.origin.rename(world.origin.with_name("away.git"))
    world.run(scratch(world))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert (kept(world), world.only("FolderKept").files) == ({}, 0)


def test_the_columns_checks_judge_the_files_and_the_agent_repairs_them(world: World) -> None:
    repair = [{"edit": {"path": "notes.md", "content": "# Found\n\nSource: a book\n"}}]
    gate = ValidationSpec(full=("grep -q Source notes.md",), definition="d")
    spec = scratch(world, NOTES, validation=gate)
    world.scenario(plan=[PLAN], work=[NOTES, FINISH], repair=repair)
    world.run(spec)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    ended = [(one.tier, one.passed, one.clean) for one in world.of("ValidationEnded")]
    assert ended == [("full", False, True), ("full", True, True)]
    assert b"a book" in (kept(world)["notes.md"] or b"")


def test_checks_fail_where_the_agent_left_nothing(world: World) -> None:
    world.run(scratch(world, validation=ValidationSpec(full=("test -s notes.md",), definition="d")))
    assert world.events()[-1].why == "limit"
    assert "test -s notes.md" in world.only("QuestionAsked").text


def test_the_next_run_of_the_card_continues_with_its_files_on_another_host_too(world: World) -> None:
    spec = scratch(world, NOTES, host="a")
    world.run(spec)
    for path in (world.places.mirrors, world.places.workspaces):
        path.rename(path.with_name(f"{path.name}-of-a"))
    again = {"edit": {"path": "more.md", "content": "more\n"}}
    world.lease = None
    world.run(scratch(world, {"run": "cat notes.md"}, again, run_id=RunId("r2"), kind="retry", host="b"))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert [used.ok for used in world.of("ToolUsed", "r2")] == [True, True]
    assert kept(world, "r2") == {"notes.md": b"# Found\n", "more.md": b"more\n"}
    assert world.only("FolderKept", "r2").files_changed == 1


def test_an_empty_place_comes_back_where_the_store_lost_the_files(world: World) -> None:
    world.run(scratch(world, NOTES, host="a"))
    for path in (world.places.mirrors, world.places.workspaces):
        path.rename(path.with_name(f"{path.name}-of-a"))
    store_of(world.places).remove(world.only("FolderKept").bundle)
    world.lease = None
    world.run(scratch(world, run_id=RunId("r2"), kind="retry", host="b"))
    assert (world.ended("r2").ending, kept(world, "r2")) == (Ending.SUCCEEDED, {})
    assert any("not in the store any more" in one.text for one in world.of("Progressed", "r2"))


def test_files_over_the_limit_are_not_kept_and_the_ending_says_what_to_do(world: World) -> None:
    world.run(scratch(world, {"run": "head -c 1100000 /dev/urandom > big.bin"}))
    ended = world.ended()
    assert (ended.ending, ended.reason) == (Ending.FAILED, "guardrail")
    assert "1.1 MB, and at most 1 MB are kept" in ended.detail
    assert world.of("FolderKept") == []


def test_a_secret_in_a_file_is_given_back_to_the_agent(world: World) -> None:
    key = "AKIA" + "Z7QK4NMX2PLD9WRT"
    leak = {"edit": {"path": "notes.md", "content": f'aws_access_key_id = "{key}"\n'}}
    spec = scratch(world, leak, guards=Guards({"secrets": "deny"}))
    undo = {"run": "git reset --quiet $(git rev-list --max-parents=0 HEAD)"}
    world.scenario(plan=[PLAN], work=[leak, FINISH], repair=[undo, NOTES])
    world.run(spec)
    assert world.only("GuardsJudged", newest=True).findings == ()
    assert [judged.findings[0].guard for judged in world.of("GuardsJudged")[:1]] == ["secrets"]
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()


def test_bytes_stay_as_they_are_and_links_and_pages_are_no_plain_files(world: World) -> None:
    lines = "printf '\\377\\000x' > raw.bin; ln -s /etc/passwd link; echo '<p>' > page.html"
    world.run(scratch(world, {"run": lines}))
    assert kept(world) == {"raw.bin": b"\xff\x00x"}
    assert [(one.name, one.kind) for one in world.of("ArtifactKept") if one.kind in ("file", "page")] == [
        ("page.html", "page"),
        ("raw.bin", "file"),
    ]


def test_only_so_many_files_become_artifacts_and_the_rest_is_named(world: World) -> None:
    world.run(scratch(world, {"run": "for n in $(seq 1 103); do echo $n > f$n; done"}))
    assert len(kept(world)) == MAX_KEPT
    assert [one.name for one in world.of("ArtifactDropped")] == ["3 more files"]
    assert world.only("FolderKept").files == 103


def test_a_killed_claim_is_followed_by_one_that_keeps_the_files_once(world: World) -> None:
    spec = scratch(world, NOTES)
    assert die_at(world, spec, "FolderKept", after=False)
    wait_for_its_end(world)
    world.again(spec, "reclaimed")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert kept(world) == {"notes.md": b"# Found\n"}
    assert len(world.of("FolderKept")) == 1


JOURNAL = "PVT_1/journal"


def journal(world: World, *steps: Any, run_id: str = "r1", card: str = CARD, **changes: Any) -> RunSpec:
    """Return the specification of a run of any card that works in the folder."""
    changes = {"folder": JOURNAL, "mode": "folder", "branch": "main", "base_branch": "main"} | changes
    return scratch(world, *steps, run_id=RunId(run_id), card_id=CardId(card), **changes)


def add(text: str) -> dict[str, str]:
    return {"run": f"echo {text} >> journal.md"}


def lines(world: World, run_id: str) -> list[str]:
    return (kept(world, run_id)["journal.md"] or b"").decode().split()


def test_a_folder_lives_on_from_card_to_card_and_only_what_a_run_changed_is_attached_to_it(
    world: World,
) -> None:
    world.run(journal(world, add("one"), NOTES))
    world.lease = None
    world.run(journal(world, add("two"), run_id="r2", card="PVTI_2"))
    assert world.ended("r2").ending is Ending.SUCCEEDED, world.ended("r2")
    assert (lines(world, "r2"), list(kept(world, "r2"))) == (["one", "two"], ["journal.md"])
    assert world.only("FolderKept", "r2").files == 2
    assert set(branches(world)) == {"refs/heads/main"}


def test_a_parked_run_takes_in_what_another_one_wrote_meanwhile(world: World) -> None:
    ask = {"ask": {"question": "Which?"}}
    first = journal(world, NOTES, ask)
    world.run(first)
    parked, world.lease = world.lease, None
    world.run(journal(world, add("two"), run_id="r2", card="PVTI_2"))
    world.scenario(plan=[PLAN], work=[NOTES, ask, FINISH])
    world.lease = parked
    world.answer(first, "This one")
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.only("FolderKept").files == 2


def test_what_two_runs_wrote_in_one_place_is_for_people_to_decide(world: World) -> None:
    ask = {"ask": {"question": "Which?"}}
    first = journal(world, add("one"), ask)
    world.run(first)
    parked, world.lease = world.lease, None
    world.run(journal(world, add("two"), run_id="r2", card="PVTI_2"))
    world.scenario(plan=[PLAN], work=[add("one"), ask, FINISH])
    world.lease = parked
    world.answer(first, "This one")
    asked = world.only("QuestionAsked", newest=True).text
    assert "The folder was changed meanwhile, by r2, and the run changed the same: journal.md." in asked
    world.write(answer_question(world.only("QuestionAsked", newest=True), by="ann", text="", code="stop"))
    world.write(RunEnded(first.run_id, Ending.CANCELLED, "cancelled", "", ""))
    world.lease = None
    world.run(journal(world, add("three"), run_id="r3", kind="retry"))
    assert lines(world, "r3") == ["two", "three"]
    assert [event.name for event in world.of("ArtifactKept", "r3") if event.kind == "set-aside"] == [
        "set-aside.patch"
    ]


def test_a_restored_snapshot_is_where_the_next_run_begins(world: World) -> None:
    for number, word in enumerate(("one", "two"), start=1):
        world.run(journal(world, add(word), run_id=f"r{number}", card=f"PVTI_{number}"))
        world.lease = None
    old = world.only("FolderKept", "r1")
    world.write(
        FolderRestored(CARD, JOURNAL, old.run_id, old.commit, old.bundle, old.files, old.size_bytes, "ann")
    )
    for path in (world.places.mirrors, world.places.workspaces):
        path.rename(path.with_name(f"{path.name}-before"))
    world.run(journal(world, add("three"), run_id="r3", card="PVTI_3"))
    assert lines(world, "r3") == ["one", "three"]


def test_a_folder_whose_blob_is_gone_is_not_begun_again_in_silence(world: World) -> None:
    world.run(journal(world, add("one")))
    for path in (world.places.mirrors, world.places.workspaces):
        path.rename(path.with_name(f"{path.name}-before"))
    store_of(world.places).remove(world.only("FolderKept").bundle)
    world.lease = None
    world.run(journal(world, add("two"), run_id="r2", card="PVTI_2"))
    ended = world.ended("r2")
    assert (ended.ending, ended.reason) == (Ending.FAILED, "repository")
    assert "as r1 left them, are not in the store of this host" in ended.detail


def test_one_folder_never_gets_the_files_of_another_though_one_card_worked_in_both(world: World) -> None:
    world.run(journal(world, NOTES))
    world.lease = None
    world.run(journal(world, add("two"), run_id="r2", folder="PVT_1::knowledge"))
    assert (list(kept(world, "r2")), world.only("FolderKept", "r2").files) == (["journal.md"], 1)


def test_a_history_that_is_too_large_begins_anew_and_the_files_stay(world: World) -> None:
    for number in range(1, 6):
        random = {"run": "head -c 990000 /dev/urandom > data.bin"}
        world.run(journal(world, random, run_id=f"r{number}", card=f"PVTI_{number}"))
        world.lease = None
    world.run(journal(world, {"run": "git rev-list --count HEAD > count"}, run_id="r6", card="PVTI_6"))
    assert int(kept(world, "r6")["count"] or b"") < 5
    assert world.only("FolderKept", "r6").files == 2
