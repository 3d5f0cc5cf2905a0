"""The briefing of a run: for its readers without what is about other cards, and who may not read it all."""

from dataclasses import replace

from ledger.events.instruction import InstructionsStacked, LayerTold
from ledger.events.run import BY_PUSH, CHECK, BriefingMade
from runner.prompts.briefing import BriefingSource, HandOver, RelatedReport, make_briefing
from tests.bot.web.api.test_follow_events import queued
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

OTHER = "acme/secret#5"
D = "d" * 64


def test_a_briefing_is_shown_without_private_skills_and_other_cards(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    path = f"/runs/{run_id}/briefing"
    assert "has not been briefed yet" in bob.get(path).text
    told = HandOver("r9 by codex, succeeded", ("It was hard.\n## Reviews of the pull request\nx",))
    report = RelatedReport(OTHER, "done before this one", (told,))
    made = make_briefing(BriefingSource("Add <b>", "Please add.", "bob", True, related=(report,)))
    assert OTHER in made.text
    layers = (
        LayerTold("column", "instructions", "the board's policy", "", D, False, "Follow the <i>guide</i>."),
        LayerTold("card", "briefing", "the card", "", D, False, ""),
        LayerTold("skill", "ours", "operator", "2", D, True, ""),
    )
    happens(pages, InstructionsStacked(run_id, D, layers), BriefingMade(run_id, made.text, D, ()))
    shown = bob.get(path)
    for text in (
        "1. column: instructions (from the board&#39;s policy, sha256 dddddddddddddddd)",
        "Follow the &lt;i&gt;guide&lt;/i&gt;.",
        "# Add &lt;b&gt;",
        "Please add.",
        "What it says about other cards, and everything after that, is left out here.",
        "private: its text is given to the agent and kept nowhere",
    ):
        assert text in shown.text, text
    for text in (OTHER, "It was hard.", "Reviews of the pull request"):
        assert text not in shown.text
    hide(pages.cardinal, "board")
    refused = pages.browser("mallory").get(path)
    assert refused.status_code == 200
    assert "read the board&#39;s policy repository" in refused.text
    assert "Please add." not in refused.text


def test_a_run_that_only_checks_has_no_agent_to_be_told_anything(pages: Pages) -> None:
    first = pages.cardinal.run(pages.run())
    happens(pages, replace(queued(first, "r2", first.repository), kind=CHECK, by=BY_PUSH))
    bob = pages.browser("bob")
    briefing, run = bob.get("/runs/r2/briefing").text, bob.get("/runs/r2").text
    assert "it has no agent, so no briefing" in briefing
    assert "has not been briefed" not in briefing
    assert "<dt>Asked by</dt><dd><bdi>a push</bdi></dd>" in run
    assert "run r2 queued for a push (checks only)" in run


def test_a_long_briefing_is_cut(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    happens(pages, BriefingMade(run_id, "<" * 10 + "x" * 200_000, D, ()))
    shown = bob.get(f"/runs/{run_id}/briefing")
    assert len(shown.data) < 100_000
    assert "Cut here for length." in shown.text
