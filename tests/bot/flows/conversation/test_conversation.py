"""What people write and tick: who may, what counts as a command, and what is told once."""

import json

import pytest

from bot.ingest import comments
from forge.store.board import Item
from forge.store.models import Role
from ledger.events.board import StopOrdered
from ledger.events.conversation import AssistantReplied, CommandGiven, CommandRefused, PersonSaid
from ledger.events.run import PlanApproved, PlanRedirected, QuestionAnswered, RunSteered, RunStopAsked
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column


def waiting_plan(cardinal: Cardinal) -> Item:
    """Return a card whose plan waits for approval."""
    cardinal.set_policy(with_column(plan_approval="required"))
    cardinal.catch_up()
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.plan(cardinal.run_of(item).run_id)
    cardinal.catch_up()
    return item


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_command_by_somebody_without_the_role_is_refused_with_the_role_that_it_needs(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, "/cardinal cancel", who="mallory")
    cardinal.catch_up()
    assert cardinal.events(RunStopAsked) == []
    assert cardinal.reactions(comment) == ["confused"]
    refusal = cardinal.comment(item, "needs the role", "`write`")
    assert "`mallory` has the role `read` here" in refusal.body
    assert [event.by for event in cardinal.events(CommandRefused)] == ["mallory"]
    cardinal.assert_no_leftovers()


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_writer_may_not_stop_the_board(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.say(item, "/cardinal stop-all", who="bob")
    cardinal.say(item, "/cardinal pause board", who="bob")
    cardinal.catch_up()
    assert cardinal.events(StopOrdered) == []
    assert len(cardinal.events(CommandRefused)) == 2


def test_the_policy_may_name_who_gives_a_command(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column() + "  commands: {cancel: [admin, '@bob']}\n")
    cardinal.catch_up()
    item = cardinal.at_work()
    cardinal.say(item, "/cardinal cancel", who="carol")
    cardinal.catch_up()
    assert cardinal.events(RunStopAsked) == []
    cardinal.say(item, "/cardinal cancel", who="bob")
    cardinal.catch_up()
    assert [event.by for event in cardinal.events(RunStopAsked)] == ["bob"]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_command_in_a_quote_is_none_and_one_in_code_is_answered_with_how_to_write_it(
    cardinal: Cardinal,
) -> None:
    """What is read as a command at all is a table in `tests/rules/chatops/test_parser.py`."""
    texts = ["> /cardinal cancel", "<!-- /cardinal cancel -->", "```\n/cardinal cancel\n```"]
    item = cardinal.at_work()
    said = [cardinal.say(item, text) for text in texts]
    cardinal.catch_up()
    assert cardinal.events(CommandGiven) == []
    assert cardinal.events(RunStopAsked) == []
    assert [cardinal.reactions(comment) for comment in said] == [[], [], ["confused"]]
    assert "Write `/cardinal cancel` in a new comment" in cardinal.told(item)[-1]
    assert [event.text for event in cardinal.events(PersonSaid)] == texts


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_command_is_obeyed_once_however_often_its_delivery_comes(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, "/cardinal pause")
    delivery = cardinal.mail[-1]
    cardinal.receive(delivery)
    cardinal.post(delivery.event, delivery.body, "another-guid", "created")
    cardinal.catch_up()
    assert len(cardinal.events(CommandGiven)) == 1
    assert len(cardinal.events(RunStopAsked)) == 1
    assert cardinal.reactions(comment) == ["+1"]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_plain_reply_answers_the_question_and_the_same_run_goes_on(cardinal: Cardinal) -> None:
    item = cardinal.newest
    run = cardinal.run_of(item)
    cardinal.ask(run.run_id, "Half up?")
    cardinal.catch_up()
    assert cardinal.face(item)["Agent"].endswith("needs input")
    cardinal.say(item, "No, down.", who="mallory")
    cardinal.catch_up()
    assert cardinal.events(QuestionAnswered) == []
    assert "someone with write access" in cardinal.told(item)[-1]
    cardinal.say(item, "Yes, half up.", who="carol")
    cardinal.catch_up()
    assert [(one.by, one.text) for one in cardinal.events(QuestionAnswered)] == [("carol", "Yes, half up.")]
    assert cardinal.run_of(item).run_id == run.run_id
    assert cardinal.run_of(item).state == "queued"
    assert cardinal.ready() == (run.run_id,)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_mistyped_command_that_is_mended_by_an_edit_is_answered_each_time_and_does_nothing(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, "/cardinal cancle", who="alice")
    cardinal.catch_up()
    assert "Did you mean `/cardinal cancel`?" in cardinal.told(item)[-1]
    cardinal.forge.store.issues.edit_comment(comment, "/cardinal cancel", actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert "an edited comment gives no command" in cardinal.told(item)[-1]
    assert cardinal.events(RunStopAsked) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_plain_comment_steers_a_run_at_work_and_a_strangers_does_not(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.say(item, "Delete everything", who="mallory")
    cardinal.say(item, "Mind the tests", who="carol")
    cardinal.catch_up()
    assert [(event.by, event.text) for event in cardinal.events(RunSteered)] == [("carol", "Mind the tests")]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_ticked_choice_answers_and_a_stale_one_does_not(cardinal: Cardinal) -> None:
    item = cardinal.newest
    run_id = cardinal.run_of(item).run_id
    first = cardinal.ask(run_id, "Which?", "red", "blue")
    cardinal.catch_up()
    comment = cardinal.comment(item, "Which?")
    before = comment.body
    cardinal.tick(comment, f"choice:{first}:2", who="carol")
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(QuestionAnswered)] == ["blue"]
    assert "answered by carol" in comment.body
    cardinal.begin(run_id)
    cardinal.ask(run_id, "And now?", "left", "right")
    cardinal.catch_up()
    cardinal.forge.store.issues.edit_comment(comment, before, actor=cardinal.person("carol"))
    cardinal.tick(comment, f"choice:{first}:1", who="carol")
    cardinal.catch_up()
    assert len(cardinal.events(QuestionAnswered)) == 1
    assert "no longer open" in cardinal.told(item)[-1]


def test_a_tick_by_somebody_without_the_role_is_taken_out_again(cardinal: Cardinal) -> None:
    item = waiting_plan(cardinal)
    cardinal.forge.store.repos.set_role(cardinal.repo, cardinal.person("bob"), Role.TRIAGE)
    plan = cardinal.comment(item, "Plan of run")
    before = plan.body
    for _ in range(2):
        cardinal.tick(plan, "approve", who="bob")
        cardinal.catch_up()
        assert plan.body == before
    assert cardinal.events(PlanApproved) == []
    assert "`bob` has the role `triage` here" in cardinal.told(item)[-1]
    assert cardinal.reactions(plan) == []
    cardinal.tick(plan, "approve", who="carol")
    cardinal.catch_up()
    assert [event.by for event in cardinal.events(PlanApproved)] == ["carol"]
    assert "approved by carol" in plan.body
    cardinal.assert_nothing_is_stuck()


def test_a_redirect_comes_back_with_its_whole_text(cardinal: Cardinal) -> None:
    item = waiting_plan(cardinal)
    cardinal.say(item, "/cardinal redirect Keep it\nin two lines.\n> a quote", who="carol")
    cardinal.catch_up()
    assert [event.text for event in cardinal.events(PlanRedirected)] == ["Keep it\nin two lines."]
    assert cardinal.ready() == (cardinal.run_of(item).run_id,)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_box_that_a_person_wrote_into_an_own_comment_commands_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, "- [ ] Stop <!-- box:cancel -->", who="mallory")
    cardinal.tick(comment, "cancel", who="alice")
    cardinal.catch_up()
    assert cardinal.events(RunStopAsked) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_text_beyond_githubs_limit_is_refused_and_not_kept(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, "short")
    payload = json.loads(cardinal.mail.pop().body)
    payload["comment"]["body"] = "/cardinal answer " + "x" * 1_000_000
    before = cardinal.services.config.database_url.removeprefix("sqlite:///")
    cardinal.post("issue_comment", json.dumps(payload).encode(), "huge", "created")
    cardinal.catch_up()
    assert cardinal.events(PersonSaid) == []
    assert cardinal.events(RunSteered) == []
    assert "1,000,017 characters" in cardinal.told(item)[-1]
    assert cardinal.reactions(comment) == ["confused"]
    with open(before, "rb") as ledger:
        assert b"x" * 70_000 not in ledger.read()
    cardinal.assert_no_leftovers()
    assert comments.MAX_CHARACTERS == 65_536


@pytest.mark.after(scene=Cardinal.at_work)
def test_the_longest_comment_that_github_takes_is_read(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.say(item, "ü" * comments.MAX_CHARACTERS)
    cardinal.catch_up()
    assert [len(event.text) for event in cardinal.events(PersonSaid)] == [comments.MAX_CHARACTERS]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_comment_that_is_gone_when_its_delivery_is_read_is_no_trouble(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, "/cardinal status")
    cardinal.forge.store.issues.delete_comment(comment, actor=cardinal.person("alice"))
    cardinal.catch_up()
    assert len(cardinal.events(CommandGiven)) == 1
    cardinal.assert_no_leftovers()


def test_a_comment_on_an_issue_that_is_on_no_board_is_ignored(cardinal: Cardinal) -> None:
    alice = cardinal.person("alice")
    issue = cardinal.forge.store.issues.create(cardinal.repo, "x", "y", actor=alice)
    cardinal.forge.store.issues.comment(issue, "/cardinal stop-all", actor=alice)
    before = cardinal.count()
    cardinal.catch_up()
    assert cardinal.count() == before
    assert issue.comments[0].reactions == []


@pytest.mark.after(scene=Cardinal.at_work)
@pytest.mark.parametrize("word", ["status", "explain", "help"])
def test_a_question_about_the_card_is_answered_in_a_comment(cardinal: Cardinal, word: str) -> None:
    item = cardinal.newest
    comment = cardinal.say(item, f"/cardinal {word}", who="bob")
    cardinal.catch_up()
    assert cardinal.reactions(comment) == ["eyes"]
    assert len(cardinal.told(item)) == 2
    assert len(issue_of(item).comments) == 3


def test_the_assistant_answers_each_message_once_and_leaves_a_brief(cardinal: Cardinal) -> None:
    cardinal.scenario(
        chat=[
            {"when": "(?i)ten percent", "say": "Clear.\n\n## Ready for execution\n- Ten percent."},
            {"say": "How much?"},
        ]
    )
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    assert "How much?" in cardinal.told(item)[-1]
    cardinal.say(item, "Ten percent.", who="carol")
    cardinal.catch_up()
    assert "Ready for execution" in cardinal.told(item)[-1]
    assert "Ten percent" in cardinal.card(item).brief
    assert len(cardinal.told(item)) == 2
    cardinal.assert_nothing_is_stuck()


def test_a_command_on_a_planned_card_is_no_word_to_the_assistant(cardinal: Cardinal) -> None:
    cardinal.scenario(chat=[{"say": "How much?"}])
    item = cardinal.new(column="Planning")
    cardinal.catch_up()
    word = cardinal.say(item, "Ten percent.", who="carol")
    cardinal.say(item, "/cardinal status", who="carol")
    cardinal.say(item, "/cardinal staus", who="carol")
    cardinal.catch_up()
    assert [event.answers for event in cardinal.events(AssistantReplied)] == [0, word.id]
    cardinal.assert_nothing_is_stuck()
