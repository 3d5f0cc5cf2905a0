"""What an agent asks leave for is written down without secrets, and the answer still finds the command."""

import json
from dataclasses import replace
from typing import Any

import pytest

from ledger.events.run import QuestionAnswered, RunRequeued
from runner import agents, workspaces
from runner.agents.contract import Phase, Task
from runner.checks.places import tenancy
from runner.git.checkout import Checkout
from runner.git.mirror import Mirror
from runner.phases import work
from runner.run.run_spec import RunSpec, ToolSpec
from runner.run.secrecy import Secrecy
from runner.session.context import RunContext
from runner.session.listener import AgentListener
from runner.text.plain import REDACTED
from tests.runner.agents.claude_lines import LAYOUT, asking, written
from tests.runner.guards.test_guards import KEY
from tests.runner.world import RUN, World

PRIVATE = "the tills of the north are counted at noon"
PRIVATE_TOO = "the tills of the south are counted at dusk"
COMMAND = f"git push https://bob:{KEY}@example.org; echo {PRIVATE}"


def begun(world: World, spec: RunSpec | None = None) -> RunContext:
    """Return a run of whose skills one line is private; that order's run, claimed again, if one is given."""
    spec, log = world.claim(spec or world.spec())
    log.secrecy = Secrecy((PRIVATE, PRIVATE_TOO))
    workspace = workspaces.load("local").open(spec.paths, tenancy(spec))
    mirror = Mirror(spec.paths.mirrors, spec.repository, world.remote, log.beat)
    checkout = Checkout(workspace, mirror, spec.authorship.author, log.beat)
    return RunContext(spec, log, world.clock, agents.load("claude"), workspace, mirror, checkout)


def hearing(world: World, run: RunContext, sent: list[bytes], **said: Any) -> AgentListener:
    task = Task(
        phase=Phase.WORK, turn="work", prompt="Do it", run_id="r1", session_id="", model="default",
        read_only=False, max_turns=9, budget_usd=1.0, scenarios=world.places.mirrors,
        tools=ToolSpec(ask=("git push:*",)),
    )  # fmt: skip
    return AgentListener(run, replace(task, **said), agents.load("claude").begin(task, LAYOUT), sent.append)


@pytest.mark.parametrize(("said", "behavior"), [("granted", "allow"), ("refused", "deny")])
def test_a_command_with_a_secret_is_asked_about_without_it_and_known_again(
    world: World, said: str, behavior: str
) -> None:
    run = begun(world)
    sent: list[bytes] = []
    line = json.dumps(asking("Bash", {"command": COMMAND}))
    first = hearing(world, run, sent)
    first.line(line)
    assert first.parks
    assert sent == []
    asked, question = world.only("PermissionAwaited").command, world.only("QuestionAsked").text
    for text in (asked, question):
        assert KEY not in text
        assert PRIVATE not in text
        assert "git push" in text
    again = hearing(world, run, sent, **{said: (asked,)})
    again.line(line)
    assert not again.parks
    assert written(sent[-1])["response"]["response"]["behavior"] == behavior
    other = hearing(world, run, sent, **{said: (asked,)})
    other.line(json.dumps(asking("Bash", {"command": "git push --force"})))
    assert other.parks


def wish(world: World, run: RunContext, command: str, **said: Any) -> bool:
    """Return whether people are asked when the agent wants to run the command."""
    heard = hearing(world, run, [], **said)
    heard.line(json.dumps(asking("Bash", {"command": command})))
    return heard.parks


COMMENT = "echo ok # git push origin main"
LONG = f"git push origin {'x' * 2_500}"
SECRET = f"git push https://{KEY}@example.org"
ALIKE = {
    "redacted": (SECRET, SECRET.replace(KEY, KEY[:-1] + "_")),
    "as redacted": (SECRET.replace(KEY, REDACTED), SECRET),
    "cut": (LONG, f"{LONG} --force"),
    "line break": (COMMENT, COMMENT.replace("# ", "#\n")),
    "private": (f"git push; {PRIVATE}", f"git push; {PRIVATE_TOO}"),
}


@pytest.mark.parametrize(("first", "other"), ALIKE.values(), ids=ALIKE)
def test_leave_for_a_command_is_none_for_one_that_is_written_down_alike(
    world: World, first: str, other: str
) -> None:
    run = begun(world)
    assert wish(world, run, first)
    asked = world.only("PermissionAwaited").command
    assert not wish(world, run, first, granted=(asked,))
    assert wish(world, run, other, granted=(asked,))


def test_leave_to_edit_a_file_is_none_to_run_it(world: World) -> None:
    run = begun(world)
    tools = {"tools": ToolSpec(edit="ask", run="ask")}
    line = json.dumps(asking("Write", {"file_path": "deploy.sh", "content": "git push"}))
    hearing(world, run, [], **tools).line(line)
    asked = world.only("PermissionAwaited").command
    again = hearing(world, run, [], **tools, granted=(asked,))
    again.line(line)
    assert not again.parks
    assert wish(world, run, "deploy.sh", **tools, granted=(asked,))


@pytest.mark.parametrize(
    ("answer", "behavior", "for_the_card"),
    [
        ("1", "allow", False),
        ("Allow it once", "allow", False),
        ("2", "allow", True),
        ("3", "deny", False),
        ("no, not from here", "deny", False),
        ("12", "deny", False),
    ],
)
def test_an_answer_gives_leave_once_or_for_the_card_or_not(
    world: World, answer: str, behavior: str, for_the_card: bool
) -> None:
    first = begun(world)
    wish(world, first, "git push")
    question = world.only("QuestionAsked").question_id
    world.write(QuestionAnswered(RUN, question, "ann", answer), RunRequeued(RUN, "answered"))
    run = begun(world, first.spec)
    granted = work._list_allowed_commands(run, run.history.questions[-1])
    sent: list[bytes] = []
    heard = hearing(world, run, sent, granted=granted, refused=run.history.list_refused())
    heard.line(json.dumps(asking("Bash", {"command": "git push"})))
    assert not heard.parks
    assert written(sent[-1])["response"]["response"]["behavior"] == behavior
    assert [one.pattern for one in world.of("ToolAllowed")] == ["git push"] * for_the_card
