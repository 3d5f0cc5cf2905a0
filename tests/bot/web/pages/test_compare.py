"""Two runs of a card side by side: on a page, by the API, and on the command line."""

import json
from dataclasses import replace

from click.testing import CliRunner

from bot.cli import main
from ledger.events.conversation import CommandGiven
from ledger.events.run import BranchPushed, FinalReported, RunEnded, RunQueued
from ledger.ids import RunId
from ledger.states import Ending, RunKind
from tests.bot.web.api.program import Program
from tests.bot.web.pages.forms import forms, send
from tests.bot.web.pages.test_changes import published
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

BOTH = "diff --git a/both.py b/both.py\n--- a/both.py\n+++ b/both.py\n@@ -1 +1 @@\n-old\n+new\n"
ONLY = "diff --git a/{0}.py b/{0}.py\n--- a/{0}.py\n+++ b/{0}.py\n@@ -1 +1,2 @@\n-old\n+new\n+<i>{0}\n"


def test_ends_costs_reports_and_files_of_two_runs_stand_side_by_side(pages: Pages) -> None:
    first, other = pages.run(), pages.run()
    (queued,) = [it for it in pages.cardinal.events(RunQueued) if it.run_id == first]
    second = RunId("r9")
    beside = replace(
        queued, run_id=second, kind=RunKind.RERUN, again_of=first, forked_at="plan", branch="cardinal/b"
    )
    happens(pages, beside, FinalReported(second, "It says <b>moin</b>.", (), (), ()))
    published(pages, first, BOTH + ONLY.format("one"))
    path = f"/runs/{first}/compare/{second}"
    browser, bob = pages.browser("bob"), Program(pages, "bob")
    assert f"{second} has no published change" in browser.get(path).text
    published(pages, second, BOTH + ONLY.format("two"))
    answer = bob.get(path)
    assert [(it["path"], it["first"], it["second"], it["same"]) for it in answer["files"]] == [
        ("both.py", "+1 -1", "+1 -1", True),
        ("one.py", "+2 -1", "", False),
        ("two.py", "", "+2 -1", False),
    ]
    assert [(it["run"], it["again_of"], it["forked_at"]) for it in answer["runs"]] == [
        (first, "", ""),
        (second, first, "plan"),
    ]
    page = browser.get(path).text
    for text in (f"{first}, at its plan", "It says &lt;b&gt;moin&lt;/b&gt;.", "both.py", "not published"):
        assert text in page, text
    assert f'href="{path}"' in browser.get(f"/runs/{second}").text
    home = {"CARDINAL_HOME": str(pages.cardinal.services.config.home)}
    typed = CliRunner().invoke(main, ["compare", first, second, "--json"], env=home)
    assert json.loads(typed.output)["files"] == answer["files"], typed.output
    assert bob.send("GET", f"/runs/{first}/compare/{other}").get_json()["code"] == "two_jobs"
    assert browser.get(f"/runs/{first}/compare/{other}").status_code == 404


def test_whoever_may_chooses_the_run_beside_the_cards_own_on_the_page(pages: Pages) -> None:
    first, second = pages.run(), RunId("r9")
    (queued,) = [it for it in pages.cardinal.events(RunQueued) if it.run_id == first]
    beside = replace(queued, run_id=second, kind=RunKind.RERUN, again_of=first, branch="cardinal/b")
    happens(pages, beside, BranchPushed(second, "cardinal/b", "b" * 40))
    path, bob = f"/runs/{first}/compare/{second}", pages.browser("bob")
    assert "choose" not in forms(bob, path)  # it has not ended
    happens(pages, RunEnded(second, Ending.SUCCEEDED, "", "", ""))
    assert "choose" not in forms(pages.browser("mallory"), path)
    form = forms(bob, path)["choose"]
    assert send(bob, {**form, "text": second}).status_code == 303
    assert [(it.command, it.argument, it.by) for it in pages.cardinal.events(CommandGiven)] == [
        ("choose", second, "bob")
    ]
