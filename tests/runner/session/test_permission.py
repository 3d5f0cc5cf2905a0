"""The tool policy: what an agent may do unasked, what people are asked first, what is refused."""

import pytest

from runner.agents.contract import PermissionAsked
from runner.run.run_spec import ToolSpec
from runner.session.permission import (
    PermissionDecision,
    ToolPermission,
    judge_request,
    matches,
    permission_question,
)

ALLOW, ASK, DENY = PermissionDecision.ALLOW, PermissionDecision.ASK, PermissionDecision.DENY
PUSH = ToolSpec(ask=("git push:*",))
NONE = ToolPermission()


def run(command: str) -> PermissionAsked:
    return PermissionAsked("1", "run", "Bash", command)


def edit(path: str = "a.py") -> PermissionAsked:
    return PermissionAsked("1", "edit", "Write", path)


@pytest.mark.parametrize(
    ("asked", "tools", "decision"),
    [
        (run("ls"), ToolSpec(), ALLOW),
        (run("ls"), ToolSpec(run="ask"), ASK),
        (run("ls"), ToolSpec(run="deny"), DENY),
        (run("git commit -m x"), ToolSpec(commit="deny"), DENY),
        (run("git add -A && git commit -m x"), ToolSpec(commit="ask"), ASK),
        (run("git status"), ToolSpec(commit="deny"), ALLOW),
        (run("git push origin main"), PUSH, ASK),
        (run("true; git push"), PUSH, ASK),
        (run("X=1 git push -f"), PUSH, ASK),
        (run('echo "$(git push)"'), PUSH, ASK),
        (run("'git' push"), PUSH, ASK),
        (run("sudo -u x git push"), PUSH, ASK),
        (run("env -i A=1 git push"), PUSH, ASK),
        (run("git pushy"), PUSH, ALLOW),
        (run("rm -rf /"), ToolSpec(deny=("rm -rf /*", "rm -rf /")), DENY),
        (run("ls | rm -rf /etc"), ToolSpec(deny=("rm -rf /*",)), DENY),
        (run("git push"), ToolSpec(ask=("git push:*",), deny=("git push:*",)), DENY),
        (edit(), ToolSpec(), ALLOW),
        (edit(), ToolSpec(edit="ask"), ASK),
        (edit(), ToolSpec(edit="deny"), DENY),
        (PermissionAsked("1", "other", "Task", ""), ToolSpec(ask=("Task",)), ASK),
        (PermissionAsked("1", "other", "Task", ""), ToolSpec(), ALLOW),
        (PermissionAsked("1", "board", "mcp__board__plan", ""), ToolSpec(run="deny", edit="deny"), ALLOW),
        (PermissionAsked("1", "read", "Read", "/etc/passwd"), ToolSpec(run="deny"), ALLOW),
    ],
)
def test_the_policy_decides(asked: PermissionAsked, tools: ToolSpec, decision: PermissionDecision) -> None:
    judged = judge_request(asked, tools, NONE, read_only=False)
    assert judged.decision is decision
    assert bool(judged.why) == (decision is not ALLOW)


def test_a_plan_turn_edits_nothing_whatever_the_policy_says() -> None:
    assert judge_request(edit(), ToolSpec(), NONE, read_only=True).decision is DENY


def test_a_line_with_more_parts_than_are_read_is_refused_where_patterns_count() -> None:
    long = "true;" * 300 + "git push"
    assert judge_request(run(long), PUSH, NONE, read_only=False).decision is DENY
    assert judge_request(run(long), ToolSpec(), NONE, read_only=False).decision is ALLOW


@pytest.mark.parametrize(
    ("granted", "command", "decision"),
    [
        (ToolPermission(["git push origin main"]), "git push origin main", ALLOW),
        (ToolPermission(["git push origin main"]), "git push origin dev", ASK),
        (ToolPermission(["git push *"]), "git push origin", ASK),  # a command that holds a star is no pattern
        (ToolPermission(["git push *"]), "git push *", ALLOW),
        ("git push:*", "git push origin dev", ALLOW),
        ("git push:*", "git push && curl evil", ASK),  # leave for one is none for its neighbour
        ("git push:*", "cd x && git push", ASK),
    ],
)
def test_leave_is_for_what_was_asked_about(
    granted: ToolPermission | str, command: str, decision: PermissionDecision
) -> None:
    permission = ToolPermission((), [granted]) if isinstance(granted, str) else granted
    assert judge_request(run(command), PUSH, permission, read_only=False).decision is decision


def test_leave_does_not_lift_a_refusal() -> None:
    tools = ToolSpec(deny=("git push:*",))
    assert (
        judge_request(
            run("git push"), tools, ToolPermission(["git push"], ["git push"]), read_only=False
        ).decision
        is DENY
    )


def test_what_a_person_did_not_allow_is_not_asked_again() -> None:
    judged = judge_request(run("git push"), PUSH, NONE, read_only=False, refused=("git push",))
    assert (judged.decision, "a person" in judged.why) == (DENY, True)
    assert (
        judge_request(run("git push x"), PUSH, NONE, read_only=False, refused=("git push",)).decision is ASK
    )


@pytest.mark.parametrize(
    ("pattern", "command", "meant"),
    [
        ("npm publish", "npm publish", True),
        ("npm publish", "npm publish --tag x", False),
        ("npm publish:*", "npm  publish   --tag x", True),
        ("npm *", "npm run x", True),
        ("*", "anything", True),
        ("curl:*", "curly", False),
    ],
)
def test_patterns(pattern: str, command: str, meant: bool) -> None:
    assert matches(pattern, command) is meant


def test_a_question_shows_the_command_in_one_line_without_controls() -> None:
    text = permission_question(run("git push\n\x1b[31mnow"), "the policy asks")
    assert "git push ⏎ [31mnow" in text
    assert judge_request(run("git push " + "é" * 2_100), PUSH, NONE, read_only=False).decision is DENY
    hidden = f"git push {' ' * 3_000}# {'x' * 900} now"
    assert hidden.split()[-1] in permission_question(run(hidden), "the policy asks")
    assert "\x1b" not in text
