"""Who is notified when a run waits: a person, by a name that GitHub told; never an App, never other text."""

import json
from dataclasses import replace

import pytest

from bot.render.mention import run_mention
from ledger.log import event_store
from ledger.rows.runs import RunRow
from ledger.views import runs
from tests.bot.render.past import RUN, Past


def run_by(past: Past, by: str, door: str, *reviewers: str) -> RunRow:
    with event_store.reading(past.engine) as db:
        row = runs.get(db, RUN)
    assert row is not None
    return replace(row, by=by, door=door, settings=json.dumps({"reviewers": reviewers}))


@pytest.mark.parametrize("door", ["board", "comment", "box", "button", "page"])
def test_whoever_asked_for_the_run_is_mentioned(past: Past, door: str) -> None:
    assert run_mention(run_by(past, "alice_acme", door, "bob")).startswith("@alice_acme, ")


@pytest.mark.parametrize(
    ("by", "door"),
    [
        ("", "board"),
        ("github-project-automation[bot]", "board"),
        ("carol", "checks"),
        ("carol", ""),
        ("alice @bob", "comment"),
        ("alice\n@bob", "comment"),
    ],
)
def test_else_the_policys_reviewers_are_and_nobody_where_it_names_none(
    past: Past, by: str, door: str
) -> None:
    assert run_mention(run_by(past, by, door)) == ""
    assert run_mention(run_by(past, by, door, "bob", "acme/team")).startswith("@bob, @acme/team: ")
