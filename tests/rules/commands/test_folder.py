"""The history of a card's folder is listed, and an older snapshot comes back unless a run works there."""

from dataclasses import replace
from datetime import timedelta

import pytest

from ledger.events.workspace import FolderRestored
from ledger.ids import RunId
from ledger.rows.folders import FolderRow, SnapshotRow
from rules.intents.outbound import Say
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, NOW, card

OLD = SnapshotRow(4, "b/journal", RunId("r1"), NOW - timedelta(days=2), "c1", "d1", 1, 2_400_000)
NEW = SnapshotRow(9, "b/journal", RunId("r5"), NOW - timedelta(days=1), "c5", "d5", 3, 9_000_000)


def has(*snapshots: SnapshotRow, writer: str = "") -> Snapshot:
    return card(folder=FolderRow("b/journal", snapshots, writer))


def test_the_history_is_listed_newest_first_with_its_sizes() -> None:
    said = told("folder", has(replace(OLD, seq=11, by="ann"), NEW, OLD))
    rows = [line for line in said.splitlines() if line.startswith("- ")]
    assert [row.partition(":")[0] for row in rows] == ["- r1", "- r5", "- r1"]
    assert rows[0].endswith("1 file, 2.4 MB, restored by `ann`")
    assert rows[1].endswith("3 files, 9.0 MB")


def test_an_older_snapshot_is_brought_back() -> None:
    restored, said = handled("folder", has(NEW, OLD), "r1")
    assert restored == FolderRestored(CARD, "b/journal", RunId("r1"), "c1", "d1", 1, 2_400_000, "bob")
    assert isinstance(said, Say)
    assert "as r1 left it" in said.text


@pytest.mark.parametrize(
    ("snapshot", "argument", "wanted"),
    [
        (card(folder=None), "", "No run of this card has kept files"),
        (card(folder=None), "r1", "No run of this card has kept files"),
        (has(), "r1", "No run of this card has kept files"),
        (has(NEW, OLD), "r5", "The folder is as r5 left it."),
        (
            has(NEW, OLD),
            "r2",
            "r2 left nothing in this folder. The newest runs that left files here: r5, r1.",
        ),
        (has(NEW, OLD), "../etc `x`", "A run is written as `r12`. The newest"),
        (has(NEW, OLD, writer="r7"), "r1", "r7 works in the folder"),
    ],
)
def test_nothing_is_restored_otherwise_and_the_answer_says_why(
    snapshot: Snapshot, argument: str, wanted: str
) -> None:
    assert wanted in told("folder", snapshot, argument)
