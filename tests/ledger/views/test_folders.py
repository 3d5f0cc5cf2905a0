"""A folder's newest snapshot is in force; its name follows the repository's; its blob outlives its age."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from sqlalchemy import Engine

from ledger.event import Event
from ledger.events.access import RepositoryMoved
from ledger.events.stage import SnapshotTaken
from ledger.events.workspace import FolderKept, FolderRestored
from ledger.ids import CardId, RunId
from ledger.log import event_store
from ledger.model.run_modes import key_of_folder
from ledger.views import changed_files, folders, runs
from tests.ledger.samples import BOARD, CARD, RUN, any_event, board_seen, card_seen, later, run_queued

JOURNAL = key_of_folder(BOARD, "acme/app", "journal")
R2 = RunId("r2")


def kept(run_id: str, blob: str, folder: str = JOURNAL) -> FolderKept:
    return FolderKept(RunId(run_id), folder, f"commit-{blob}", blob, 1, 10, 1, 1)


def tell(ledger: Engine, *events: Event) -> None:
    with event_store.writing(ledger) as db:
        for event in (board_seen(), card_seen(), card_seen("PVTI_2", 2), *events):
            event_store.append(db, event, at=later(event_store.last_seq(db)))


def in_folder(run_id: str, card_id: str = CARD) -> Event:
    return replace(run_queued(run_id, card_id), folder=JOURNAL, mode="folder")


def test_what_was_restored_is_in_force_until_the_next_run_keeps_its_files(ledger: Engine) -> None:
    back = FolderRestored(CARD, JOURNAL, RUN, "commit-a", "a", 1, 10, "ann")
    tell(ledger, in_folder(RUN), kept(RUN, "a"), in_folder("r2", "PVTI_2"), kept("r2", "b"), back)
    with event_store.writing(ledger) as db:
        newest = folders.newest(db, JOURNAL)
        assert newest is not None
        assert (newest.commit, newest.run_id, newest.by) == ("commit-a", RUN, "ann")
        assert [row.run_id for row in folders.list_snapshots(db, JOURNAL, 10)] == [RUN, R2, RUN]
        event_store.append(db, kept("r2", "c"), at=later(20))
        assert [row.commit for row in folders.of_board(db, BOARD, 10)] == ["commit-c"]


def test_a_folder_has_the_new_name_of_its_repository_also_for_a_run_that_began_before(ledger: Engine) -> None:
    tell(ledger, in_folder(RUN), kept(RUN, "a"), in_folder("r2", "PVTI_2"))
    other = key_of_folder(BOARD, "acme/application", "journal")
    now = key_of_folder(BOARD, "acme/till", "journal")
    with event_store.writing(ledger) as db:
        event_store.append(db, replace(kept("r3", "x"), folder=other), at=later(8))
        for _ in range(2):
            event_store.append(db, RepositoryMoved(BOARD, "acme/app", "acme/till"), at=later(9))
        event_store.append(db, kept("r2", "b"), at=later(10))  # by its old name
        run = runs.get(db, R2)
        assert run is not None
        assert run.folder == now
        assert [row.bundle for row in folders.list_snapshots(db, now, 10)] == ["b", "a"]
        assert folders.list_snapshots(db, JOURNAL, 10) == ()
        assert len(folders.list_snapshots(db, other, 10)) == 1


def test_the_blob_in_force_is_kept_whatever_its_age_but_for_what_is_one_cards_alone(ledger: Engine) -> None:
    tell(ledger, kept(RUN, "a"), kept("r2", "b"), kept("r3", "s", f"scratch/{CARD}"))
    after = later(0) + timedelta(days=90)
    with event_store.reading(ledger) as db:
        wanted = {blob: folders.is_snapshot(db, blob, after) for blob in ("a", "b", "s", "none")}
        assert wanted == {"a": False, "b": True, "s": False, "none": False}
        assert all(folders.is_snapshot(db, blob, later(0)) for blob in ("a", "b", "s"))


def test_files_of_a_folder_are_no_files_of_the_repository_that_other_cards_might_change_too(
    ledger: Engine,
) -> None:
    sample: Any = any_event(lambda options: options[0], SnapshotTaken)
    taken = [replace(sample, run_id=RunId(run_id), files=("README",)) for run_id in (RUN, "r2")]
    tell(ledger, in_folder(RUN), run_queued("r2", "PVTI_2"), *taken)
    with event_store.reading(ledger) as db:
        assert changed_files.of_card(db, CARD) is None
        assert changed_files.of_card(db, CardId("PVTI_2")) is not None
