"""What was committed is there after the power went, and Cardinal goes on from what is: also with files."""

import ast
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from ledger.ids import CardId
from ledger.lifecycle.in_place import put_in_place
from runner.artifacts.folder import FolderStore
from runner.git.mirror import Mirror
from runner.workspaces import card_folder
from runner.workspaces.card_folder import Folder
from tests.faults import cells, playing, record
from tests.faults.cells import Cell
from tests.faults.ending import Ending
from tests.faults.nights import each_story_tonight, of_night
from tests.faults.points import CUTS, Fault
from tests.faults.power import Disk, require_disks
from tests.house.source import sources
from tests.runner.world import FileRemote

QUIETEST = 5  # cuts in one play of the quiet story, which every change plays
pytestmark = pytest.mark.timeout(1_800)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    require_disks()
    disk = Disk(tmp_path / "disk", tmp_path)
    yield disk
    disk.detach()


def cut(disk: Disk) -> None:
    disk.cut()
    disk.restart()


def test_the_disk_loses_what_was_not_synced(disk: Disk) -> None:
    (disk.place / "kept").write_text("all of it")
    disk.sync()
    (disk.place / "lost").write_text("all of it")
    (disk.place / "kept").write_text("something else")
    cut(disk)
    assert [(file.name, file.read_text()) for file in disk.place.iterdir()] == [("kept", "all of it")]


def test_a_file_in_the_store_is_whole_after_a_power_cut(disk: Disk) -> None:
    name = "ab" * 32
    store = FolderStore(disk.place / "store")
    store.put(BytesIO(b"x" * 100_000), name)
    mark = store.mark()
    cut(disk)
    found = FolderStore(disk.place / "store", mark).get(name)
    assert found is not None
    with found:
        assert found.readall() == b"x" * 100_000


def test_a_folder_has_its_name_with_all_files_or_not_at_all(disk: Disk) -> None:
    draft = disk.place / "draft"
    (draft / "inner").mkdir(parents=True)
    (draft / "inner" / "file").write_text("all of it")
    put_in_place(draft, disk.place / "done")
    cut(disk)
    assert (disk.place / "done" / "inner" / "file").read_text() == "all of it"


def test_a_mirror_that_was_made_is_a_repository_after_a_power_cut(disk: Disk) -> None:
    def mirror() -> Mirror:
        return Mirror(disk.place / "mirrors", "acme/shop", FileRemote("file:///nowhere"), lambda: None)

    mirror().make_whole()
    cut(disk)
    assert mirror().query("rev-parse", "--git-dir").strip() == "."


def test_files_from_before_the_machine_was_started_anew_are_no_claims(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot_id = tmp_path / "boot_id"
    monkeypatch.setattr(card_folder, "BOOT_ID", boot_id)
    boot_id.write_text("first\n")
    folder = Folder(tmp_path / "place", CardId("c"), 0, 0)
    folder.sign("r1-1", "r1-2")
    assert folder.read_signatures() == ("r1-1", "r1-2")
    boot_id.write_text("second\n")
    assert folder.read_signatures() == ()
    (folder.root / "claims").write_text("r1-1")  # as an older Cardinal wrote it
    assert folder.read_signatures() == ("r1-1",)


def _renames(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that give a finished file its name: `Path.replace` alone has one argument."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and not call.keywords:
            of_os = ast.unparse(call.func) in ("os.replace", "os.rename")
            if of_os or (call.func.attr == "replace" and len(call.args) == 1):
                yield ast.unparse(call)


def test_no_file_gets_its_name_before_it_is_synced() -> None:
    found = [
        f"{source.path}: {call}"
        for package in ("bot", "ledger", "runner")
        for source in sources(package)
        if not re.search(r"in_container|agents/scripted/player", source.path)  # they run beside an agent
        for call in _renames(source.tree)
    ]
    assert sorted(found) == [
        "bot/admin/clone/hooks.py: place.before.replace(place.path)",  # a person's, whole since long
        "bot/daemon/workers.py: current.replace(())",  # no files
        "bot/system/current_work.py: current.replace(before)",
        "bot/system/current_work.py: current.replace(names)",
        "ledger/lifecycle/in_place.py: draft.replace(place)",
    ]


def ending(usd: str, did: str = "did") -> Ending:
    return Ending(
        cards=(f"Cost $: {float(usd)}; Progress: {did}",),
        issues=(),
        pulls={},
        markers={},
        texts=(f"{did} 12k · ${usd} · …",),
        branches=(),
        checks={},
        status_updates=0,
        runs=(f"{{'state': '{did}', 'usd': '{usd}', 'turns': '2'}}",),
        moves=(),
        usd=usd,
        chain_is_whole=True,
        views_differ_from_replay=(),
        given_up=(),
        rules_failed=(),
    )


def test_what_a_power_cut_took_may_be_paid_again_and_nothing_else_differs() -> None:
    quiet = ending("0.50")
    assert quiet.differences(ending("0.90"), losses=1) == {}
    assert set(quiet.differences(ending("0.90"))) == {"cards", "texts", "runs", "usd"}
    for wrong in ("0.40", "1.01"):
        assert quiet.differences(ending(wrong), losses=1) == {"usd": ("0.50", wrong)}
    assert set(quiet.differences(ending("0.90", "lost"), losses=1)) == {"cards", "texts", "runs"}


def test_a_story_goes_on_after_power_cuts() -> None:
    require_disks()
    # Without reads: the recovery from one cut may have read what would be read at the next.
    points = [point for point in record.first_points()["quiet"] if not point.startswith("send:GET")]
    chosen = points[:: len(points) // QUIETEST]
    played = playing.play("quiet", dict.fromkeys(chosen, Fault.POWER_CUT))
    assert (len(played.struck), played.differences(playing.quiet("quiet"))) == (len(chosen), "")


@pytest.mark.soak(instead="tests/faults/test_power.py::test_a_story_goes_on_after_power_cuts")
@each_story_tonight
def test_every_story_goes_on_after_a_power_cut_at_every_point(story: str, night: int) -> None:
    require_disks()
    every: list[Cell] = list(cells.cells_of(story, playing.quiet(story).trace, CUTS))
    groups = of_night(cells.together(every, at_once=2), night)
    failures = [failure for group in groups for failure in cells.play_together(group)[0]]
    assert [str(failure) for failure in failures] == []
