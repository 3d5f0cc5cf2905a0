"""A board as one file: it comes into another clone whole, or not at all, whoever has written the file."""

import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from bot.admin.trial import carried, trial
from bot.cli import main
from forge.portable.saved import SavedForge
from forge.portable.world import Wanted, build
from forge.store import Store
from ledger.events.board import CardExplained
from ledger.ids import CardId
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from rules.policy import schema
from tests.bot.admin.clone.conftest import every_byte
from tests.house.source import ROOT
from tests.ledger.samples import NOW
from tests.runner.world import git
from tests.waiting import until


@pytest.fixture(scope="module")
def exported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of a board with a card, an event and an artifact; it lies beside its clone `shop`."""
    clone = shutil.copytree(made, tmp_path_factory.mktemp("exported") / "shop", symlinks=True)
    place = trial.find(clone, "main")
    trial.write(place, "scripted", None, {})
    (place.folder / "export/of-a-killed-one").mkdir(parents=True)
    wanted = Wanted.of((place.folder / trial.ANSWERS).read_text())
    store = Store(place.folder / "forge")
    world = build(store, wanted)
    (repo,) = (each for each in store.repos.all() if each.name == clone.name)
    store.repos.git(repo).run("fetch", "--quiet", str(clone), "+main:refs/heads/main")
    SavedForge(place.folder / "forge").write(store, world, {})
    (place.folder / "data").mkdir()
    engine = open_ledger(f"sqlite:///{place.folder / 'data/ledger.db'}")
    with event_store.writing(engine) as db:
        event_store.append(db, CardExplained(CardId("PVTI_1"), "it waits"), at=NOW)
    engine.dispose()
    kept = place.folder / "artifacts/ab" / f"ab{'0' * 62}"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"evidence")
    file = clone.parent / "board.cardinal"
    carried.pack_board(place, file)
    return file


@pytest.fixture
def other(clone: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "--quiet", "--branch", "main", str(clone), "elsewhere")
    return tmp_path / "elsewhere"


def test_a_board_comes_over_whole_and_without_its_secrets(exported: Path, other: Path) -> None:
    clone = exported.with_name("shop")
    (other / ".cardinal.import/of-a-killed-one").mkdir(parents=True)
    invoked = CliRunner().invoke(main, ["import", str(exported), "-C", str(other)])
    assert (invoked.exit_code, "read it, then start `cardinal try`" in invoked.output) == (0, True)
    place = trial.find(other, "")
    assert (place.is_new, place.is_from_here(), place.answers()["git"]) == (False, False, str(other / ".git"))
    opened = SavedForge(place.folder / "forge").read()
    assert opened is not None
    store, world, _ = opened
    assert [getattr(item.content, "title", "") for item in world.project.items] == ["Say hello"]
    (repo,) = (each for each in store.repos.all() if each.name == clone.name)
    assert store.repos.git(repo).refs()["refs/heads/main"] == git(other, "rev-parse", "main")
    assert (place.folder / schema.FILE).read_text() == schema.schema_text()  # its policy names it
    engine = open_ledger(f"sqlite:///{place.folder / 'data/ledger.db'}")
    with event_store.reading(engine) as db:
        assert event_store.last_seq(db) == 1
    engine.dispose()
    assert next(place.folder.glob("artifacts/*/*")).read_bytes() == b"evidence"
    before = SavedForge(clone / ".cardinal/forge").load()[1]
    text = b"".join(zipfile.ZipFile(exported).read(name) for name in zipfile.ZipFile(exported).namelist())
    for secret in (before.private_key, before.app.webhook_secret, before.app.client_secret):
        assert secret.encode() not in text
    assert world.private_key not in ("", before.private_key)
    assert git(other, "status", "--porcelain") == ""


KILLS = 20  # of exports, and as many of imports


def killed(seconds: random.Random, folder: Path, begun: Path, *words: str) -> bool:
    """Start the command and kill it at some moment after `begun` is there; return whether it was killed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = (sys.executable, "-P", "-m", "bot.cli", *words)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet) as process:
        until(lambda: process.poll() is not None or begun.exists(), "it has begun", every_s=0)
        try:
            process.wait(seconds.uniform(0, 0.7))
        except subprocess.TimeoutExpired:
            process.kill()
        return process.wait() == -signal.SIGKILL


@pytest.mark.soak(
    instead="tests/bot/admin/trial/test_carried.py::test_a_board_comes_over_whole_and_without_its_secrets"
)
@pytest.mark.timeout(900)
def test_what_is_killed_leaves_nothing_half_made_and_the_next_is_whole(exported: Path, other: Path) -> None:
    clone, again = exported.with_name("shop"), exported.with_name("again.cardinal")
    seconds = random.Random(14)
    was_killed = []
    for _ in range(KILLS):
        was_killed.append(killed(seconds, clone, clone / ".cardinal/export", "export", str(again)))
        assert not again.exists() or not was_killed[-1] or zipfile.ZipFile(again).testzip() is None
        again.unlink(missing_ok=True)
        was_killed.append(killed(seconds, other, other / ".cardinal.import", "import", str(exported)))
        assert git(other, "status", "--porcelain") == ""
        if (other / ".cardinal").exists():  # it came just before the end, so it is whole
            assert SavedForge(other / ".cardinal/forge").read() is not None
            shutil.rmtree(other / ".cardinal")
    assert sum(was_killed) > KILLS / 2
    for folder, args in ((clone, ("export", str(again))), (other, ("import", str(exported)))):
        invoked = CliRunner().invoke(main, [*args, "-C", str(folder)])
        assert invoked.exit_code == 0, invoked.output
    assert zipfile.ZipFile(again).namelist() == zipfile.ZipFile(exported).namelist()
    assert SavedForge(other / ".cardinal/forge").read() is not None
    left = {path.name for path in (*clone.glob(".cardinal/*"), *other.glob(".*"), *again.parent.glob("*.p*"))}
    assert left.isdisjoint({"export", ".cardinal.import", "again.cardinal.partial"})


def test_a_place_that_has_a_board_is_refused(exported: Path, other: Path) -> None:
    (other / ".cardinal").mkdir()
    (other / ".cardinal/own").touch()
    invoked = CliRunner().invoke(main, ["import", str(exported), "-C", str(other)])
    assert (invoked.exit_code, "is not empty: delete it first" in invoked.output) == (2, True)


def rewritten(file: Path, change: Callable[[dict[str, bytes]], Any]) -> Path:
    """Write the export with other files, and digests that fit them."""
    with zipfile.ZipFile(file) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name != "manifest.json"}
    change(files)
    sums = {name: sha256(data).hexdigest() for name, data in files.items()}
    made = file.with_name("hostile.cardinal")
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr("manifest.json", json.dumps({"format": 1, "sha256": sums}))
    return made


class Running:
    def __reduce__(self) -> tuple[Any, ...]:
        return subprocess.run, (("touch", "/ran"),)


def led_out(files: dict[str, bytes]) -> None:
    state = pickle.loads(files["state"])
    repo = state[0].repos.all()[0]
    files["git/x.bundle"] = files[f"git/{repo.name}.bundle"]
    repo.name = "../../../x"
    files["state"] = pickle.dumps(state)


def with_trigger(files: dict[str, bytes]) -> None:
    import sqlite3
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "a.db"
        file.write_bytes(files["ledger.db"])
        db = sqlite3.connect(file)
        db.execute("CREATE TRIGGER t AFTER INSERT ON cursors BEGIN DELETE FROM outbox; END")
        db.commit()
        db.close()
        files["ledger.db"] = file.read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda files: files.update({"../out": b""}), "it contains a name that no export has"),
        (
            lambda files: files.update({"git/x.git/hooks/update": b""}),
            "it contains a name that no export has",
        ),
        (lambda files: files.update(state=pickle.dumps(Running())), "is nothing that a forge keeps"),
        (led_out, "has a name that none can have"),
        (with_trigger, "it has a trigger, 't'"),
        (lambda files: files.pop("try.json"), "is not a Cardinal export"),
        (lambda files: files.update({"try.json": b'{"name": "../x"}'}), "its name is not valid"),
        (lambda files: files.update({"git/shop.bundle": b"torn"}), "cannot be exported"),
    ],
)
def test_a_hostile_file_makes_nothing(
    exported: Path, other: Path, change: Callable[[dict[str, bytes]], Any], said: str
) -> None:
    before = every_byte(other)
    invoked = CliRunner().invoke(main, ["import", str(rewritten(exported, change)), "-C", str(other)])
    assert (invoked.exit_code, said in invoked.output) == (2, True), invoked.output
    assert every_byte(other) == before


def test_a_byte_that_changed_on_the_way_is_noticed(exported: Path, other: Path) -> None:
    data = bytearray(exported.read_bytes())
    data[len(data) // 3] ^= 1
    torn = exported.with_name("torn.cardinal")
    torn.write_bytes(data)
    invoked = CliRunner().invoke(main, ["import", str(torn), "-C", str(other)])
    assert (invoked.exit_code, "is incomplete" in invoked.output) == (2, True), invoked.output
    assert not (other / ".cardinal").exists()
