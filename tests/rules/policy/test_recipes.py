"""The recipes: each page's policy is valid, and does what the page says."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ledger.event import RuleEvent
from ledger.events.board import CardMoved
from ledger.events.instruction import AgentPinned
from ledger.events.run import PlanApproved, QuestionAnswered, RunEnded, RunSteered
from ledger.ids import CardId, RunId
from ledger.rows.links import LinkRow
from ledger.states import CardState, Ending, RunState
from rules.card.agent_choice import apply_choice
from rules.card.dependencies import why_waiting
from rules.card.target_repository import Hints, resolve_target
from rules.chatops.parser import Parsed, Permitted, permit
from rules.intents.internal import QueueRun
from rules.intents.outbound import CreateCard, Intent, MoveCard, RunTask, Say
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy, parse
from rules.policy.schedule import coming
from rules.policy.validate import Installed
from rules.runs.queue import HostCapacity, Load, Waiting, choose_runs
from runner import agents
from tests.rules.policy.recipes import INDEX, PAGES, policy_of
from tests.rules.scene import (
    CARD,
    NOW,
    QUESTION,
    R1,
    asks,
    card,
    ended,
    findings,
    given,
    kinds,
    only,
    pull,
    run,
    said,
)

SUCCEEDED = RunEnded(R1, Ending.SUCCEEDED, "", "", "publishing")


def recipe(name: str) -> Policy:
    """Return the policy that stands on the page, which a board of acme can have."""
    text = policy_of(name)
    home = re.search(r"^  home: (\S+)$", text, re.MULTILINE)
    assert home
    return parse(text, home=home[1], installed=Installed(agents=tuple(agents.names())))


def column(policy: Policy, name: str) -> ColumnPolicy:
    rules = policy.column(name)
    assert rules is not None
    return rules


def dragged(policy: Policy, after: str, **changes: Any) -> tuple[Intent | RuleEvent, ...]:
    """Return the intents for a card that alice drags from the first column, which is an inbox."""
    before = next(iter(policy.board.columns))
    move = CardMoved(CARD, before, after, by_cardinal=False, by="alice", role="write")
    return asks(card(after, **changes), move, by=policy)


def starting(policy: Policy, where: str, *repositories: str) -> tuple[str, ...]:
    """Return which runs start of one that waits for each of the repositories."""
    runs = [
        Waiting(RunId(f"r{n}"), CardId(f"c{n}"), where, where, name, n, NOW, by="alice")
        for n, name in enumerate(repositories, start=1)
    ]
    return choose_runs(policy, runs, Load(0, {}, {}), (), capacities=(HostCapacity("", 20),)).starts


def test_every_page_is_in_the_index_and_played_here() -> None:
    shown = set(re.findall(r"\]\(([a-z-]+)\.md\)", INDEX))
    assert set(PAGES) == shown == set(re.findall(r'recipe\("([a-z-]+)"\)', Path(__file__).read_text()))


def test_a_fan_out_makes_the_cards_that_people_choose_and_works_on_four_at_once() -> None:
    policy = recipe("fan-out")
    assert only(dragged(policy, "Split"), QueueRun).mode == "investigate"
    split = card("Split", findings=findings("Part 1", "Part 2"))
    assert only(asks(split, given("follow-up", "2"), by=policy), CreateCard).title == "Part 2"
    by_agent = card("In Progress", body="Part 2\n<!-- cardinal:card:r1 -->")
    by_automation = CardMoved(CARD, None, "In Progress", by_cardinal=False)
    assert "QueueRun" not in kinds(asks(by_agent, by_automation, by=policy))
    for repositories in (["acme/board"] * 5, [f"acme/s{n}" for n in range(5)]):
        assert len(starting(policy, "In Progress", *repositories)) == 4


def test_a_pipeline_goes_from_the_findings_to_the_stages_to_the_review() -> None:
    policy = recipe("pipeline")
    assert only(dragged(policy, "Look"), QueueRun).mode == "investigate"
    looked = ended(column="Look", mode="investigate", plan_required=False, plan_approved=False)
    assert only(asks(card("Look", run=looked), SUCCEEDED, by=policy), MoveCard).column == "Build"
    queued = only(dragged(policy, "Build", run=looked), QueueRun)
    assert (queued.mode, queued.plan_required) == ("fix", True)
    stages = column(policy, "Build").stages
    assert [(stage.persona, *stage.next) for stage in stages] == [
        ("architect", "build"),
        ("senior-engineer", "verify"),
        ("tester", "build", "end"),
    ]
    built = card("Build", run=ended(column="Build"))
    assert only(asks(built, SUCCEEDED, by=policy), MoveCard).column == "Review"


def test_a_vote_is_cast_by_different_agents_and_the_decision_waits_for_all_of_them() -> None:
    policy = recipe("vote")
    here = column(policy, "Vote")
    voters = [apply_choice(policy, here, "", (f"agent:{name}",)) for name in policy.board.specialists]
    assert [(rules.agent, rules.model) for rules in voters] == [
        ("claude", "default"),
        ("codex", "default"),
        ("claude", "haiku"),
    ]
    assert only(dragged(policy, "Vote"), QueueRun).mode == "investigate"
    voted = card("Vote", run=ended(column="Vote", mode="investigate"))
    assert only(asks(voted, SUCCEEDED, by=policy), MoveCard).column == "Done"
    assert only(dragged(policy, "Decide"), QueueRun).waits_for_parts
    open_vote = LinkRow(CARD, "acme/shop", 13, "Vote by strict", "open", done=False, public=False)
    held = why_waiting(policy, card("Decide", parts=(open_vote,)))
    assert held
    assert held[0] is CardState.QUEUED
    assert "#13 (Vote by strict)" in held[1]


def test_a_journal_writes_itself_each_working_day_by_its_chronicler_and_nothing_else() -> None:
    policy = recipe("journal")
    schedule = policy.board.schedule["journal"]
    monday = datetime(2026, 11, 23, 6, 0, tzinfo=UTC)  # seven in Berlin
    friday = monday - timedelta(days=3)
    assert coming(schedule, friday - timedelta(hours=1), 2) == (friday, monday)
    assert schedule.open_cards == 1
    queued = only(dragged(policy, schedule.column or "", labels=schedule.labels), QueueRun)
    assert not queued.plan_required
    author = apply_choice(policy, column(policy, "Journal"), "", schedule.labels)
    assert (author.model, author.stages[0].persona) == ("small", "docs-writer")
    assert (policy.repository.guardrails.allow, policy.repository.validation) == (("journal/**",), None)


def test_a_human_in_the_loop_approves_the_plan_and_answers_in_plain_words() -> None:
    policy = recipe("human-in-the-loop")
    assert only(dragged(policy, "In Progress"), QueueRun).plan_required
    waits = card(run=run(RunState.AWAITING_APPROVAL))
    people = (("alice", "write"), ("bob", "write"), ("carol", "maintain"))
    may = [permit(policy, Parsed("approve", ""), role=role, login=who) for who, role in people]
    assert [isinstance(answer, Permitted) for answer in may] == [True, False, True]
    assert only(asks(waits, given("approve", by="alice"), by=policy), PlanApproved).by == "alice"
    parked = card(run=run(RunState.PARKED), questions=(QUESTION,))
    assert only(asks(parked, said("8081, please"), by=policy), QuestionAnswered).text == "8081"
    assert [stage.approval for stage in column(policy, "In Progress").stages] == ["off", "required"]


def test_routing_takes_a_command_before_a_label_and_prose_for_nothing() -> None:
    policy = recipe("routing")
    assert only(asks(card(), given("agent", "prober"), by=policy), AgentPinned).choice == "@prober"
    assert "`/cardinal agent scribe`" in only(asks(card(), given("agent", "nobody"), by=policy), Say).text
    assert not asks(card("Tasks"), said("Ask @prober about this."), by=policy)
    here = column(policy, "In Progress")
    chosen = [apply_choice(policy, here, pin, ("agent:scribe",)) for pin in ("", "@prober")]
    assert [(rules.agent, rules.stages[0].persona) for rules in chosen] == [
        ("claude", "docs-writer"),
        ("codex", "tester"),
    ]
    assert apply_choice(policy, here, "@backend", ()).skills == ("safe-migration",)


def test_a_thread_is_heard_by_its_own_card_only_and_its_run_may_finish() -> None:
    policy = recipe("thread")
    assert "AskAssistant" in kinds(asks(card("Planning"), said("Use euros."), by=policy))
    for words, run_id in (("Use euros.", R1), ("Use cents.", RunId("r2"))):
        heard = only(asks(card(run=run(run_id=run_id)), said(words), by=policy), RunSteered)
        assert (heard.run_id, heard.text) == (run_id, words)
    assert not asks(card("Planning"), said("Use yen.", trusted=False), by=policy)
    here = column(policy, "In Progress")
    assert (here.publish, here.on_leave) == ("early", "finish")
    feedback = card("Review", run=ended(), pull=pull(), verdict="changes_requested", pending_threads=2)
    back = replace(feedback, column="In Progress")
    move = CardMoved(CARD, "Review", "In Progress", by_cardinal=False, by="alice", role="write")
    assert only(asks(back, move, by=policy), QueueRun).kind == "revision"


def test_a_fleet_goes_to_each_repository_by_its_label_and_once_at_a_time() -> None:
    policy = recipe("fleet")
    for name, schedule in policy.board.schedule.items():
        hints = Hints(CARD, schedule.labels, (), "", "cardinal[bot]", trusted=True)
        assert resolve_target(policy, hints).repository == f"acme/{name}"
        assert apply_choice(policy, column(policy, "Care"), "", schedule.labels).skills == ("dependencies",)
    assert starting(policy, "Care", "acme/api", "acme/api", "acme/web", "acme/docs") == ("r1", "r3", "r4")
    assert policy.board.repositories.without_policy.checked


def test_triage_writes_an_idea_out_and_asks_before_anybody_works() -> None:
    policy = recipe("triage")
    task = only(dragged(policy, "Triage"), RunTask)
    assert (task.expand, task.labels) == (True, ("bug", "feature", "docs"))
    assert "AskAssistant" in kinds(dragged(policy, "Planning"))
    for name in ("Ideas", "Triage", "Planning"):
        assert "QueueRun" not in kinds(dragged(policy, name))
    assert "QueueRun" in kinds(dragged(policy, "In Progress"))
