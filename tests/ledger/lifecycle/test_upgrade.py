"""A new version starts beside the one at work, takes the ledger over in one step, and the old is refused."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect

from ledger import views
from ledger.db.statements import drive, make_tables
from ledger.db.tables import VIEW_PREFIX, VIEWS, EditionState
from ledger.db.transactions import GUARD
from ledger.errors import OutdatedError
from ledger.lifecycle.edition import every, live, mine
from ledger.lifecycle.open import connect, open_ledger
from ledger.lifecycle.rebuild import rebuild
from ledger.lifecycle.upgrade import PAGE, upgrade_ledger
from ledger.log import event_store, hash_chain
from ledger.view_tables import groups, sources
from tests.ledger.lifecycle.test_rebuild import append_legal, contents
from tests.ledger.lifecycle.version_process import Process as Here
from tests.ledger.lifecycle.version_process import die_at
from tests.ledger.samples import random_events
from tests.warm import Warm

ROOT = Path(__file__).parents[3]
# The last commit whose code knows no editions.
BEFORE = "36fd0740bc10b72f1eccb530fba205985c6538fc"
OUTDATED = r"Cardinal of this host \(.*\) is older than the ledger \(.*\): .* upgrade it"


class Other:
    """A process of another version, that answers."""

    def __init__(self, folder: Path, url: str) -> None:
        script = str(Path(__file__).with_name("version_process.py"))
        self.process = subprocess.Popen(
            (sys.executable, "-P", script, url),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder)},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __call__(self, line: str) -> str:
        """Return the answer to a line; empty when it died."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def stop(self) -> None:
        """End it."""
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def start() -> Iterator[Callable[[Path, str], Other]]:
    """Start a process of the version in that folder; it ends with the test."""
    others: list[Other] = []

    def started(folder: Path, url: str) -> Other:
        others.append(Other(folder, url))
        return others[-1]

    yield started
    for other in others:
        other.stop()


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Other]]:
    """Turn a process with the code from before there were editions to a ledger."""
    folder = tmp_path_factory.mktemp("before")
    packed = subprocess.run(("git", "archive", BEFORE, "ledger"), cwd=ROOT, capture_output=True, check=False)
    assert packed.returncode == 0, f"this clone has no commit {BEFORE}: git fetch --unshallow"
    subprocess.run(("tar", "x"), cwd=folder, input=packed.stdout, check=True)
    other = Other(folder, "")

    def turned(url: str) -> Other:
        assert other(f"turn_to {url}") == "turned"
        return other

    yield turned
    other.stop()


@pytest.fixture(scope="module")
def after(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a later version: plans have a column more, and there is another kind of event."""
    folder = tmp_path_factory.mktemp("after")
    shutil.copytree(ROOT / "ledger", folder / "ledger")
    change(folder / "ledger/rows/plans.py", '    text: str = ""\n', '    text: str = ""\n    more: int = 7\n')
    change(
        folder / "ledger/events/turn.py",
        "@dataclass(frozen=True, slots=True)\nclass TurnStarted",
        '@dataclass(frozen=True, slots=True)\nclass TurnDoubted(RunEvent):\n    """New."""\n\n\n'
        "@dataclass(frozen=True, slots=True)\nclass TurnStarted",
    )
    return folder


def change(file: Path, text: str, by: str) -> None:
    whole = file.read_text()
    assert whole.count(text) == 1, f"{file.name} was changed: change this test, too"
    file.write_text(whole.replace(text, by))


def here(engine: Engine) -> Here:
    """Return what another version's process does, done here by this version."""
    process = Here(str(engine.url))
    process.engine = engine
    return process


def view_tables(engine: Engine) -> set[str]:
    return {name for name in inspect(engine).get_table_names() if name.startswith(VIEW_PREFIX)}


def test_the_version_before_works_until_this_one_took_over(
    before: Callable[[str], Other], ledger_url: str
) -> None:
    old = before(ledger_url)
    assert old("open") == "open"
    assert old(f"append {2 * PAGE + 5}") == f"at {2 * PAGE + 5}"
    answers = []
    engine = open_ledger(ledger_url, progress=lambda *_: answers.append(old("append 3")))
    assert answers == [f"at {2 * PAGE + 5 + 3 * n}" for n in range(1, len(answers) + 1)]
    assert len(answers) > 2
    with event_store.reading(engine) as db:
        told = event_store.last_seq(db)
        assert hash_chain.verify_chain(db).events == told
    refused = old("append 1")
    assert ("cardinal_editions" if engine.dialect.name == "sqlite" else "upgrade it") in refused, refused
    assert "Error" in old("read")  # its tables are gone
    assert "NewerLedgerError" in before(ledger_url)("open")
    assert here(engine).append(2) == f"at {told + 2}"
    assert here(engine).replay() == f"same {told + 2}"
    assert view_tables(engine) == {table.name for table in VIEWS.tables.values()}
    engine.dispose()


def test_a_later_version_folds_what_changed_beside_this_one_and_refuses_it_then(
    after: Path, ledger: Engine, ledger_url: str, start: Callable[[Path, str], Other]
) -> None:
    here(ledger).append(PAGE + 5)
    new = start(after, ledger_url)
    assert new("upgrade") == f"folded {PAGE} of {PAGE + 5}"
    assert here(ledger).append(5) == f"at {PAGE + 10}"  # this version works on meanwhile
    with event_store.reading(ledger) as db:
        (beside,) = (row for row in every(db) if row.state is EditionState.FOLDING)
        assert (beside.folded, beside.position) == (("plans",), PAGE)
        assert len(set(beside.tables) - mine().tables) == 1
    answer = new("go on")
    while answer.startswith("folded"):
        answer = new("go on")
    assert answer == "open"
    with pytest.raises(OutdatedError, match=OUTDATED):
        here(ledger).append(1)
    with pytest.raises(OutdatedError, match=OUTDATED):
        here(ledger).read()
    for may_migrate in (True, False):
        with pytest.raises(OutdatedError, match=OUTDATED):
            open_ledger(ledger_url, migrate=may_migrate)
    assert new("append 2") == f"at {PAGE + 12}"
    assert new("replay") == f"same {PAGE + 12}"

    again = connect(ledger_url)
    upgrade_ledger(again, back=True)  # the upgrade is taken back
    again.dispose()
    assert here(ledger).append(1) == f"at {PAGE + 13}"
    assert new("append 1").startswith("OutdatedError")
    assert here(ledger).replay() == f"same {PAGE + 13}"
    assert view_tables(ledger) == mine().tables


@pytest.mark.parametrize("sign", ["CREATE INDEX", "CREATE TRIGGER", "INSERT INTO migrations"])
def test_a_version_that_is_killed_in_the_middle_of_a_step_leaves_the_old_one_at_work(
    before: Callable[[str], Other], ledger_url: str, sign: str
) -> None:
    old = before(ledger_url)
    old("open")
    old("append 9")
    new = Warm(die_at, ledger_url, sign)
    assert new.wait(60) == -signal.SIGKILL
    new.close()
    assert old("append 3") == "at 12"
    engine = open_ledger(ledger_url)
    assert here(engine).append(1) == "at 13"
    assert here(engine).replay() == "same 13"
    engine.dispose()


def test_processes_of_one_edition_name_its_views_in_one_order() -> None:
    # Those that start together beside an older version fold together, unless they see a difference there.
    args = (sys.executable, "-P", "-c", "from ledger import views; print(list(views.digests()))")
    seeds = ({**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed} for seed in "12")
    assert len({subprocess.check_output(args, env=seed, timeout=60) for seed in seeds}) == 1


class Killed(BaseException):
    """Ends an upgrade where a kill would."""


SOAK = [pytest.param(step, marks=pytest.mark.soak) for step in range(2, 58) if step not in (6, 7, 8, 9, 30)]


# Of 14 events in pages of 3: new tables, five pages, the switch, one transaction for each dropped table.
@pytest.mark.parametrize("step", [1, 6, 7, 8, 9, 30, *SOAK])
def test_an_upgrade_that_ended_before_any_of_its_steps_is_gone_on_with(
    before: Callable[[str], Other], tmp_path: Path, step: int
) -> None:
    url = f"sqlite:///{tmp_path}/ledger.db"
    old = before(url)
    old("open")
    old("append 14")
    steps = iter(range(step - 1))

    def count(_db: object) -> None:
        if next(steps, None) is None:
            raise Killed

    first = connect(url)
    first.update_execution_options(**{GUARD: count})
    with pytest.raises(Killed):
        upgrade_ledger(first, most=3)
    with event_store.reading(first) as db:
        was_live = live(every(db)) is not None
    first.dispose()
    assert was_live == (step > 7)
    refused = "Error" in old("append 1")
    assert refused == was_live
    engine = open_ledger(url)
    assert here(engine).replay() == f"same {14 if was_live else 15}"
    assert view_tables(engine) == mine().tables
    engine.dispose()


def test_views_that_read_each_other_are_folded_together_and_the_others_alone() -> None:
    code = sources()
    listed = groups(code, tuple(f"ledger.views.{name}" for name in views.names()))
    assert "ledger.views.verdicts" in listed["ledger.views.cards"]
    assert listed["ledger.views.plans"] == {"ledger.views.plans", "ledger.rows.plans"}
    plans = code["ledger.views.plans"] + b"\nfrom ledger.views.cards import cards\n"
    changed = groups({**code, "ledger.views.plans": plans}, tuple(listed))
    assert "ledger.views.plans" in changed["ledger.views.verdicts"]


def test_a_group_folds_with_no_other_view_s_tables(sqlite_ledger: Engine) -> None:
    """What a fold reads beyond its group would be of another moment while it is folded beside."""
    append_legal(sqlite_ledger, random_events(seed=11, count=400))
    with event_store.reading(sqlite_ledger) as db:
        told, whole = event_store.read(db, limit=1000), contents(db)
    by_digest: dict[str, set[str]] = {}
    for name, digest in views.digests().items():
        by_digest.setdefault(digest, set()).add(name)
    assert len(by_digest) > 10
    for digest, names in by_digest.items():
        with event_store.writing(sqlite_ledger) as db:
            for table in VIEWS.tables.values():
                drive(db, f'DROP TABLE IF EXISTS "{table.name}"')
            tables = [table for table in VIEWS.sorted_tables if table.name.endswith(digest[:8])]
            make_tables(db, tables)
            for recorded in told:
                for step in views.fold_steps(type(recorded.event).__name__, frozenset(names)):
                    step(db, recorded, recorded.event)
            for name, table in VIEWS.tables.items():
                if table in tables:
                    rows = db.exec_driver_sql(f"SELECT * FROM {table.name}")
                    assert sorted(map(tuple, rows), key=repr) == whole[name]
    rebuild(sqlite_ledger)
