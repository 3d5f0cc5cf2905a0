"""A command is the first line of a comment and nothing else; who may give it is said by the policy."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rows.limit_answers import SPENDING, Subject
from rules.chatops.parser import (
    Mistyped,
    Parsed,
    Permitted,
    RefusedCommand,
    group_by_permission,
    may_answer,
    of_box,
    parse,
    parse_edit,
    permit,
    plan_of_approval,
    question_of_choice,
)
from rules.commands.help import command_table
from rules.policy.model import Policy
from rules.policy.model import parse as read
from rules.registry import COMMANDS
from tests.rules.policy.test_policy import WHOLE
from tests.rules.scene import POLICY


@pytest.mark.parametrize(
    ("body", "command", "argument"),
    [
        ("/cardinal approve", "approve", ""),
        ("/Cardinal APPROVE  ", "approve", ""),
        ("\n  /cardinal\tstop-all\r\nplease", "stop-all", ""),
        ("/cardinal approve\nthank you", "approve", ""),
        ("/cardinal redirect use SQLite", "redirect", "use SQLite"),
        ("/cardinal redirect use\nSQLite\n> quoted\nnot MySQL", "redirect", "use\nSQLite\nnot MySQL"),
        ("/cardinal answer 2", "answer", "2"),
        ("/cardinal pause board", "pause", "board"),
        ("/cardinal", "help", ""),
        ("/cardinal help me", "help", "me"),
    ],
)
def test_a_command_is_read(body: str, command: str, argument: str) -> None:
    assert parse(body) == Parsed(command, argument)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "please /cardinal approve",
        "> /cardinal approve",
        "Here is how:\n```\n/cardinal approve\n```\nand so on",
        "Say\n    /cardinal approve\nfor that",
        "<!-- /cardinal approve -->",
        "/cardinal/approve is where it lives",
        "/cardinal.yml has it",
        "/carding of wool",
        "we use `/cardinal approve` for that",
    ],
)
def test_anything_else_is_no_command(body: str) -> None:
    assert parse(body) is None


@pytest.mark.parametrize(
    "body",
    [
        "/cardinal\u00a0approve",
        "/cardinal\u202fapprove",
        "\ufeff/cardinal approve",
        "/car\u200bdinal approve",
        "/cardinal approve\u2060",
        "\t/cardinal approve",
        "/cardinal\u3000approve",
        "/cardinal\u2028approve",
        "  \n\u00a0\n\n/cardinal approve",
        "\u200e/cardinal approve",
    ],
)
def test_signs_that_nobody_sees_count_for_nothing(body: str) -> None:
    assert parse(body) == Parsed("approve", "")


def test_an_emoji_in_a_text_keeps_its_joiner() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert parse(f"/cardinal redirect draw {family}") == Parsed("redirect", f"draw {family}")


@pytest.mark.parametrize(
    "body",
    [
        "`/cardinal approve`",
        "**/cardinal approve**",
        "```\n/cardinal approve\n```",
        "    /cardinal approve",
        "- /cardinal approve",
        "1. /cardinal approve",
        "hello\n/cardinal approve",
        "hello\n\n`/cardinal approve`",
        "> quoted\n\n/cardinal approve",
        "/cardinals approve",
        "/cardinal-approve",
        "/cardinal: approve",
        "//cardinal approve",
        "/ cardinal approve",
        "\\/cardinal approve",
        "/cardnal approve",
        "<!-- x -->\n/cardinal approve",
        "/cardinalapprove",
        "/ｃａｒｄｉｎａｌ approve",
        "／cardinal approve",
        "/\u0441ardinal approve",
        "\u202e/cardinal approve",
    ],
)
def test_what_looks_like_a_command_and_is_none_is_answered_with_how_to_write_it(body: str) -> None:
    read = parse(body)
    assert isinstance(read, Mistyped)
    assert read.word == "approve"
    assert "Write `/cardinal approve` in a new comment" in read.because


@pytest.mark.parametrize("first", ["retry", "redirect use SQLite"])
def test_of_two_commands_in_one_comment_none_is_carried_out_and_both_are_named(first: str) -> None:
    read = parse(f"/cardinal {first}\nand\n/cardinal approve")
    assert isinstance(read, Mistyped)
    assert (
        "one command. Write `/cardinal approve` in a comment of its own, and this one again" in read.because
    )


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        ("/cardinal aprove", "/cardinal approve", True),
        ("hello", "/cardinal approve", True),
        ("/cardinal redirect a", "/cardinal redirect b", True),
        ("/cardinal approve", "`/cardinal approve`", True),
        ("/cardinal approve", "/cardinal approve\nthanks", False),
        ("/cardinal approve", "never mind", False),
        ("hello", "hello, all", False),
    ],
)
def test_an_edit_gives_no_command_and_says_so(before: str, now: str, told: bool) -> None:
    assert (parse_edit(before, now) is not None) is told


def test_no_word_of_a_mistyped_command_passes_for_a_door() -> None:
    read = parse("/cardinal box:approve:r1:1")
    assert isinstance(read, Mistyped)
    assert ":" not in read.word


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("/cardinal aprove", "Did you mean `/cardinal approve`?"),
        ("/cardinal xyzzy", "There is no command `xyzzy`. `/cardinal help` lists all."),
        ("/cardinal stop_all", "Did you mean `/cardinal stop-all`?"),
        ("/cardinal __init__", "There is no command `__init__`."),
        ("/cardinal ../../etc/passwd", "There is no command `../../etc/passwd`."),
        (
            "/cardinal approve but only the first step",
            "takes no text, so nothing was done. To change",
        ),
        ("/cardinal redirect", "needs a text: `/cardinal redirect <text>`."),
        ("/cardinal `@everyone`<script>", "There is no command `´@everyone´<script>`."),
    ],
)
def test_a_mistyped_command_is_told_what_would_be_right(body: str, said: str) -> None:
    found = parse(body)
    assert isinstance(found, Mistyped)
    assert said in found.because


@pytest.mark.parametrize("name", [name for name in COMMANDS.names()])
def test_a_command_below_which_more_is_said_is_asked_about_unless_it_is_safe(name: str) -> None:
    command = COMMANDS.load(name)
    typed = f"/cardinal {name}{' x' if command.TAKES == 'text' else ''}"
    assert isinstance(parse(f"{typed}\n\nThanks,\nBob"), Parsed)
    doubted = parse(f"{typed}\nNO WAIT")
    if command.IS_SAFE or "text" in command.TAKES:
        assert isinstance(doubted, Parsed)
    else:
        assert isinstance(doubted, Mistyped)
        assert "nothing was done. If you want it, write it alone in a new comment." in doubted.because


def test_what_stops_work_is_safe() -> None:
    safe = {name for name in COMMANDS.names() if COMMANDS.load(name).IS_SAFE}
    assert safe == {"block", "cancel", "compare", "explain", "help", "pause", "status", "stop-all"}


@pytest.mark.parametrize("line", ["/carding x", "/cardina qqq", "/cardinalx", "//////", "`/cardinal"])
@pytest.mark.parametrize("first", ["hi", "/cardinal approve"])
def test_a_comment_of_lines_that_look_like_commands_is_read_soon(first: str, line: str) -> None:
    parse(first)
    begun_s = time.process_time()
    parse("\n".join((first, *(f"{line}{number:x}" for number in range(4_000)))))
    assert time.process_time() - begun_s < 0.05


def test_a_megabyte_of_text_is_cut_and_costs_nothing() -> None:
    found = parse("/cardinal redirect " + "x" * 1_000_000)
    assert isinstance(found, Parsed)
    assert len(found.argument) == 8000
    assert isinstance(parse("/cardinal " + "y" * 1_000_000), Mistyped)
    assert parse("\n" * 1_000_000 + "/cardinal approve") is None


@given(st.text() | st.text(" \n\r\t/cardinl approve>`", max_size=40).map("/cardinal".__add__))
def test_any_comment_is_read_without_an_error(body: str) -> None:
    found = parse(body)
    assert found is None or len(found.because if isinstance(found, Mistyped) else found.command) < 400


@pytest.mark.parametrize("name", COMMANDS.names())
def test_every_command_can_be_typed(name: str) -> None:
    assert isinstance(parse(f"/cardinal {name} words"), Parsed | Mistyped)
    assert isinstance(parse(f"/cardinal {name}"), Parsed | Mistyped)


def test_a_ticked_box_stands_for_a_command() -> None:
    assert of_box("cancel") == Parsed("cancel", "")
    assert of_box("approve:r1:2") == Parsed("approve", "")
    assert plan_of_approval("box:approve:r1:2") == ("r1", 2)
    assert plan_of_approval("77") is None
    assert of_box("choice:r1-q2:3") == Parsed("answer", "3")
    assert question_of_choice("box:choice:r1-q2:3") == "r1-q2"
    assert question_of_choice("77") == ""
    for name in ("stop-all", "choice:r1", "choice:../x:1", "", "choice:r1-q1:1\n", "approve", "approve:r1"):
        assert of_box(name) is None


@pytest.mark.parametrize(
    ("body", "role", "allowed"),
    [
        ("/cardinal approve", "write", True),
        ("/cardinal approve", "admin", True),
        ("/cardinal approve", "triage", False),
        ("/cardinal approve", "none", False),
        ("/cardinal approve", "made up by an organisation", False),
        ("/cardinal status", "read", True),
        ("/cardinal stop-all", "maintain", False),
        ("/cardinal stop-all", "admin", True),
        ("/cardinal pause", "write", True),
        ("/cardinal pause board", "write", False),
        ("/cardinal resume COLUMN", "write", False),
        ("/cardinal resume board", "admin", True),
    ],
)
def test_a_command_needs_its_role(body: str, role: str, allowed: bool) -> None:
    parsed = parse(body)
    assert isinstance(parsed, Parsed)
    assert isinstance(permit(POLICY, parsed, role=role, login="bob"), Permitted) is allowed


def test_the_policy_can_name_people_and_other_roles() -> None:
    policy = read(WHOLE, home="acme/board")
    approve = Parsed("approve", "")
    assert permit(policy, approve, role="read", login="ALICE") == Permitted()
    assert permit(policy, approve, role="maintain", login="bob") == Permitted()
    assert permit(policy, approve, role="write", login="bob") == RefusedCommand(
        "`/cardinal approve` needs `alice` or the role `maintain`; `bob` has the role `write` here."
    )


def test_a_refusal_names_the_scope_that_needs_more() -> None:
    refused = permit(POLICY, Parsed("pause", "board"), role="write", login="bob")
    assert refused == RefusedCommand(
        "`/cardinal pause board` needs the role `admin`; `bob` has the role `write` here."
    )


@pytest.mark.parametrize(
    ("command", "words", "does"),
    [
        ("complete", "", "move"),
        ("claim", "", "block"),
        ("claim", "", "assign"),
        ("unclaim", "", "unblock"),
        ("unclaim", "", "unassign"),
        ("block", "by #7", "link"),
        ("unblock", "by #7", "unlink"),
        ("resume", "column", "stop-all"),
    ],
)
def test_a_command_needs_the_roles_of_those_whose_work_it_does(command: str, words: str, does: str) -> None:
    strict = strict_policy(f"commands: {{{does}: [admin]}}")
    assert needed(strict, command, words, "maintain") == "needs the role `admin`"
    assert needed(strict, command, words, "admin") == ""


@pytest.mark.parametrize("command", ["move", "complete", "archive", "unarchive"])
def test_who_may_not_drag_a_card_may_not_move_it_in_words_either(command: str) -> None:
    strict = strict_policy("move: [admin, '@ann']")
    assert needed(strict, command, "", "maintain") == "needs the role `admin` or `@ann`"
    assert needed(strict, command, "", "admin") == ""
    assert needed(strict, command, "", "write", "ann") == ""
    assert needed(strict, command, "", "read", "ann") == "needs the role `write`"


def test_what_follows_from_another_role_is_not_named_beside_it() -> None:
    assert group_by_permission(POLICY, "claim") == (("write",),)
    assert group_by_permission(strict_policy("commands: {block: write, claim: triage}"), "claim") == (
        ("write",),
    )
    strict = strict_policy("commands: {assign: ['@ann'], block: [admin, '@ann']}")
    assert group_by_permission(strict, "claim") == (("write",), ("@ann",))
    assert "`write` and `@ann` |" in command_table(strict)


def needed(policy: Policy, command: str, words: str, role: str, login: str = "bob") -> str:
    answer = permit(policy, Parsed(command, words), role=role, login=login)
    if isinstance(answer, Permitted):
        return ""
    return re.sub(r"^`/cardinal [a-z #7]*` |;.*$", "", answer.because)


def strict_policy(rule: str) -> Policy:
    columns = "    In Progress: {archetype: execution}\n    Done: {archetype: terminal}\n"
    return read(f"version: 1\nboard:\n  {rule}\n  columns:\n{columns}", home="acme/board")


@pytest.mark.parametrize("subject", [*sorted(SPENDING), Subject.SIZE])
def test_whom_the_policy_trusts_with_the_budget_lifts_every_limit_of_spending(subject: Subject) -> None:
    strict = read(WHOLE, home="acme/board")  # `budget: maintain`
    answers = [may_answer(strict, subject, role=role, login="bob") for role in ("write", "maintain")]
    assert answers == [False, True]
    assert may_answer(strict, Subject.WORK, role="write", login="bob")
