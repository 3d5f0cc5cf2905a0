"""The list of runs: what is in sight, filtered by the address, page by page, and as CSV."""

import csv
import io

import pytest

from bot.web.api.operations import list_runs
from bot.web.pages import run_list
from ledger.events.run import RunEnded
from ledger.ids import RunId
from ledger.states import Ending
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Pages


def fail(pages: Pages) -> RunId:
    """Return a run that failed, on a card of its own."""
    run_id = pages.run()
    pages.cardinal.begin(run_id)
    pages.cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "validation", "=1+1 of 3 tests", "working"))
    return run_id


def test_runs_are_filtered_by_the_address_and_each_row_says_why(pages: Pages) -> None:
    failed, queued, alice = fail(pages), pages.run(), pages.browser("alice")
    everything = alice.get("/runs").text
    assert everything.index(f'href="/runs/{queued}"') < everything.index(f'href="/runs/{failed}"')
    shown = alice.get("/runs?status=failed&days=7&person=carol").text
    assert "the checks did not pass: =1+1 of 3 tests" in shown
    assert (f'href="/runs/{failed}"' in shown, f'href="/runs/{queued}"' in shown) == (True, False)
    assert 'value="failed" selected' in shown
    assert "no run has the status “broken”" in alice.get("/runs?status=broken").text.replace("No", "no")
    assert alice.get("/runs?stauts=failed").status_code == 400
    assert alice.get("/runs?after=x").status_code == 400


def test_the_csv_has_the_same_runs_and_no_formula(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    failed, alice = fail(pages), pages.browser("alice")
    pages.run()
    answer = alice.get("/runs.csv?status=failed")
    assert answer.content_type == "text/csv; charset=utf-8"
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["run"], row["status"], row["reason"].partition(":")[0]) == (failed, "failed", "validation")
    assert row["why"] == "the checks did not pass: =1+1 of 3 tests"
    assert alice.get("/runs.csv?status=broken").status_code == 400
    assert alice.get("/runs.csv?days=soon").status_code == 400
    monkeypatch.setattr(list_runs, "MAX_LISTED", 1)
    assert alice.get("/runs.csv").text.count("\r\n") == 3  # page after page of the operation, and the head


def test_older_runs_follow_on_the_next_page(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, alice = pages.run(), pages.run(), pages.browser("alice")
    monkeypatch.setattr(run_list, "PAGE", 1)
    newest = alice.get("/runs").text
    assert (f'href="/runs/{second}"' in newest, f'href="/runs/{first}"' in newest) == (True, False)
    assert f'href="/runs?after={second}"' in newest
    older = alice.get(f"/runs?after={second}").text
    assert (f'href="/runs/{second}"' in older, f'href="/runs/{first}"' in older) == (False, True)


def test_runs_of_a_repository_that_one_may_not_read_are_not_there(pages: Pages) -> None:
    run_id = pages.run()
    hide(pages.cardinal)
    for path in ("/runs", "/runs.csv"):
        assert run_id not in pages.browser("mallory").get(path).text
        assert pages.browser("bob", signed_in=False).get(path).status_code == 401
