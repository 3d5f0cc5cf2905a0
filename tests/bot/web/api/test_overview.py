"""Programs see what waits for people, and what work costs: of what their account may read."""

from bot.web.authorization import KEPT_S
from tests.bot.web.api.program import Program
from tests.bot.web.pages.forms import asked, at_work
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Pages


def test_what_waits_for_people_is_listed_and_what_runs_did_is_counted(pages: Pages) -> None:
    run_id = pages.cardinal.run_of(asked(pages, "8080")).run_id
    at_work(pages)
    bob = Program(pages, "bob")
    inbox, figures = bob.get("/inbox?board=acme/1"), bob.get("/stats?days=7")
    assert ([it["run"] for it in inbox["jobs"]], inbox["total"]) == ([run_id], 1)
    assert (figures["runs"], figures["needed_person"], figures["merged"]) == (2, 1, 0)
    assert set(figures["usd_by"]) == {"day", "column", "repository", "person", "agent", "model"}
    asked(pages, "8080")
    inbox = bob.get("/inbox?limit=1")
    assert ([it["run"] for it in inbox["jobs"]], inbox["total"]) == ([run_id], 2)
    for path in ("/inbox?board=acme/9", "/stats?board=acme/9"):
        assert bob.send("GET", path).status_code == 404
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory = Program(pages, "mallory")
    assert mallory.get("/inbox") == {"jobs": [], "total": 0}
    assert mallory.get("/stats")["runs"] == 0
