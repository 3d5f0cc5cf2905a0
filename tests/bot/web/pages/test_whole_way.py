"""From the check on GitHub to the whole log: a link, a sign-in, a file."""

import hashlib
import re

from ledger.events.run import PlanApproved, RunStepped
from ledger.states import RunState
from tests.bot.flows.pulls.test_check_buttons import check_of
from tests.bot.flows.settings import with_column
from tests.bot.web.pages.world import PUBLIC, Pages

WORK = [
    {"edit": {"path": "shop/greeting.py", "content": '"""Say hello."""\n'}},
    {"attach": {"name": "timings.csv", "content": "step,ms\nsum,3\n"}},
    {"commit": "Say hello"},
    {"finish": {"done": "It says hello."}},
]


def test_somebody_opens_the_log_that_a_check_names_and_it_has_the_digest_of_the_evidence(
    pages: Pages,
) -> None:
    cardinal = pages.cardinal
    cardinal.scenario(work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    run_id = cardinal.run_of(item).run_id
    check = check_of(cardinal, item)
    assert check.details_url == f"{PUBLIC}/runs/{run_id}"
    bob = pages.browser("bob", signed_in=False)
    assert bob.follows(check.details_url).status_code == 401
    arrived = bob.signs_in(f"/runs/{run_id}")
    assert arrived.headers["Location"] == f"/runs/{run_id}"
    files = f"/runs/{run_id}/artifacts"
    assert f'href="{files}"' in bob.get(arrived.headers["Location"]).text
    listed = bob.get(files)
    assert listed.status_code == 200
    for name in ("report.md", "timings.csv", ".patch"):
        assert name in listed.text
    (digest, link), *_ = re.findall(r"\[`([0-9a-f]{64})`\]\((\S+)\)", str(check.output["summary"]))
    log = bob.follows(link)
    assert (log.status_code, log.content_type) == (200, "text/plain; charset=utf-8")
    assert hashlib.sha256(log.data).hexdigest() == digest
    report = cardinal.comment(item, "Files of run r1", "timings.csv").body
    (attached,) = re.findall(r"\[`timings.csv`\]\((\S+)\)", report)
    assert bob.follows(attached).text == "step,ms\nsum,3\n"
    assert f"{PUBLIC}/runs/{run_id}/artifacts" in (cardinal.pull_of(item).issue.body or "")


def test_each_comment_of_a_run_leads_from_its_first_line_to_the_page_that_shows_it(pages: Pages) -> None:
    cardinal = pages.cardinal
    cardinal.set_policy(with_column(plan_approval="required"))
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(publish=False)
    run_id = cardinal.run_of(item).run_id
    cardinal.plan(run_id)
    cardinal.catch_up()
    again = RunStepped(run_id, RunState.AWAITING_APPROVAL, RunState.QUEUED)
    cardinal.write(run_id, PlanApproved(run_id, 1, "alice"), again)
    cardinal.begin(run_id)
    cardinal.ask(run_id, "Which colour?", "red", "green")
    cardinal.catch_up()
    link = f"[Watch it live]({PUBLIC}/runs/{run_id})"
    first = [said.splitlines()[0] for said in cardinal.told(item)]
    assert len(first) == 3
    assert [line for line in first if not line.endswith(link)] == []
