"""The view of a run's stages: what is used counts for the stage that is open, and for no other."""

from sqlalchemy import Engine

from ledger.event import Event
from ledger.events.brief import StageBriefed
from ledger.events.run import UsageMetered
from ledger.events.stage import SnapshotTaken, StageEntered, StageLeft, StageReopened
from ledger.ids import RunId
from ledger.log import event_store
from ledger.views import briefings, stages
from ledger.views.stages import StageRow
from tests.ledger.samples import NOW, RUN

OTHER = RunId("r2")


def told(ledger: Engine, *events: Event) -> tuple[StageRow, ...]:
    with event_store.writing(ledger) as db:
        event_store.append(db, *events, at=NOW)
    with event_store.reading(ledger) as db:
        return stages.of_run(db, RUN)


def entered(stage: str, entry: int, run_id: RunId = RUN) -> StageEntered:
    return StageEntered(run_id, stage, entry, 1, "", "agent", False, "tester", "built in", "d", "m", "c")


def left(stage: str, entry: int, target: str) -> tuple[Event, ...]:
    return (
        SnapshotTaken(RUN, stage, entry, "Done.", ("a.txt",), 0, (), (), (), "c"),
        StageLeft(RUN, stage, entry, target, 0.0, 0, 0, 0, 0.0, 1, 5),
    )


def used(usd: float, run_id: RunId = RUN) -> UsageMetered:
    return UsageMetered(run_id, usd, 10, 1, 1, 2.0)


def test_what_is_used_counts_for_the_stage_that_is_open(ledger: Engine) -> None:
    first, second = told(
        ledger,
        used(9.0),  # for the plan
        entered("build", 1),
        entered("build", 1, OTHER),
        used(0.5),
        used(4.0, OTHER),
        *left("build", 1, "check"),
        used(9.0),
        entered("check", 2),
        used(0.25),
    )
    assert (first.usd, first.input_tokens, first.output_tokens, first.seconds) == (0.5, 10, 1, 2.0)
    assert (first.left_at, first.target, first.summary) == (NOW, "check", "Done.")
    assert (first.files_changed, first.lines_changed) == (1, 5)
    assert (second.usd, second.left_at, second.target) == (0.25, None, "")


def test_what_a_stage_was_told_is_kept_once_for_each_entry(ledger: Engine) -> None:
    twice = StageBriefed(RUN, "build", 1, "d1", "Build it.")  # a claim was killed in between
    told(ledger, twice, twice, StageBriefed(RUN, "check", 2, "d2", "Check it."))
    told(ledger, StageBriefed(OTHER, "build", 1, "d3", "Another run's."))
    with event_store.reading(ledger) as db:
        said = briefings.of_stages(db, RUN)
    assert [(event.entry, event.stage, event.text) for event in said] == [
        (1, "build", "Build it."),
        (2, "check", "Check it."),
    ]


def test_a_stage_that_goes_on_is_open_again(ledger: Engine) -> None:
    (only,) = told(
        ledger,
        entered("build", 1),
        *left("build", 1, ""),
        StageReopened(RUN, "build", 1, "repair", "c2"),
        used(1.0),
    )
    assert (only.left_at, only.usd) == (None, 1.0)
