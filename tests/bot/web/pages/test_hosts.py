"""The hosts in a browser: for whoever may change the policy, as `cardinal hosts` lists them."""

from forge.store.models import Role
from ledger.events.run import RunClaimed
from ledger.log import event_store
from ledger.queue import hosts
from tests.bot.flows.board.test_many_boards import elsewhere
from tests.bot.web.api.program import Program
from tests.bot.web.pages.world import Pages
from tests.ledger.queue.test_hosts import beat, fall_silent


def test_an_operator_sees_each_host_with_its_runs(pages: Pages) -> None:
    engine = pages.cardinal.services.engine
    bob = pages.browser("bob")
    assert '<a href="/hosts">' in bob.get("/health").text
    assert "No hosts yet" in bob.get("/hosts").text
    beat(engine, "b", labels=("eu", "gpu"))
    beat(engine, "c")
    fall_silent(engine, "c")
    run_id = pages.run()
    with event_store.writing(engine) as db:
        event_store.append(db, RunClaimed(run_id, 1, "b-1", "b"), at=pages.cardinal.clock())
    shown = bob.get("/hosts")
    assert shown.status_code == 200
    b, c = (row.split("</tr>")[0] for row in shown.text.split("<tr>")[2:])
    assert "<td>b</td><td>alive</td>" in b
    link = f'<a href="/runs/{run_id}">{run_id}</a>'
    assert f"<td>1 of 2 {link}</td><td>eu gpu</td><td>1.0</td>" in b
    assert "<td>c</td><td>dead</td><td>20 s ago</td><td>0 of 2</td>" in c
    program = Program(pages, "bob")
    first = program.get("/hosts?limit=1")
    assert ([it["host"] for it in first["hosts"]], first["next"]) == (["b"], "b")
    rest = program.get("/hosts?limit=1&after=b")
    assert ([it["host"] for it in rest["hosts"]], rest["next"]) == (["c"], "")
    with event_store.writing(engine) as db:
        hosts.drain(db, "b", drained=True)
    assert "<td>b</td><td>drained</td>" in bob.get("/hosts").text


def test_the_hosts_are_nobodys_business_who_may_not_change_the_policy(pages: Pages) -> None:
    beat(pages.cardinal.services.engine, "b")
    mallory = pages.browser("mallory")
    refused, nothing = mallory.get("/hosts"), mallory.get("/runs/r999/artifacts")
    assert (refused.status_code, refused.text) == (404, nothing.text)
    assert Program(pages, "mallory").send("GET", "/hosts").get_json()["code"] == "role"
    assert pages.browser("bob", signed_in=False).get("/hosts").status_code == 401


def test_an_operator_of_one_board_sees_no_run_of_another_owners_board(pages: Pages) -> None:
    cardinal = pages.cardinal
    elsewhere(cardinal)
    store = cardinal.forge.store
    store.repos.set_role(store.repos.get("globex", "board"), cardinal.person("mallory"), Role.WRITE)
    beat(cardinal.services.engine, "b")
    run_id = pages.run()
    with event_store.writing(cardinal.services.engine) as db:
        event_store.append(db, RunClaimed(run_id, 1, "b-1", "b"), at=cardinal.clock())
    of_api = (Program(pages, login).get("/hosts")["hosts"] for login in ("mallory", "bob"))
    assert [host["runs"] for (host,) in of_api] == [[], [run_id]]
    theirs, ours = pages.browser("mallory").get("/hosts"), pages.browser("bob").get("/hosts")
    assert (theirs.status_code, ours.status_code) == (200, 200)
    assert f'/runs/{run_id}"' in ours.text
    assert f'/runs/{run_id}"' not in theirs.text
    assert "<td>0</td>" in theirs.text
    assert "Only runs on boards whose policy you may change are counted." in theirs.text
    assert "1 of 2" not in theirs.text + ours.text  # bob does not see the other owner's board
