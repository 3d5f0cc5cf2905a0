"""The gate and its way out: what somebody else pushed is checked by a run without an agent, then merged."""

import pytest

from bot.runspec import builder
from forge.store.board import Item
from forge.store.models import CheckRun, Pull
from ledger.events.pull import PullChanged
from ledger.events.run import CommandChecked, RunEnded, RunQueued, SessionStarted, ValidationEnded
from ledger.ids import RunId
from ledger.states import Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_check_buttons import buttons, press
from tests.bot.flows.pulls.test_review import delivered, review
from tests.bot.flows.runs.test_dependencies import block
from tests.bot.flows.runs.test_validation import NONE, set_rules
from tests.bot.flows.settings import POLICY

BROKEN: dict[str, bytes | None] = {"tests/test_broken.py": b"raise SystemExit('broken on purpose')\n"}
SOUND: dict[str, bytes | None] = {"sound.txt": b"sound\n"}


def push(cardinal: Cardinal, pull: Pull, files: dict[str, bytes | None]) -> str:
    """Push to the pull request's branch as a person; return the commit."""
    return cardinal.forge.store.repos.write_files(
        cardinal.repo, pull.head_ref, files, "By hand", actor=cardinal.person("alice")
    )


def checks_on(cardinal: Cardinal, head: str) -> CheckRun:
    """Return Cardinal's one check on the commit."""
    check_runs = cardinal.forge.store.checks.on_commit(cardinal.repo, head)
    (check_run,) = (run for run in check_runs if run.name == "cardinal/gate")
    return check_run


def checks_on_face(cardinal: Cardinal, item: Item) -> tuple[str | None, str | None]:
    face = cardinal.face(item)
    return face.get("Validation"), face.get("Waits for")


def in_progress(cardinal: Cardinal) -> Item:
    return delivered(cardinal, column="In Progress")


def kinds(cardinal: Cardinal) -> list[str]:
    return [event.kind for event in cardinal.events(RunQueued)]


@pytest.mark.after(scene=delivered)
def test_what_somebody_pushes_under_review_is_checked_without_an_agent_and_merged_then(
    cardinal: Cardinal,
) -> None:
    item = cardinal.newest
    pull, before = cardinal.pull_of(item), cardinal.run_of(item)
    head = push(cardinal, pull, SOUND)
    cardinal.catch_up(work=True)
    check = checks_on(cardinal, head)
    assert (check.status, check.conclusion) == ("completed", "success")
    said = check.output["summary"]
    (ran,) = cardinal.events(CommandChecked)
    assert ran.head == head
    assert all(word in said for word in (head, ran.base, ran.log_digest, "exit code", "without an image"))
    assert kinds(cardinal) == ["first", "check"]
    assert cardinal.run_of(item) == before  # it is no attempt: what the card's run said and did stands
    assert cardinal.events(SessionStarted) == []
    assert cardinal.events(RunQueued)[-1].by == "push"
    assert not list((cardinal.services.config.home / "workspaces").glob("check-*"))
    review(cardinal, pull, "APPROVE")
    cardinal.drag(item, "Done")
    cardinal.catch_up(work=True)
    assert pull.merged_at is not None
    assert cardinal.card(item).state == "done"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_a_push_that_breaks_the_checks_is_not_merged_and_the_card_says_why(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    head = push(cardinal, pull, BROKEN)
    cardinal.catch_up(work=True)
    assert checks_on(cardinal, head).conclusion == "failure"
    assert "broken on purpose" in checks_on(cardinal, head).output["summary"]
    assert f"the checks failed on its commit {head[:7]}" in cardinal.card(item).because
    review(cardinal, pull, "APPROVE")
    cardinal.drag(item, "Done")
    cardinal.catch_up(work=True)
    assert pull.merged_at is None
    assert cardinal.card(item).state == "blocked"
    assert "the checks failed" in cardinal.card(item).because
    assert kinds(cardinal) == ["first", "check"]
    mended = push(cardinal, pull, {"tests/test_broken.py": None})
    cardinal.catch_up(work=True)
    assert checks_on(cardinal, mended).conclusion == "success"
    assert pull.merged_at is None  # that commit is not approved
    assert "approved commit" in cardinal.card(item).because
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=in_progress)
def test_a_commit_that_nobody_checked_says_so_and_a_button_has_it_checked(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    before = pull.head_sha
    head = push(cardinal, pull, SOUND)
    cardinal.catch_up(work=True)
    assert checks_on_face(cardinal, item) == ("not run", "a review")
    stale = checks_on(cardinal, head)
    assert (stale.conclusion, kinds(cardinal)) == ("action_required", ["first"])
    assert stale.output["title"].startswith("Not checked: Cardinal")
    assert checks_on(cardinal, before).conclusion == "success"  # what was published stays with its commit
    assert buttons(stale) == ["Check", "Explain"]
    press(cardinal, stale, "Check")
    assert (checks_on(cardinal, head).status, kinds(cardinal)[-1]) == ("in_progress", "check")
    cardinal.catch_up()
    assert checks_on_face(cardinal, item) == ("⏳ running", "checks")
    cardinal.catch_up(work=True)
    assert checks_on_face(cardinal, item) == ("✅ passed", "a review")
    assert checks_on(cardinal, head).conclusion == "success"
    assert buttons(checks_on(cardinal, head)) == ["Explain"]
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert (cardinal.run_of(item).kind, cardinal.run_of(item).attempt) == ("retry", 2)


@pytest.mark.after(scene=in_progress)
def test_an_unchecked_commit_that_is_dragged_to_done_is_checked_first(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    push(cardinal, pull, SOUND)
    cardinal.catch_up()
    review(cardinal, pull, "APPROVE")
    cardinal.drag(item, "Done")
    cardinal.catch_up()
    assert pull.merged_at is None
    assert "is checked first" in cardinal.card(item).because
    cardinal.catch_up(work=True)
    assert pull.merged_at is not None
    assert cardinal.card(item).state == "done"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_a_push_during_the_check_is_checked_as_well(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    first = push(cardinal, pull, SOUND)
    cardinal.catch_up()
    assert kinds(cardinal) == ["first", "check"]
    run_id = cardinal.events(RunQueued)[-1].run_id
    assert cardinal.claim(run_id)
    second = push(cardinal, pull, {"more.txt": b"more\n"})
    cardinal.catch_up()
    cardinal.write(
        run_id,
        ValidationEnded(run_id, 1, "full", True, first, "b" * 40, "local", clean=True),
        RunEnded(run_id, Ending.SUCCEEDED, "", "", "validating"),
    )
    cardinal.catch_up(work=True)
    assert kinds(cardinal) == ["first", "check", "check"]
    assert checks_on(cardinal, second).conclusion == "success"


@pytest.mark.after(scene=delivered)
def test_pushes_without_end_are_not_checked_without_end(cardinal: Cardinal) -> None:
    item = cardinal.newest
    pull = cardinal.pull_of(item)
    for number in range(8):
        push(cardinal, pull, {"more.txt": b"%d\n" % number})
        cardinal.catch_up()
        run_id = cardinal.events(RunQueued)[-1].run_id
        if cardinal.run(run_id).state == "queued":
            cardinal.say(item, "/cardinal cancel")
            cardinal.catch_up()
            assert cardinal.run(run_id).ending is Ending.CANCELLED
    assert len(cardinal.events(PullChanged)) >= 8
    assert kinds(cardinal).count("check") == 6
    assert "/cardinal check starts another" in cardinal.card(item).because


@pytest.mark.parametrize("pushed", [False, True])
def test_the_command_says_why_there_is_nothing_to_check(cardinal: Cardinal, pushed: bool) -> None:
    item = delivered(cardinal) if pushed else cardinal.new(column="In Progress")
    cardinal.catch_up()
    if pushed:
        cardinal.say(item, "/cardinal check")
    cardinal.say(item, "/cardinal check")
    cardinal.catch_up()
    said = "is already checking it" if pushed else "there is no open pull request"
    assert any(said in one for one in cardinal.told(item))


def test_the_gates_definition_is_the_base_branchs_whatever_the_branch_says(cardinal: Cardinal) -> None:
    policy = b"version: 1\nrepository:\n  validation: {full: ['true']}\n"
    item = delivered(cardinal)
    pull = cardinal.pull_of(item)
    head = push(cardinal, pull, {**BROKEN, ".github/cardinal.yml": policy})
    cardinal.catch_up(work=True)
    (ran,) = cardinal.events(CommandChecked)
    assert (ran.command, ran.head) == ("python3 -m unittest discover -s tests -t .", head)
    assert checks_on(cardinal, head).conclusion == "failure"


def test_an_agent_that_rewrites_the_gates_definition_is_judged_by_the_old_one(cardinal: Cardinal) -> None:
    policy = "version: 1\nrepository:\n  validation: {full: ['true']}\n"
    cardinal.scenario(
        work=[
            {"edit": {"path": ".github/cardinal.yml", "content": policy}},
            {"edit": {"path": "tests/test_broken.py", "content": "raise SystemExit('broken')\n"}},
            {"commit": "All checks pass"},
            {"finish": {"done": "Everything is green."}},
        ]
    )
    item: Item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    ran = [event for event in cardinal.events(CommandChecked) if event.tier == "full"]
    assert {event.command for event in ran} == {"python3 -m unittest discover -s tests -t ."}
    assert all(event.exit_code != 0 for event in ran)
    assert cardinal.card(item).pull_number is None


def test_a_check_waits_for_no_other_issue(cardinal: Cardinal) -> None:
    item, other = delivered(cardinal), cardinal.new("Tables")
    block(cardinal, item, other)
    cardinal.catch_up()
    head = push(cardinal, cardinal.pull_of(item), SOUND)
    cardinal.catch_up(work=True)
    assert checks_on(cardinal, head).conclusion == "success"
    cardinal.assert_nothing_is_stuck()


@pytest.mark.after(scene=delivered)
def test_a_commit_that_failed_may_be_merged_once_nothing_is_checked_on_purpose(cardinal: Cardinal) -> None:
    item = cardinal.newest
    head = push(cardinal, cardinal.pull_of(item), BROKEN)
    cardinal.catch_up(work=True)
    assert checks_on(cardinal, head).conclusion == "failure"
    set_rules(cardinal, NONE)
    cardinal.say(item, "/cardinal check")
    cardinal.catch_up(work=True)
    assert checks_on(cardinal, head).conclusion == "neutral"
    review(cardinal, cardinal.pull_of(item), "APPROVE")
    cardinal.drag(item, "Done")
    cardinal.catch_up(work=True)
    assert cardinal.pull_of(item).merged_at is not None


@pytest.mark.after(scene=delivered)
def test_a_check_starts_though_the_column_of_its_run_is_gone_and_full(cardinal: Cardinal) -> None:
    item = cardinal.newest
    for number in range(3):
        busy = cardinal.new(f"Card {number}", column="In Progress")
        cardinal.catch_up()
        cardinal.begin(cardinal.run_of(busy).run_id)
    cardinal.set_policy(POLICY.replace("In Progress:", "Renamed:"))
    push(cardinal, cardinal.pull_of(item), SOUND)
    cardinal.catch_up(work=True)
    (ended,) = cardinal.events(RunEnded)[1:]
    assert (ended.ending, kinds(cardinal)[-1]) == (Ending.SUCCEEDED, "check")


@pytest.mark.parametrize("waived", [False, True])
def test_checks_that_were_edited_since_are_run_before_the_merge(cardinal: Cardinal, waived: bool) -> None:
    if waived:
        set_rules(cardinal, NONE)
    item = delivered(cardinal)
    pull = cardinal.pull_of(item)
    push(cardinal, pull, SOUND)
    cardinal.catch_up(work=True)
    review(cardinal, pull, "APPROVE")
    set_rules(cardinal, "version: 1\nrepository: {validation: {full: ['test -f sound.txt']}}\n")
    cardinal.drag(item, "Done")
    cardinal.catch_up(work=True)
    assert pull.merged_at is None
    assert "the checks were changed on the default branch since it passed them" in cardinal.card(item).because
    assert cardinal.comment(item, "Run the checks on it with /cardinal check (no agent is started)")
    cardinal.say(item, "/cardinal check")
    cardinal.catch_up(work=True)
    assert cardinal.events(CommandChecked)[-1].command == "test -f sound.txt"
    assert pull.merged_at is not None


def test_a_draft_whose_checks_were_edited_since_stays_one_until_they_ran(cardinal: Cardinal) -> None:
    set_rules(cardinal, NONE)
    item = delivered(cardinal, column="In Progress")
    pull = cardinal.pull_of(item)
    cardinal.say(item, "/cardinal check")
    cardinal.catch_up(work=True)
    cardinal.forge.store.pulls.set_draft(pull, True, actor=cardinal.person("alice"))
    set_rules(cardinal, "version: 1\nrepository: {validation: {full: ['true']}}\n")
    cardinal.drag(item, "QA")
    cardinal.catch_up(work=True)
    assert pull.draft
    assert "the checks were changed on the default branch" in cardinal.card(item).because
    cardinal.say(item, "/cardinal check")
    cardinal.catch_up(work=True)
    assert not pull.draft


@pytest.mark.after(scene=in_progress)
def test_what_only_checks_gets_a_token_that_only_reads(cardinal: Cardinal) -> None:
    item = cardinal.newest
    push(cardinal, cardinal.pull_of(item), SOUND)
    cardinal.catch_up()
    cardinal.say(item, "/cardinal check")
    cardinal.catch_up()
    run_id = RunId("r2")
    assert cardinal.claim(run_id)
    order, remote = builder.build_spec(cardinal.services, run_id, cardinal.leases[run_id])
    assert (order.kind, remote.writes, remote.workflows) == ("check", False, False)


def publishing(cardinal: Cardinal) -> Item:
    """Return a card whose run is done and whose pull request has just been opened."""
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    cardinal.begin(run_id)
    cardinal.finish(run_id, files={"new.txt": b"1\n"})
    while cardinal.card(item).pull_number is None:
        cardinal.publish()
    assert cardinal.pull_of(item).draft
    return item


@pytest.mark.parametrize("files", [SOUND, BROKEN])
def test_draft_is_left_at_a_commit_that_passed_though_nobody_told_of_a_push(
    cardinal: Cardinal, files: dict[str, bytes | None]
) -> None:
    item = publishing(cardinal)
    pull = cardinal.pull_of(item)
    head = push(cardinal, pull, files)
    cardinal.mail.clear()
    cardinal.catch_up(work=True)
    assert pull.draft
    assert f"stays a draft: its commit {head[:7]} is not checked" in cardinal.card(item).because
    cardinal.say(item, "/cardinal check", "bob")
    cardinal.catch_up(work=True)
    assert pull.draft is (files is BROKEN)
    assert checks_on(cardinal, head).conclusion == ("failure" if files is BROKEN else "success")


@pytest.mark.parametrize("work", [True, False])
def test_who_pushes_and_requests_changes_while_cardinal_publishes_finds_the_card_say_so(
    cardinal: Cardinal, work: bool
) -> None:
    item = publishing(cardinal)
    pull = cardinal.pull_of(item)
    push(cardinal, pull, SOUND)
    review(cardinal, pull, "REQUEST_CHANGES", "Not so.")
    cardinal.catch_up(publish=False)  # GitHub takes its time for a check run
    cardinal.catch_up(work=work)
    assert cardinal.card(item).state == "changes_requested"
    assert (
        "an agent works on the thread" in cardinal.card(item).because
        or "open review comment" in cardinal.card(item).because
    )


@pytest.mark.after(scene=delivered)
def test_a_delivery_that_tells_what_is_known_costs_no_call(cardinal: Cardinal) -> None:
    pull = cardinal.pull_of(cardinal.newest)
    cardinal.forge.store.pulls.set_draft(pull, True, actor=cardinal.person("alice"))
    head = push(cardinal, pull, SOUND)
    cardinal.forge.gateway.calls.clear()
    cardinal.catch_up()
    asked = [call for call in cardinal.calls("GET ") if call.endswith(f"/pulls/{pull.number}")]
    assert len(asked) == 1  # by the first of the two
    card = cardinal.card(cardinal.newest)
    assert (card.pull_draft, card.pull_head) == (True, head)
