"""The tree reads as the flow: every folder says what lives there, none is crowded, a page shows all."""

from collections import Counter
from pathlib import PurePosixPath

from docs._make.rooms import FLOW, charter
from tests.house.source import ROOT, sources
from tests.house.test_registries import TESTED_IN

MAX_ENTRIES, MAX_WORDS = 18, 1_200
REGISTRIES = {
    *TESTED_IN,
    "bot/outbox/handlers",
    "ledger/views",
    "ledger/queries",
    "bot/web/api/operations",
    "forge/store",  # a table each; its modules are named in forges that people saved
}  # of parts: as many as there are


def folders() -> Counter[str]:
    """Return every folder with code, and how many modules and folders stand in it."""
    entries = {
        path for source in sources(*FLOW, "forge") for path in _with_parents(PurePosixPath(source.path))
    }
    return Counter(str(path.parent) for path in entries if path.name != "__init__.py")


def _with_parents(path: PurePosixPath) -> list[PurePosixPath]:
    return [path, *[parent for parent in path.parents if len(parent.parts) > 1]]


def test_every_folder_says_what_lives_there() -> None:
    assert [one for one in folders() if one != "." and not charter(ROOT / one)] == []


def test_no_folder_is_crowded_but_registries_of_parts() -> None:
    crowded = {name: count for name, count in folders().items() if count > MAX_ENTRIES}
    assert set(crowded) <= REGISTRIES, crowded


def test_the_flow_has_every_room_once() -> None:
    for package, rooms in FLOW.items():
        found = {path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()}
        assert sorted(rooms) == sorted(found)


def test_the_tests_mirror_the_packages() -> None:
    for package, rooms in FLOW.items():
        tests, modules = ROOT / "tests" / package, {path.stem for path in (ROOT / package).glob("*.py")}
        assert {path.parent.name for path in tests.glob("*/__init__.py")} <= {*rooms, "flows"}
        assert {path.stem.removeprefix("test_") for path in tests.glob("test_*.py")} <= modules
        assert [path for path in tests.rglob("__init__.py") if not charter(path.parent)] == []


def test_the_architecture_is_read_in_a_few_minutes() -> None:
    assert len((ROOT / "docs/architecture.md").read_text(encoding="utf-8").split()) <= MAX_WORDS
