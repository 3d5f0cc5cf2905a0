"""The guardrails of a repository's policy, from its file to the question on the card."""

import pytest

from bot.runspec import builder
from ledger.events.run import QuestionAnswered, QuestionAsked, RunEnded
from ledger.ids import QuestionId
from ledger.log import event_store
from ledger.rows.limit_answers import PUBLISH_PROTECTED, STOP
from ledger.states import Ending
from ledger.views import grants
from runner.guards import builtin
from tests.bot.flows.cardinal import Cardinal

POLICY = b"""\
version: 1
repository:
  guardrails:
    protect: ["infra/**"]
    allow: ["**"]
    dependencies: deny
    max_file_kb: 7
"""
WORKFLOW = ".github/workflows/ci.yml"


def test_every_guard_gets_its_word_from_the_policy_of_the_cards_own_repository(cardinal: Cardinal) -> None:
    files: dict[str, bytes | None] = {".github/cardinal.yml": POLICY}
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "Rules", actor=alice)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    guards = cardinal.claimed(item)[0].guards
    assert set(guards.actions) == set(builtin.names())
    assert [guards.action(name) for name in ("dependencies", "secrets", "modes")] == ["deny", "deny", "ask"]
    assert (guards.protect, guards.allow, guards.max_file_kb) == (("infra/**",), ("**",), 7)


def test_what_a_guard_asks_is_a_question_on_the_card_and_the_answer_publishes(cardinal: Cardinal) -> None:
    lock = {"edit": {"path": "package-lock.json", "content": "{}\n"}}
    cardinal.scenario(work=[lock, {"commit": "Lock it"}, {"finish": {"done": "Locked."}}])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    asked = cardinal.comment(item, "needs you: the guardrails question").body
    assert "package-lock.json" in asked
    assert "dependencies: ask" in asked
    cardinal.say(item, "1")
    cardinal.catch_up(work=True)
    run = cardinal.run_of(item)
    assert run.ending == "succeeded", run.detail
    assert cardinal.pull_of(item)
    cardinal.assert_nothing_is_stuck()


def edits(cardinal: Cardinal, text: str) -> None:
    """Let the agent write a file of CI."""
    cardinal.scenario(work=[{"edit": {"path": WORKFLOW, "content": text}}, {"finish": {"done": "Done."}}])


def test_a_change_of_ci_that_somebody_agreed_to_is_merged(cardinal: Cardinal) -> None:
    edits(cardinal, "on: push\n")
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    assert cardinal.comment(item, "wants to change CI", WORKFLOW)
    cardinal.say(item, "Yes.")
    cardinal.catch_up(work=True)
    run = cardinal.run_of(item)
    assert run.ending == "succeeded", run.detail
    pull = cardinal.pull_of(item)
    assert cardinal.forge.store.repos.git(cardinal.repo).read(pull.head_sha, WORKFLOW) == b"on: push\n"
    cardinal.drag(item, "Review")
    cardinal.catch_up()
    reviews = cardinal.forge.store.reviews
    reviews.submit(pull, "APPROVE", actor=cardinal.person("bob"))
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.merged_at is not None
    cardinal.assert_nothing_is_stuck()


def test_a_yes_to_files_of_ci_holds_for_no_later_run(cardinal: Cardinal) -> None:
    edits(cardinal, "on: push\n")
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    cardinal.say(item, "Yes.")
    cardinal.catch_up(work=True)
    edits(cardinal, "on: pull_request_target\n")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert [event.asker for event in cardinal.events(QuestionAsked)] == ["workflows", "workflows"]
    with event_store.reading(cardinal.services.engine) as db:
        assert grants.of_card(db, cardinal.card(item).card_id, exact=False) == ()


@pytest.mark.parametrize(("answer", "wide"), [("Yes.", True), ("Stop", False)])
def test_a_later_run_of_a_card_with_a_yes_to_files_of_ci_may_push_the_branch_that_has_them(
    cardinal: Cardinal, answer: str, wide: bool
) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    first = cardinal.run_of(item).run_id
    cardinal.begin(first)
    question_id = QuestionId(f"{first}-q1")
    cardinal.write(
        first,
        QuestionAsked(
            first, question_id, "workflows", "Publish ci.yml?", (PUBLISH_PROTECTED.label, STOP.label)
        ),
        QuestionAnswered(first, question_id, "alice", answer),
        RunEnded(first, Ending.FAILED, "gave_up", "It stopped.", "working"),
    )
    cardinal.catch_up()
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    later = cardinal.run_of(item).run_id
    assert later != first
    assert cardinal.claim(later)
    order, remote = builder.build_spec(cardinal.services, later, cardinal.leases[later])
    assert (remote.workflows, order.workflows) == (wide, False)  # the guards ask about other content
