"""`cardinal upgrade` as people type it: wheel, images, ledger and a run that waits; and the way back."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from forge.demo import launch
from ledger.states import Ending
from tests.house.source import ROOT
from tests.install.conftest import built as built  # fixtures
from tests.install.conftest import commit as commit
from tests.install.conftest import git, run
from tests.install.conftest import python as python
from tests.install.test_upgrade import ending, parked
from tests.waiting import until

MIGRATION = '''"""A change of the next version."""

from sqlalchemy import Connection


def up(db: Connection) -> None:
    """Add a table."""
    db.exec_driver_sql("CREATE TABLE next_version (id INTEGER PRIMARY KEY)")
'''
IMAGES_S = 1800.0


@pytest.fixture
def later(commit: str, tmp_path: Path) -> Path:
    """Return the wheel of a next version, whose ledger differs."""
    number = max(int(it.name[1:5]) for it in (ROOT / "ledger/lifecycle/migrations").glob("m0*.py")) + 1
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    changed = {
        "pyproject.toml": re.sub(r'^version = ".*"', 'version = "99.0"', text, count=1, flags=re.MULTILINE),
        f"ledger/lifecycle/migrations/m{number:04}_next.py": MIGRATION,
    }
    index = {"GIT_INDEX_FILE": str(tmp_path / "index")}
    git("read-tree", commit, **index)
    for name, content in changed.items():
        (tmp_path / "file").write_text(content, encoding="utf-8")
        blob = git("hash-object", "-w", str(tmp_path / "file"))
        git("update-index", "--add", "--cacheinfo", f"100644,{blob},{name}", **index)
    tree = git("commit-tree", git("write-tree", **index), "-m", "the next version")
    run("scripts/build", tree, tmp_path / "next")
    return next((tmp_path / "next").glob("*.whl"))


@contextmanager
def typed(scene: launch.Scene, log: Path, *words: str | Path) -> Iterator[None]:
    """Run an upgrade, and the Cardinal that it starts, until the block ends."""
    with (
        log.open("wb") as file,
        subprocess.Popen(
            words, cwd=scene.home, env=launch.own_environment(), stdout=file, stderr=file
        ) as group,
    ):
        try:
            yield
        finally:
            launch.stop(group)


@pytest.mark.timeout(2 * IMAGES_S)
@pytest.mark.soak(
    instead="tests/install/test_upgrade.py::test_a_run_that_waits_for_an_answer_outlives_an_upgrade_and_its_taking_back"
)
def test_one_command_upgrades_with_images_and_one_takes_it_back(
    built: Path, later: Path, python: Path, tmp_path: Path
) -> None:
    place, wheel = tmp_path / "place", next(built.glob("*.whl"))
    run(python, "-m", "venv", place)
    run(place / "bin/pip", "install", "--quiet", wheel, cwd=tmp_path, limit_s=IMAGES_S)
    (packages,) = place.glob("lib/python3*/site-packages")
    there, back = tmp_path / "there.log", tmp_path / "back.log"

    def copy() -> str | None:
        said = re.search(r"to go back, .* run `cardinal restore (\S+)", there.read_text())
        return said and said[1]

    def version() -> str:
        return run(place / "bin/cardinal", "--version", cwd=tmp_path)

    old = version()
    with parked(packages, tmp_path) as (scene, stage):
        with typed(scene, there, place / "bin/cardinal", "upgrade", later):
            kept = until(copy, "the new version says how to go back", IMAGES_S, 1.0)
            assert " 99.0 " in version()
            stage.team.say("alice", stage.number, "Everybody")
            stage.says("the run goes on with the answer", "The note is for Everybody")
            stage.sees("the run is done", Agent="work complete")
        assert ending(scene.home) == Ending.SUCCEEDED
        with typed(scene, back, place / "bin/cardinal", "upgrade", wheel, "--restore", kept):
            until(lambda: again(scene.home, back), "its run ends once more", IMAGES_S, 1.0)
        assert version() == old


def again(home: Path, log: Path) -> bool:
    """Tell whether the run of the restored ledger has succeeded."""
    assert "failed, see above" not in log.read_text(), log.read_text()[-3000:]
    return "web-1 ready" in log.read_text() and ending(home) == Ending.SUCCEEDED
