"""A card with steps, from its text to the lines that people read; a real browser is in tests/containers."""

from dataclasses import replace

from bot.runspec import builder
from bot.runspec.builder import with_reproduction
from ledger.events.reproduction import (
    AFTER,
    BEFORE,
    FAILED,
    PASSED,
    ReproductionPlayed,
    ReproductionSkipped,
)
from ledger.events.run import RunQueued
from rules.policy.model import parse_repository
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.runs.test_validation import WORK, set_rules

RULES = 'version: 1\nrepository: {validation: none, reproduction: {start: "make", address: "http://localhost/"}}\n'
STEPS = 'It is wrong.\n\n### Steps to reproduce\n\n1. open /cart\n2. expect "Total 90"\n'
NO_PLACE, STRANGER = "A browser needs containers", "by someone without write access"


def why(cardinal: Cardinal) -> list[str]:
    return [event.why for event in cardinal.events(ReproductionSkipped)]


def test_who_asks_for_one_that_cannot_be_made_is_told_what_to_paste(cardinal: Cardinal) -> None:
    set_rules(cardinal, "version: 1\nrepository: {validation: none}\n")
    cardinal.scenario(work=WORK)
    item = cardinal.new(body=STEPS)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert why(cardinal) == []
    cardinal.say(item, "/cardinal fix --repro\nand be quick")
    cardinal.catch_up(work=True)
    assert cardinal.events(RunQueued)[-1].asked == "and be quick"
    (said,) = why(cardinal)
    assert '  reproduction: {start: "npm run dev", address: "http://127.0.0.1:3000/"}\n' in said
    cardinal.assert_nothing_is_stuck()


def test_a_strangers_steps_count_once_somebody_let_them_through(cardinal: Cardinal) -> None:
    set_rules(cardinal, RULES)
    cardinal.scenario(work=WORK)
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.say(item, STEPS, who="mallory")
    cardinal.catch_up()
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    (first,) = why(cardinal)
    assert STRANGER in first
    cardinal.say(item, "/cardinal ok mallory")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal fix")
    cardinal.catch_up(work=True)
    assert NO_PLACE in why(cardinal)[-1]


def test_only_what_people_see_of_somebody_with_write_access_is_played(cardinal: Cardinal) -> None:
    store, carol = cardinal.forge.store, cardinal.person("carol")
    issue = store.issues.create(cardinal.repo, "Totals", STEPS, actor=cardinal.person("mallory"))
    item = store.projects.add(cardinal.project, issue, actor=carol)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    run, card, rules = cardinal.run_of(item), cardinal.card(item), parse_repository(RULES, ())
    assert cardinal.claim(run.run_id)
    order = builder.build_spec(cardinal.services, run.run_id, cardinal.leases[run.run_id])[0]

    def played() -> tuple[list[str], str]:
        spec = with_reproduction(cardinal.services, order, cardinal.run(run.run_id), card, rules).reproduction
        assert spec is not None
        return [step.text for step in spec.steps], spec.absent

    assert STRANGER in played()[1]
    for said in ("Steps:\n- open /older", "Steps:\n- open /newer", "<!--\nSteps:\n- open /hidden\n-->Seen."):
        cardinal.say(item, said, who="carol")
        cardinal.catch_up()
    assert played() == (["open /newer"], "")
    asked = replace(cardinal.run(run.run_id), asked="Steps:\n- open /asked")
    spec = with_reproduction(cardinal.services, order, asked, card, rules).reproduction
    assert spec is not None
    assert [step.text for step in spec.steps] == ["open /asked"]


def test_steps_of_the_issue_and_those_with_a_command_are_read(cardinal: Cardinal) -> None:
    set_rules(cardinal, RULES)
    cardinal.scenario(
        work=WORK, investigate=[{"findings": {"summary": "x", "findings": [], "follow_ups": []}}]
    )
    item = cardinal.new(column="In Progress", body="Steps:\n1. open /\n2. Go to the cart\n")
    cardinal.catch_up(work=True)
    report = cardinal.comment(item, "is ready for your review").body
    assert "**In a browser**\n\nLine 2 of the card's steps is not understood: `Go to the cart`." in report
    cardinal.say(item, "/cardinal investigate --repro\nSteps:\n- open /cart")
    cardinal.catch_up(work=True)
    assert NO_PLACE in why(cardinal)[1]


def test_before_and_after_stand_in_the_report_and_the_pull_request(cardinal: Cardinal) -> None:
    set_rules(cardinal, RULES)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run = cardinal.run_of(item).run_id
    cardinal.begin(run)
    steps = ("open /cart", 'expect "Total 90"')
    before = ReproductionPlayed(
        run, BEFORE, "c0", "i", FAILED, steps, 2, "@bob not seen", (), 0, ("trace",), 1.0
    )
    after = ReproductionPlayed(run, AFTER, "c1", "i", PASSED, steps, 0, "", (), 0, ("trace",), 1.0)
    cardinal.write(run, before)
    cardinal.catch_up()
    assert "- Before: reproduced: step 2 of 2 failed" in cardinal.comment(item, f"Run {run}").body
    cardinal.write(run, after)
    cardinal.finish(run, files={"a.txt": b"a"})
    cardinal.catch_up()
    for body in (cardinal.comment(item, "is done").body, cardinal.pull_of(item).issue.body or ""):
        assert '- Before: reproduced: step 2 of 2 failed, `expect "Total 90"`:' in body
        assert "- After: ✅ all 2 steps passed" in body
        assert f"- Kept: 2 traces: `cardinal artifacts {run}`" in body
        assert "@bob" not in body
