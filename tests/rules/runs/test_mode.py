"""Which mode a run is in: a command before a label, a label before the column, a repeat as before."""

from dataclasses import replace
from typing import Any

import pytest

from ledger.events.pull import CheckFailure, ChecksSettled
from ledger.events.run import RunEnded
from ledger.rows.findings import FollowUpRow
from ledger.states import CardState, Ending, RunKind
from rules.chatops.parser import Mistyped, Parsed, of_box, parse, parse_mention
from rules.columns import execution
from rules.intents.internal import ChangeCardState, QueueRun
from rules.intents.outbound import CreateCard, MarkReady, MoveCard, WriteFindings
from rules.policy.model import Policy
from rules.runs.mode import Chosen, again, choose_mode
from rules.runs.start import start
from rules.snapshot import Snapshot
from tests.rules.commands.cases import handled, told
from tests.rules.scene import (
    CARD,
    NOW,
    R1,
    asks,
    card,
    ci_row,
    ended,
    findings,
    given,
    kinds,
    only,
    policy,
    pull,
    under,
)

BOTH = ("cardinal:fix", "cardinal:investigate")
READS = policy("In Progress: {archetype: execution, mode: investigate}")
FIXES = policy("In Progress: {archetype: execution}")
SCRATCH = policy("In Progress: {archetype: execution, workspace: scratch}")
LOOKED = ended(mode="investigate", plan_revision=0, plan_approved=False)
DONE = RunEnded(R1, Ending.SUCCEEDED, "", "", "working")


def named(**labels: str) -> Policy:
    board = FIXES.board
    modes = board.modes.model_copy(update={"labels": {"look first": "investigate"} | labels})
    return FIXES.model_copy(update={"board": board.model_copy(update={"modes": modes})})


@pytest.mark.parametrize(
    ("by", "labels", "wanted"),
    [
        (FIXES, (), Chosen("fix", "column")),
        (READS, (), Chosen("investigate", "column")),
        (FIXES, ("bug",), Chosen("fix", "column")),
        (FIXES, BOTH[1:], Chosen("investigate", "label", "cardinal:investigate")),
        (READS, BOTH[:1], Chosen("fix", "label", "cardinal:fix")),
        (READS, ("Cardinal:Fix",), Chosen("fix", "label", "Cardinal:Fix")),
        (FIXES, BOTH, Chosen("investigate", "label", "cardinal:investigate")),
        (FIXES, BOTH[::-1], Chosen("investigate", "label", "cardinal:investigate")),
        (named(), ("look first",), Chosen("investigate", "label", "look first")),
        (named(), BOTH[1:], Chosen("fix", "column")),
        (SCRATCH, (), Chosen("scratch", "column")),
        (SCRATCH, BOTH[:1], Chosen("scratch", "label", "cardinal:fix")),
        (SCRATCH, BOTH[1:], Chosen("investigate", "label", "cardinal:investigate")),
        (named(research="scratch"), ("research",), Chosen("scratch", "label", "research")),
        (named(research="scratch"), ("research", "look first"), Chosen("investigate", "label", "look first")),
    ],
)
def test_a_label_says_it_before_the_column_and_two_that_disagree_read_only(
    by: Policy, labels: tuple[str, ...], wanted: Chosen
) -> None:
    assert choose_mode(by, under(by, card(labels=labels))) == wanted


@pytest.mark.parametrize(
    ("snapshot", "wanted"),
    [
        (card(run=ended(Ending.FAILED, mode="investigate", mode_rule="command")), ("investigate", "repeat")),
        (card(run=ended(Ending.LOST, mode="investigate", mode_rule="repeat")), ("investigate", "repeat")),
        (card(run=ended(mode="investigate", mode_rule="command")), ("fix", "column")),
        (card(run=ended(Ending.FAILED, mode="investigate", mode_rule="label")), ("fix", "column")),
        (
            card(run=ended(Ending.FAILED, mode="investigate", mode_rule="command", column="Other")),
            ("fix", "column"),
        ),
        (
            card(labels=BOTH[:1], run=ended(Ending.FAILED, mode="investigate", mode_rule="command")),
            ("fix", "label"),
        ),
        (card(), ("fix", "column")),
    ],
)
def test_a_retry_repeats_what_somebody_had_asked_for(snapshot: Snapshot, wanted: tuple[str, str]) -> None:
    chosen = again(FIXES, snapshot)
    assert (chosen.mode, chosen.rule) == wanted


@pytest.mark.parametrize("mode", ["fix", "investigate"])
@pytest.mark.parametrize("labels", [(), BOTH[:1], BOTH[1:]])
def test_a_command_wins_and_its_words_are_for_that_run(mode: str, labels: tuple[str, ...]) -> None:
    queued = only(handled(mode, card(labels=labels), "look at the till"), QueueRun)
    assert (queued.mode, queued.mode_rule, queued.mode_value) == (mode, "command", "bob")
    assert (queued.asked, queued.by) == ("look at the till", "bob")


@pytest.mark.parametrize("mode", ["fix", "investigate"])
@pytest.mark.parametrize(
    ("said", "words", "reproduces"),
    [
        ("--repro", "", True),
        ("--repro look at the till", "look at the till", True),
        ("--REPRO\nSteps:\n- open /", "Steps:\n- open /", True),
        ("—repro look", "look", True),  # as a telephone writes it
        ("--reproduce it", "--reproduce it", False),
        ("look --repro", "look", True),
        ("look --repro at the till\nand the bill", "look at the till\nand the bill", True),
        ("look --repro\nSteps:", "look\nSteps:", True),
        ("look –repro\tat the till", "look at the till", True),
        ("look\nwhat --repro does", "look\nwhat --repro does", False),
        ("look at `--repro`, and at x--repro", "look at `--repro`, and at x--repro", False),
        ("look at the till", "look at the till", False),
    ],
)
def test_a_reproduction_is_asked_for_by_a_word_of_the_first_line(
    mode: str, said: str, words: str, reproduces: bool
) -> None:
    queued = only(handled(mode, card(), said), QueueRun)
    assert (queued.asked, queued.reproduces) == (words, reproduces)


def test_an_investigation_needs_no_approval_and_is_never_a_revision() -> None:
    waits = card(run=ended(), pull=pull(), pending_threads=2)
    assert only(handled("investigate", waits), QueueRun) == QueueRun(
        CARD,
        RunKind.RETRY,
        "bob",
        plan_required=False,
        mode="investigate",
        mode_rule="command",
        mode_value="bob",
        door="comment",
    )
    assert only(handled("fix", waits), QueueRun).kind == "revision"
    assert only(handled("fix", card(run=LOOKED)), QueueRun).plan_required


@pytest.mark.parametrize("mode", ["fix", "investigate"])
def test_where_no_run_may_start_it_says_what_to_do(mode: str) -> None:
    assert "drag the card to an execution column" in told(mode, card("Review"))
    assert "is merged" in told(mode, card(run=ended(), pull=pull("merged")))


@pytest.mark.parametrize(
    ("changes", "starts"),
    [
        ({"run": LOOKED}, ["QueueRun"]),
        ({"run": LOOKED, "labels": BOTH[1:]}, []),
        ({"run": ended()}, []),
        ({"run": ended(), "labels": BOTH[1:]}, ["QueueRun"]),
    ],
)
def test_a_drag_starts_a_run_where_the_last_one_was_of_the_other_mode(
    changes: dict[str, Any], starts: list[str]
) -> None:
    found = kinds(start(FIXES, under(FIXES, card(**changes)), by="ann", now=NOW).intents)
    assert [one for one in found if one == "QueueRun"] == starts


def test_the_end_of_an_investigation_writes_findings_and_touches_no_pull_request() -> None:
    by = policy("In Progress: {archetype: execution, on_success: {move: Done}}\nDone: {archetype: terminal}")
    intents = asks(card(run=LOOKED, pull=pull(draft=True)), DONE, by=by)
    assert only(intents, WriteFindings).run_id == R1
    assert not [intent for intent in intents if isinstance(intent, MarkReady | MoveCard)]
    assert {"PostReport", "UpdatePull"}.isdisjoint(kinds(intents))
    assert {"PostReport", "MoveCard"} <= set(kinds(asks(card(run=ended()), DONE, by=by)))


def test_an_investigation_that_failed_reports_like_any_run() -> None:
    failed = RunEnded(R1, Ending.FAILED, "gave_up", "no findings", "working")
    intents = asks(card(run=ended(Ending.FAILED, mode="investigate")), failed)
    assert "PostReport" in kinds(intents)


def test_a_card_that_is_only_investigated_is_not_repaired_by_itself() -> None:
    event = ChecksSettled(CARD, "abc123", (CheckFailure("unit", "", "boom", False),), ())
    snapshot = card(run=ended(), pull=pull(), ci=ci_row("", 0))
    assert "QueueRun" in kinds(asks(snapshot, event, by=FIXES))
    read = asks(snapshot, event, by=READS)
    assert "QueueRun" not in kinds(read)
    assert any("/cardinal fix starts a run" in getattr(one, "text", "") for one in read)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("@cardinal fix", Parsed("fix", "")),
        ("@cardinal[bot] fix the till\nand the books\n> not this", Parsed("fix", "the till\nand the books")),
        ("\n  @CARDINAL Investigate", Parsed("investigate", "")),
        ("@cardinal fix\r\nthe till", Parsed("fix", "the till")),
        ("@cardinal fix #12", Parsed("fix", "#12")),
        ("@cardinal investigate why it is off", Parsed("investigate", "why it is off")),
        ("@cardinal fix\n> quoted\nThanks", Parsed("fix", "Thanks")),
        ("@cardinal approve", None),
        ("@cardinal", None),
        ("@cardinal fix, please", None),
        ("@cardinalfix it", None),
        ("@cardinals fix it", None),
        ("@cardinal fixes it", None),
        ("@cardinal please fix it", None),
        ("Hello @cardinal fix it", None),
        ("```\n@cardinal fix it\n```", None),
        ("cardinal fix", None),
        ("`@cardinal fix`", None),
        ("> @cardinal fix", None),
        ("    @cardinal fix", None),
        ("\t@cardinal\u00a0fix", Parsed("fix", "")),
        ("Hi\n@cardinal fix", None),
        ("@other fix", None),
    ],
)
def test_a_mention_commands_on_the_first_line_only(text: str, wanted: Parsed | None) -> None:
    assert parse_mention(text, "cardinal") == wanted


@pytest.mark.parametrize(
    "text",
    [
        *(
            "fix is wrong",
            "fix looks good",
            "fix that you made is wrong",
            "fix for #12 is broken",
            "fix 2 fails",
        ),
        *("fix the till?", "fix\nis wrong", "fix ✅ works", "investigate is pointless", "fix nothing"),
    ],
)
def test_a_mention_that_may_speak_of_a_fix_starts_nothing_and_is_asked_about(text: str) -> None:
    answer = parse_mention(f"@cardinal {text}", "cardinal")
    assert isinstance(answer, Mistyped)
    assert answer.because.startswith("Nothing was started: is that for an agent? Then write `/cardinal ")


def test_without_a_name_nothing_is_a_mention() -> None:
    assert parse_mention("@cardinal fix", "") is None


def test_an_optional_text_may_be_left_out_and_go_over_lines() -> None:
    assert parse("/cardinal investigate") == Parsed("investigate", "")
    assert parse("/cardinal investigate a\nb") == Parsed("investigate", "a\nb")
    assert isinstance(parse("/cardinal investgate"), Mistyped)


INVESTIGATED = card(findings=findings("Card 1", "Card 2"), made=(FollowUpRow(R1, 2, "acme/shop", 9),))


@pytest.mark.parametrize("argument", ["1", "#1", "r1:1"])
def test_a_follow_up_is_made_by_its_number(argument: str) -> None:
    intents = handled("follow-up", INVESTIGATED, argument)
    assert only(intents, CreateCard) == CreateCard(CARD, R1, 1, "Card 1", "Body", "why", again=True)


@pytest.mark.parametrize(
    ("argument", "said"),
    [("2", "acme/shop#9 already"), ("3", "have 1 to 2"), ("", "have 1 to 2"), ("r7:1", "have 1 to 2")],
)
def test_a_follow_up_that_cannot_be_made_says_why(argument: str, said: str) -> None:
    assert said in told("follow-up", INVESTIGATED, argument)


def test_without_findings_there_is_no_follow_up() -> None:
    assert "`/cardinal investigate` starts one" in told("follow-up", card(), "1")


def test_a_tick_names_the_run_whose_follow_up_it_is() -> None:
    assert of_box("followup:r12:3") == Parsed("follow-up", "r12:3")
    assert of_box("followup:12:3") is None


def test_a_card_that_was_investigated_is_complete_and_says_what_comes_next() -> None:
    intents = asks(card(state=CardState.WORKING, run=LOOKED), DONE)
    assert "read its findings; /cardinal fix" in only(intents, ChangeCardState).because


@pytest.mark.parametrize("command", ["fix", "retry"])
def test_no_command_lets_an_agent_work_on_a_clone_where_the_column_has_none(command: str) -> None:
    queued = only(asks(card(run=ended(mode="scratch")), given(command), by=SCRATCH), QueueRun)
    assert (queued.mode, queued.kind) == ("scratch", "retry")


def test_what_was_done_in_an_empty_place_is_done_and_a_clone_has_still_to_be_worked_on() -> None:
    there = card(run=ended(mode="scratch"))
    assert "QueueRun" not in kinds(start(SCRATCH, under(SCRATCH, there), by="alice", now=NOW).intents)
    assert only(start(FIXES, under(FIXES, there), by="alice", now=NOW).intents, QueueRun).mode == "fix"


def test_a_review_of_an_older_pull_request_starts_no_revision_without_the_repository() -> None:
    asked = card(pull=pull(), verdict="changes_requested", run=ended(Ending.FAILED, mode="scratch"))
    queued = only(start(SCRATCH, under(SCRATCH, asked), by="alice", now=NOW).intents, QueueRun)
    assert (queued.mode, queued.kind) == ("scratch", "retry")
    done = replace(asked, run=ended(mode="scratch"))
    assert "QueueRun" not in kinds(start(SCRATCH, under(SCRATCH, done), by="alice", now=NOW).intents)


def test_a_run_without_the_repository_leaves_an_older_pull_request_as_it_is() -> None:
    intents = asks(card(run=ended(mode="scratch"), pull=pull(draft=True)), DONE, by=SCRATCH)
    assert {"UpdatePull", "MarkReady"}.isdisjoint(kinds(intents))
    steps = [intent for intent in intents if isinstance(intent, ChangeCardState)]
    assert steps[-1].after is CardState.WORK_COMPLETE
    assert "read its report and files" in steps[-1].because


def test_a_red_check_of_an_older_pull_request_starts_no_repair_without_the_repository() -> None:
    event = ChecksSettled(CARD, "abc123", (CheckFailure("unit", "", "boom", False),), ())
    red = card(run=ended(mode="scratch"), pull=pull(), ci=ci_row("", 0))
    assert "QueueRun" not in kinds(asks(red, event, by=SCRATCH))


def test_the_column_says_that_no_pull_request_comes() -> None:
    written = "A: {archetype: execution, workspace: scratch, checks: [a, b], on_success: {move: B}}\n"
    column = policy(f"{written}B: {{archetype: inbox}}").board.columns["A"]
    said = execution.headline(column)
    assert said.startswith(
        "An agent works in an empty place, no pull request: plan first, 2 checks, up to $2"
    )
    assert said.endswith("Then: success → B.")


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("journal", "An agent works in the folder `journal`"),
        ("card", "An agent works in a folder of the card"),
    ],
)
def test_a_folder_has_a_mode_of_its_own_and_the_column_names_it(folder: str, said: str) -> None:
    by = policy(f"In Progress: {{archetype: execution, workspace: folder, folder: {folder}}}")
    assert choose_mode(by, under(by, card())) == Chosen("folder", "column")
    assert execution.headline(by.board.columns["In Progress"]).startswith(said)
