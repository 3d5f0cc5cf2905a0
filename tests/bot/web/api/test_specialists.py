"""Who works on what: each specialist with its load and recent work, where the reader may read them."""

from typing import Any

from bot.web.authorization import KEPT_S
from ledger.events.run import RunClaimed, RunEnded
from ledger.states import Ending
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column
from tests.bot.web.api.program import Program
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

POLICY = with_column(agents="['@prober', scripted/other]") + (
    "  specialists: {prober: {agent: scripted, model: test}, idler: {agent: scripted}}\n"
)


def loads(login: str, pages: Pages) -> dict[str, Any]:
    listed = Program(pages, login).get("/boards/acme/1/specialists")["specialists"]
    return {it["name"]: it for it in listed}


def test_each_specialist_has_its_load_its_recent_work_and_its_lane(pages: Pages) -> None:
    cardinal = pages.cardinal
    cardinal.set_policy(POLICY)
    cardinal.catch_up()
    done, working, queued, planned, plain = (cardinal.new() for _ in range(5))
    cardinal.catch_up()
    for item in (done, working, queued, planned):
        cardinal.say(item, "/cardinal agent prober")
    labels = cardinal.forge.store.issues
    labels.set_labels(issue_of(plain), ["Agent:Scripted/Other", "bug"], actor=cardinal.person("alice"))
    labels.set_labels(issue_of(planned), ["agent:scripted/other"], actor=cardinal.person("alice"))
    cardinal.catch_up()
    for item in (done, working, queued, plain):
        cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    runs = {name: cardinal.run_of(item) for name, item in (("done", done), ("working", working))}
    ended = RunEnded(runs["done"].run_id, Ending.FAILED, "timeout", "", "working")
    happens(pages, *(RunClaimed(run.run_id, 1, "w") for run in runs.values()), ended)

    prober = loads("bob", pages)["prober"]
    counts = {name: prober[name] for name in ("agent", "model", "working", "queued", "assigned")}
    assert counts == {"agent": "scripted", "model": "test", "working": 1, "queued": 1, "assigned": 4}
    assert [it["run"] for it in prober["at_work"]] == [runs["working"].run_id]
    assert [(it["run"], it["ending"]) for it in prober["recent"]] == [(runs["done"].run_id, "failed")]
    others = {name: (it["working"], it["queued"], it["assigned"]) for name, it in loads("bob", pages).items()}
    del others["prober"]
    idle = (0, 0, 0)  # a command counts before labels
    assert others == {"idler": idle, "scripted": idle, "scripted/other": (0, 1, 1)}

    bob = pages.browser("bob")
    page = bob.get("/boards/acme/1?lanes=agent&agent=Prober").text
    assert "<h2><bdi>prober</bdi></h2>" in page
    assert "<h2><bdi>scripted</bdi></h2>" not in page
    assert "1 working · 1 queued · 4 assigned" in page
    assert "<bdi>working, " in page
    jobs = Program(pages, "bob").get("/jobs?agent=prober")["jobs"]
    assert {it["number"] for it in jobs} == {cardinal.card(item).number for item in (done, working, queued)}
    refused = Program(pages, "bob").send("GET", "/jobs?agent=nobody")
    assert (refused.status_code, "no card here has the agent" in refused.text) == (422, True)

    hide(cardinal)  # what mallory may not read is in no count and no name
    cardinal.clock.forward(KEPT_S + 1)
    hidden = loads("mallory", pages)
    assert all(not it["recent"] and not it["at_work"] for it in hidden.values())
    assert {(it["working"], it["queued"], it["assigned"]) for it in hidden.values()} <= {(0, 0, 0)}
