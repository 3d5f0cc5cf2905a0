"""The views of instructions: the newest stack of a run, the skills considered last, what people chose."""

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from ledger.event import Event, Zoom
from ledger.events.instruction import (
    InstructionsStacked,
    LayerTold,
    SkillConsidered,
    SkillsChosen,
    SkillsPinned,
)
from ledger.log import event_store
from ledger.queries import timeline
from ledger.views import instructions
from tests.ledger.samples import CARD, NOW, RUN, run_queued

LAYER = LayerTold("profile", "docs", "built in", "", "d1", False, "Read first.")
SKILL = SkillConsidered("cache", "repository", "1", "d2", False, True, True, "by default")


@pytest.fixture
def write(ledger: Engine) -> "Write":
    return Write(ledger)


class Write:
    """Appends events one by one."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def __call__(self, *events: Event) -> None:
        for event in events:
            with event_store.writing(self.engine) as db:
                event_store.append(db, event, at=NOW)


def test_the_newest_stack_counts(write: Write) -> None:
    other = replace(LAYER, kind="skill", name="own", private=True, text="")
    write(InstructionsStacked(RUN, "a", (LAYER, other)), InstructionsStacked(RUN, "b", (other, LAYER)))
    with event_store.reading(write.engine) as db:
        rows = instructions.stack_rows(db, RUN)
    assert [(row.place, row.name, row.private, row.text) for row in rows] == [
        (1, "own", True, ""),
        (2, "docs", False, "Read first."),
    ]


def test_the_skills_that_were_considered_last_count_also_when_there_are_none(write: Write) -> None:
    write(SkillsChosen(RUN, (SKILL, replace(SKILL, name="b", loaded=False))))
    with event_store.reading(write.engine) as db:
        assert [(row.name, row.loaded) for row in instructions.list_skills(db, RUN)] == [
            ("cache", True),
            ("b", False),
        ]
    write(SkillsChosen(RUN, ()))
    with event_store.reading(write.engine) as db:
        assert instructions.list_skills(db, RUN) == ()


def test_what_people_chose_last_holds(write: Write) -> None:
    write(SkillsPinned(CARD, ("a", "b"), "ann"), SkillsPinned(CARD, ("c",), "bob"))
    with event_store.reading(write.engine) as db:
        assert instructions.list_pinned_skills(db, CARD) == ("c",)
    write(SkillsPinned(CARD, (), "bob"))
    with event_store.reading(write.engine) as db:
        assert instructions.list_pinned_skills(db, CARD) == ()


def test_a_cards_activity_tells_what_was_asked_for_and_not_every_skill_that_lies_there(write: Write) -> None:
    lies = replace(SKILL, name="other", asked=False, loaded=False, why="nothing asks for it")
    chosen = SkillsChosen(RUN, (SKILL, replace(SKILL, name="b", loaded=False, why="by label, but"), lies))
    write(run_queued(), chosen)
    with event_store.reading(write.engine) as db:
        _, row = timeline.of_card(db, CARD, Zoom.ACTIVITY)
    assert row.text == "skills: cache (by default); skipped: b (by label, but)"
