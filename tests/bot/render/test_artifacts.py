"""What a run left is linked where Cardinal has pages, and named where it has none."""

from dataclasses import replace

from bot.render import plan, question
from bot.render.pull import body, gate_check
from bot.render.run import artifacts, comment, findings, report
from bot.render.run.story import Story, watch_link
from ledger.events.artifact import ArtifactDropped, ArtifactKept
from ledger.events.findings import FindingsReported
from ledger.events.run import QuestionAsked, RunEnded
from ledger.ids import QuestionId
from ledger.log import event_store
from ledger.states import Ending
from ledger.views import plans, questions
from tests.bot.render.past import RUN, Past
from tests.bot.render.test_gate_check import gate_record

SITE = "https://cardinal.example.com"
ASKED, ROOT = QuestionId("r1-q1"), "https://github.example/acme/shop"
FOUND = FindingsReported(RUN, "a" * 40, "Cents are cut.", (), (), ())
NAME = "](javascript:alert(1)) `@bob` <b>"


def story(past: Past, *, attached: bool = True) -> Story:
    past(ArtifactKept(RUN, NAME, "log", "a" * 64, 10))
    past(ArtifactKept(RUN, "old.md", "report", "b" * 64, 10), ArtifactDropped(RUN, "old.md", "b" * 64, "age"))
    if attached:
        past(ArtifactKept(RUN, "timings.csv", "file", "c" * 64, 10))
    return past.story()


def test_the_report_lists_every_file_with_a_link_and_none_that_is_gone(past: Past) -> None:
    said = artifacts.list_artifacts(replace(story(past), site=SITE))
    assert "Files of run r1: 2 files" in said
    assert f"- file: [`timings.csv`]({SITE}/artifacts/r1/{'c' * 64}/timings.csv)" in said
    assert f"({SITE}/artifacts/r1/{'a' * 64}/javascript-alert-1-bob-b)" in said
    assert "``](javascript:alert(1)) `@bob` <b>``" in said
    assert "old.md" not in said
    assert f"[everything]({SITE}/runs/r1/artifacts)" in said


def test_without_pages_what_an_agent_attached_is_named_with_the_command(past: Past) -> None:
    assert (
        artifacts.list_artifacts(story(past))
        == "Attached: `timings.csv` (`cardinal artifacts r1` where Cardinal runs)"
    )


def test_without_pages_and_attachments_texts_are_as_they_were(past: Past) -> None:
    found = story(past, attached=False)
    past(RunEnded(RUN, Ending.FAILED, "agent_error", "It broke.", "working"))
    found = past.story()
    assert artifacts.list_artifacts(found) == artifacts.pointer(found) == ""
    for said in (report.write(found), body.write(found), comment.write(found)):
        assert "artifacts" not in said


def test_report_pull_request_and_debug_lead_to_the_files(past: Past) -> None:
    found = replace(story(past), site=SITE)
    for said in (body.write(found), comment.write(found)):
        assert f"({SITE}/runs/r1/artifacts)" in said
    for ending in (Ending.FAILED, Ending.SUCCEEDED):
        ended = replace(found, run=replace(found.run, ending=ending))
        assert "[`timings.csv`]" in report.write(ended)


def test_the_check_leads_to_the_run_and_each_log_to_its_file(past: Past) -> None:
    plain = gate_record(past, passed=True)
    assert "details_url" not in gate_check.write(plain, ())
    assert "`cardinal artifacts r1`" in gate_check.write(plain, ())["output"]["summary"]
    found = replace(plain, site=SITE)
    for said in (gate_check.write(found, ()), gate_check.of_group(found, 9)):
        assert said["details_url"] == f"{SITE}/runs/r1"
        assert f"[`{'d' * 64}`]({SITE}/artifacts/r1/{'d' * 64}/log.txt)" in said["output"]["summary"]
        assert "cardinal artifacts" not in said["output"]["summary"]


def test_a_check_of_nobodys_commit_has_no_page(past: Past) -> None:
    nobody = replace(gate_record(past, passed=None, pushed=False), by="", site=SITE)
    assert "details_url" not in gate_check.write(nobody, ())


def test_the_first_line_of_each_comment_leads_to_the_run_as_long_as_it_lives_to_watch_it(past: Past) -> None:
    past.planned()
    past(QuestionAsked(RUN, ASKED, "agent", "Which tax?", ("7 %", "19 %")))
    found = replace(past.story(), site=SITE)
    with event_store.reading(past.engine) as db:
        plan_row, asked = plans.newest(db, RUN), questions.get(db, ASKED)
    assert plan_row is not None
    assert asked is not None

    def first_lines(story: Story) -> list[str]:
        link = watch_link(story.site, story.run)
        looked = findings.write(story, FOUND, {}, root=ROOT, here="acme/shop")
        said = (comment.write(story), plan.write(story, plan_row), question.write(asked, link=link), looked)
        return [text.splitlines()[0] for text in said]

    for line in first_lines(found):
        assert line.endswith(f" · [Watch it live]({SITE}/runs/r1)")
    for ending in Ending:
        ended = replace(found, run=replace(found.run, ending=ending))
        for line in (*first_lines(ended), report.write(ended).splitlines()[0]):
            assert line.endswith(f" · [See the run]({SITE}/runs/r1)")
    assert not any("](" in line for line in first_lines(replace(found, site="")))
