"""An investigation from a drag to its follow-up cards, and who chooses that a run is one."""

from typing import Any

import pytest

from bot.github.token_scope import pushing
from forge.store.board import Item
from ledger.events.conversation import CommandGiven, CommandRefused
from ledger.events.findings import FindingsReported, FollowUpMade
from ledger.events.run import BranchPushed, RunQueued
from ledger.states import CardState, Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import POLICY, with_column

LINE = {"path": "README.md", "line": 1}
FINDING = {
    "title": "Cents are cut @bob",
    "cause": "It rounds <b>down</b>.",
    "fix": "Round half up.",
    "confidence": "high",
    "references": [LINE, {"path": "nowhere.py", "line": 3}],
}
FOLLOW_UPS = [
    {"title": "Test the rounding", "body": "Nobody does.", "reason": "other work"},
    {"title": "Mend the till", "body": "It is slow.", "reason": "seen on the way"},
]
FOUND = {"findings": {"summary": "Cents are cut.", "findings": [FINDING], "follow_ups": FOLLOW_UPS}}
READS = with_column(mode="investigate")
WORK = [{"edit": {"path": "new.txt", "content": "x\n"}}, {"commit": "x"}, {"finish": {"done": "Done."}}]


def looked_into(cardinal: Cardinal, *steps: dict[str, Any]) -> Item:
    """Return a card that was dragged into a column which investigates, and was."""
    cardinal.set_policy(READS)
    cardinal.scenario(investigate=[*steps, FOUND], work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    return item


def queued(cardinal: Cardinal) -> list[tuple[str, str, str, str]]:
    return [(one.kind, one.mode, one.mode_rule, one.mode_value) for one in cardinal.events(RunQueued)]


def label(cardinal: Cardinal, item: Item, *names: str) -> None:
    issues, carol = cardinal.forge.store.issues, cardinal.person("carol")
    issues.set_labels(issue_of(item), list(names), actor=carol)
    cardinal.catch_up()


@pytest.mark.after(scene=looked_into)
def test_a_card_is_investigated_and_neither_branch_nor_pull_request_is_made(cardinal: Cardinal) -> None:
    item = cardinal.newest
    run, card = cardinal.run_of(item), cardinal.card(item)
    assert (run.ending, run.detail) == (Ending.SUCCEEDED, "")
    assert (card.state, card.pull_number) == (CardState.WORK_COMPLETE, None)
    assert "/cardinal fix lets an agent act on them" in card.because
    assert cardinal.events(BranchPushed) == []
    git = cardinal.forge.store.repos.git(cardinal.repo)
    assert not [ref for ref in git.refs() if "cardinal/" in ref]
    assert [text for text in cardinal.told(item) if "is done" in text and "### " in text] == [
        text for text in cardinal.told(item) if "reads only" in text
    ]


def test_the_findings_stand_in_a_comment_of_their_own_with_links_to_the_very_commit(
    cardinal: Cardinal,
) -> None:
    item = looked_into(cardinal)
    body = cardinal.comment(item, "investigated: ").body
    base = cardinal.forge.store.repos.commit_of(cardinal.repo, "main")
    root = f"{cardinal.forge.url}/acme/shop/blob/{base}"
    assert f"[`README.md:1`]({root}/README.md#L1)" in body
    assert "`nowhere.py:3` (not found)" in body
    assert "high confidence" in body
    assert "@bob" not in body
    assert "<b>" not in body
    assert "- [ ] 1. Test the rounding: other work <!-- box:followup:r1:1 -->" in body


@pytest.mark.after(scene=looked_into)
def test_the_run_comment_says_that_it_reads_only_and_why(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.comment(item, "reads only (as its column says)").body
    assert "investigate ✓ → findings ✓" in comment
    assert "pull request" not in comment


@pytest.mark.after(scene=looked_into)
def test_a_tick_makes_the_card_once_and_the_findings_say_which_it_became(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.comment(item, "investigated: ")
    cardinal.tick(comment, "followup:r1:2")
    cardinal.catch_up()
    (event,) = cardinal.events(FollowUpMade)
    issue = cardinal.forge.store.issues.get(cardinal.repo, event.number)
    assert issue.title == "Mend the till"
    assert issue.parent is issue_of(item)
    assert f"- ☑ 2. Mend the till: seen on the way → #{event.number}" in comment.body
    assert "- [ ] 1. Test the rounding" in comment.body
    cardinal.say(item, "/cardinal follow-up 2")
    cardinal.catch_up()
    assert len(cardinal.events(FollowUpMade)) == 1
    assert cardinal.comment(item, f"is acme/shop#{event.number} already")


@pytest.mark.after(scene=looked_into)
@pytest.mark.parametrize("arrived", [False, True])
def test_a_follow_up_that_could_not_be_made_says_so_and_can_be_asked_for_again(
    cardinal: Cardinal, arrived: bool
) -> None:
    item = cardinal.newest
    comment = cardinal.comment(item, "investigated: ")
    said = {"message": "Validation Failed", "errors": [{"message": "Title is too long"}]}
    refused = {"path": "/issues$", "method": "POST", "status": 422, "after": arrived, "answer": said}
    cardinal.forge.store.faults.load({"api": [refused]})
    cardinal.tick(comment, "followup:r1:2")
    cardinal.catch_up()
    assert cardinal.events(FollowUpMade) == []
    told = cardinal.comment(item, "Follow-up 2 of r1 could not be made", "`/cardinal follow-up r1:2`")
    assert "tries again" in told.body
    cardinal.say(item, "/cardinal follow-up r1:2")
    cardinal.catch_up()
    assert [event.proposal for event in cardinal.events(FollowUpMade)] == [2]
    titles = [issue.title for issue in cardinal.repo.issues.values()]
    assert titles.count("Mend the till") == 1


@pytest.mark.after(scene=looked_into)
def test_a_tick_by_somebody_without_write_access_is_restored_and_makes_nothing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    comment = cardinal.comment(item, "investigated: ")
    before = comment.body
    cardinal.tick(comment, "followup:r1:1", who="mallory")
    cardinal.catch_up()
    assert comment.body == before
    assert cardinal.events(FollowUpMade) == []
    assert [event.command for event in cardinal.events(CommandRefused)] == ["box:followup:r1:1"]


@pytest.mark.after(scene=looked_into)
def test_a_tick_in_older_findings_makes_the_card_that_they_proposed(cardinal: Cardinal) -> None:
    item = cardinal.newest
    first = cardinal.comment(item, "investigated: ")
    cardinal.scenario(investigate=[{"findings": {"summary": "Nothing more."}}])
    cardinal.say(item, "/cardinal investigate")
    cardinal.catch_up(work=True)
    cardinal.tick(first, "followup:r1:1")
    cardinal.catch_up()
    assert [event.run_id for event in cardinal.events(FollowUpMade)] == ["r1"]


@pytest.mark.after(scene=looked_into)
def test_a_fix_after_an_investigation_has_its_findings_in_the_briefing(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.say(item, "/cardinal fix Only the till, please.\nNot the books.")
    cardinal.catch_up()
    order = cardinal.claimed(item)[0]
    assert (order.mode, order.session_id) == ("fix", "")
    for said in ("Cents are cut.", "[README.md:1]", "cause: It rounds", "recommended fix: Round half up."):
        assert said in order.briefing.text
    assert "## Asked of this run by alice\nOnly the till, please.\nNot the books." in order.briefing.text
    assert "nowhere.py" not in order.briefing.text


@pytest.mark.after(scene=looked_into)
def test_a_fix_after_an_investigation_delivers_a_pull_request(cardinal: Cardinal) -> None:
    item = cardinal.newest
    cardinal.say(item, "/cardinal fix")
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).ending is Ending.SUCCEEDED, cardinal.run_of(item).detail
    assert cardinal.pull_of(item).head_ref == cardinal.run_of(item).branch
    assert queued(cardinal) == [
        ("first", "investigate", "column", ""),
        ("retry", "fix", "command", "alice"),
    ]


def test_an_investigation_cannot_push_even_with_its_own_token(cardinal: Cardinal) -> None:
    cardinal.set_policy(READS)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    order, remote = cardinal.claimed(item)
    assert order.investigates
    assert remote.git_environment()
    assert not remote.writes
    given = pushing("acme/shop", writes=remote.writes).permissions
    assert ("contents", "read") in given
    assert {level for _, level in given} == {"read"}


def test_a_label_wins_over_the_column_and_a_command_over_the_label(cardinal: Cardinal) -> None:
    cardinal.scenario(investigate=[FOUND])
    item = cardinal.new()
    label(cardinal, item, "cardinal:investigate")
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert queued(cardinal) == [("first", "investigate", "label", "cardinal:investigate")]
    assert cardinal.comment(item, "reads only (the label `cardinal:investigate`)")
    cardinal.say(item, "/cardinal fix")
    cardinal.catch_up()
    assert queued(cardinal)[1:] == [("retry", "fix", "command", "alice")]


def test_a_mention_is_the_command_and_nothing_else(cardinal: Cardinal) -> None:
    cardinal.scenario(investigate=[FOUND])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    comment = cardinal.say(item, "@Cardinal investigate the rounding")
    cardinal.catch_up(work=True)
    (event,) = [command for command in cardinal.events(CommandGiven) if command.command == "investigate"]
    assert event.argument == "the rounding"
    assert cardinal.reactions(comment) == ["+1"]
    assert len(cardinal.events(FindingsReported)) == 1


def test_any_other_mention_commands_nothing(cardinal: Cardinal) -> None:
    """What is read as a command at all is a table in `tests/rules/runs/test_mode.py`."""
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal cancel")
    for text in (
        "@cardinal please fix it",
        "> @cardinal fix it",
        "@somebody fix it",
        "Hello\n@cardinal fix it",
    ):
        cardinal.say(item, text)
    cardinal.catch_up()
    assert [event.command for event in cardinal.events(CommandGiven)] == ["cancel"]


def test_a_mention_by_somebody_without_write_access_is_refused(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    cardinal.say(item, "/cardinal cancel")
    cardinal.say(item, "@cardinal fix it", who="mallory")
    cardinal.catch_up()
    assert [event.command for event in cardinal.events(CommandRefused)] == ["fix"]
    assert len(cardinal.events(RunQueued)) == 1


def test_a_card_that_was_investigated_in_one_column_is_fixed_in_the_next(cardinal: Cardinal) -> None:
    looks = "Planning: {archetype: execution, mode: investigate, agent: scripted, model: test}"
    before = "Planning: {archetype: planning, agent: scripted, model: test}"
    assert before in POLICY
    cardinal.set_policy(POLICY.replace(before, looks))
    cardinal.scenario(investigate=[FOUND])
    item = cardinal.new(column="Planning")
    cardinal.catch_up(work=True)
    cardinal.drag(item, "In Progress")
    cardinal.catch_up()
    assert [(mode, rule) for _, mode, rule, _ in queued(cardinal)] == [
        ("investigate", "column"),
        ("fix", "column"),
    ]


def test_after_an_investigation_a_card_stays_where_a_fix_would_move_it_on(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(on_success="{move: Review}"))
    cardinal.scenario(investigate=[FOUND])
    item = cardinal.new()
    label(cardinal, item, "cardinal:investigate")
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert cardinal.events(FindingsReported)
    assert cardinal.column(item) == "In Progress"


def test_a_retry_of_an_investigation_that_was_stopped_reads_only_again(cardinal: Cardinal) -> None:
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    for text in ("/cardinal cancel", "/cardinal investigate", "/cardinal cancel", "/cardinal retry"):
        cardinal.say(item, text)
        cardinal.catch_up()
    assert [(mode, rule, value) for _, mode, rule, value in queued(cardinal)] == [
        ("fix", "column", ""),
        ("investigate", "command", "alice"),
        ("investigate", "repeat", "r2"),
    ]


def test_an_investigation_of_a_card_with_a_pull_request_leaves_that_as_it_is(cardinal: Cardinal) -> None:
    cardinal.scenario(investigate=[FOUND], work=WORK)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    pull = cardinal.pull_of(item)
    before = (pull.issue.body, pull.draft, cardinal.card(item).pull_head)
    cardinal.say(item, "/cardinal investigate")
    cardinal.catch_up(work=True)
    assert cardinal.events(FindingsReported)
    assert (pull.issue.body, pull.draft, cardinal.card(item).pull_head) == before
