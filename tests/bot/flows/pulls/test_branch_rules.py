"""Rulesets that are in Cardinal's way: the card says which one and what to set, before work is lost."""

from typing import Any

import pytest

from bot.admin.doctor import DoctorContext, repositories
from bot.runspec.branch_rules import RECENT_S
from ledger.events.run import RunClaimed
from ledger.events.turn import TurnStarted
from ledger.queue.examinations import Level
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_merges import approved, ready
from tests.bot.flows.runs.test_briefing import order_of
from tests.bot.flows.runs.test_validation import set_rules, worked

# Source: the parameters that GitHub always lists for this type of rule.
PULL: dict[str, Any] = {
    "dismiss_stale_reviews_on_push": False,
    "require_code_owner_review": False,
    "require_last_push_approval": False,
    "required_approving_review_count": 0,
    "required_review_thread_resolution": False,
}
POLICY = "version: 1\nrepository: {validation: {full: ['true']}}\n"


def rule(cardinal: Cardinal, branches: str, kind: str, *, bypass: bool = False, **parameters: Any) -> None:
    given = {"type": kind, "parameters": parameters} if parameters else {"type": kind}
    cardinal.forge.store.repos.set_rules(cardinal.repo, branches, given, bypass=bypass)


def test_no_agent_starts_where_its_push_would_be_refused_unless_the_app_may_bypass_the_rule(
    cardinal: Cardinal,
) -> None:
    set_rules(cardinal, POLICY)
    rule(cardinal, "cardinal/*", "committer_email_pattern", operator="ends_with", pattern="@acme.example")
    item = worked(cardinal)
    assert (cardinal.run_of(item).ending, cardinal.events(TurnStarted)) == ("failed", [])
    because = cardinal.card(item).because
    assert (
        "let the ruleset leave out `cardinal/**`, or let Cardinal's App bypass it, because a rule" in because
    )
    report = cardinal.comment(item, "Try again").body
    assert "address end with" in report
    rule(cardinal, "cardinal/*", "required_signatures", bypass=True)
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).ending == "succeeded"


def test_a_branch_that_is_in_the_way_is_found_before_an_agent_starts(cardinal: Cardinal) -> None:
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "cardinal", {"x": b"x"}, "In the way", actor=alice)
    cardinal.scenario(work=[{"finish": {"done": "Nothing."}}])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    assert cardinal.events(TurnStarted) == []
    assert "rename or delete the branch `cardinal`" in cardinal.card(item).because


def test_the_agent_is_told_how_messages_must_begin(cardinal: Cardinal) -> None:
    rule(cardinal, "cardinal/*", "commit_message_pattern", operator="starts_with", pattern="fix: ")
    layers = [layer.text for layer in order_of(cardinal).stack if layer.kind == "column"]
    assert layers == ["A commit's message must begin with `fix:`. GitHub refuses others."]


def test_a_run_that_goes_on_does_not_ask_for_the_rules_again(cardinal: Cardinal) -> None:
    cardinal.clock.forward(RECENT_S)  # what is kept is dropped then
    cardinal.scenario(work=[{"ask": {"question": "How?"}}, {"finish": {"done": "All of it."}}])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    cardinal.say(item, "/cardinal answer So.")
    cardinal.catch_up(work=True)
    assert len(cardinal.events(RunClaimed)) == 2
    assert len(cardinal.calls("/rules/branches/")) == 1


@pytest.mark.after(scene=approved)
def test_a_merge_that_a_rule_forbids_is_not_tried_and_the_card_says_what_to_set(cardinal: Cardinal) -> None:
    item, pull = ready(cardinal)
    rule(cardinal, "main", "pull_request", **PULL, allowed_merge_methods=["rebase"])
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert (pull.merged_at, cardinal.calls("/merge")) == (None, [])
    assert "say `method: rebase` at the policy's `merge`" in cardinal.card(item).because


@pytest.mark.after(scene=approved)
def test_a_merge_waits_for_a_deployment_and_the_card_names_its_environment(cardinal: Cardinal) -> None:
    item, pull = ready(cardinal)
    cardinal.repo.auto_merge_allowed = True
    rule(cardinal, "main", "required_deployments", required_deployment_environments=["staging"])
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert "is waiting for its deployment to `staging`" in cardinal.card(item).because
    cardinal.forge.store.repos.deploy(cardinal.repo, "staging", pull.head_sha)
    cardinal.catch_up()
    assert (cardinal.card(item).state, pull.merged_at is None) == ("done", False)


def test_the_doctor_names_each_rule_that_is_in_the_way(cardinal: Cardinal) -> None:
    set_rules(cardinal, POLICY)
    cardinal.new()
    cardinal.catch_up()
    services = cardinal.services
    patient = DoctorContext(services.config, services.engine, services.hub, cardinal.clock())

    def findings() -> list[tuple[Level, str]]:
        return [(one.level, one.message) for one in repositories.checks(patient) if one.name == "rules"]

    assert findings() == []
    rule(cardinal, "cardinal/*", "required_signatures")
    rule(cardinal, "main", "pull_request", **PULL, allowed_merge_methods=["merge"])
    unsigned, method = findings()
    assert unsigned[0] is method[0] is Level.FAIL
    assert "`cardinal/1-card` takes verified commits only" in unsigned[1]
    assert "`main` does not allow the merge method `squash`" in method[1]
