"""What an agent says, as it is heard: what people allowed is found again, though private words are hushed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ledger.events.turn import TurnStarted
from runner import agents
from runner.agents.contract import PermissionAsked, Phase, SessionUsage, Task, Usage
from runner.gateway.control.messages import CallRefusal, GatewayEvent, ProviderFailure
from runner.run.limits import ExceededLimit
from runner.run.run_spec import ToolSpec
from runner.run.secrecy import Secrecy
from runner.session import permission
from runner.session.context import RunContext
from runner.session.listener import AgentListener
from runner.session.records import Batch
from tests.runner.world import CARD, World

PRIVATE = "ask the oracle at midnight"
COMMAND = f"deploy --why '{PRIVATE}'"
WRITTEN = "deploy --why '[private skill]'"


class Asking:
    """A dialogue whose agent wants to run one command, and hears the answer."""

    def __init__(self) -> None:
        self.answers: list[bool] = []

    def decode(self, _line: str) -> tuple[PermissionAsked, ...]:
        return (PermissionAsked("a1", "run", "Bash", COMMAND),)

    def permit(self, _ask_id: str, *, allowed: bool, why: str) -> bytes | None:
        self.answers.append(allowed)
        return None


def heard(
    world: World, granted: tuple[str, ...] = (), refused: tuple[str, ...] = (), gateway: Any = None
) -> tuple[AgentListener, Asking]:
    """Return how it went when the agent asked."""
    spec, log = world.claim(world.spec())
    log.secrecy = Secrecy((PRIVATE,))
    nothing = cast(Any, None)  # no part of this turn
    run = RunContext(spec, log, world.clock, agents.load("scripted"), nothing, nothing, nothing, gateway)
    tools = ToolSpec(ask=("deploy*",))
    task = Task(Phase.WORK, "work", "", spec.run_id, "s", "test", False, 5, 1.0, Path("/"), tools=tools,
                granted=granted, refused=refused)  # fmt: skip
    asking = Asking()
    hearing = AgentListener(run, task, cast(Any, asking), lambda _: None)
    hearing.line("")
    return hearing, asking


def written() -> str:
    """Return by which words people are asked about it, with the mark that tells it from others like it."""
    permission_asked = PermissionAsked("a1", "run", "Bash", COMMAND)
    return WRITTEN + permission.mark_of_similar(permission_asked, WRITTEN, CARD)


def test_a_command_is_asked_about_without_its_private_words(world: World) -> None:
    hearing, asking = heard(world)
    assert (hearing.parks, asking.answers) == (True, [])
    assert world.only("PermissionAwaited").command == written()
    assert written().startswith(f"{WRITTEN} [")
    assert PRIVATE not in world.only("QuestionAsked").text


def test_leave_for_a_command_is_found_again_by_its_hushed_words(world: World) -> None:
    hearing, asking = heard(world, granted=(written(),))
    assert (hearing.parks, asking.answers) == (False, [True])


def test_what_people_refused_stays_refused_by_its_hushed_words(world: World) -> None:
    hearing, asking = heard(world, refused=(written(),))
    assert (hearing.parks, asking.answers) == (False, [False])


@pytest.mark.parametrize(
    ("event", "cause"),
    [
        (ProviderFailure("openai", 503, "openai failed 5 times in a row", 5, final=True), "openai:503"),
        (ProviderFailure("openai", 503, "openai failed", 1, final=False), ""),
        (CallRefusal("key", "there is no key"), "scripted:key"),
        (CallRefusal("tokens", "the run's limit of tokens is used up"), "scripted:tokens"),
        (CallRefusal("rate", "too fast"), ""),
        (None, "gateway"),
    ],
)
def test_a_failure_that_other_cards_share_has_a_code(
    world: World, event: GatewayEvent | None, cause: str
) -> None:
    events = () if event is None else (event,)
    hearing, _ = heard(world, gateway=SimpleNamespace(decode=lambda _: events))
    hearing.message("" if event is None else "one")
    assert hearing.cause == cause


@pytest.mark.parametrize(
    ("kind", "limit"),
    [("budget", ExceededLimit.BUDGET), ("tokens", ExceededLimit.TOKENS), ("key", ExceededLimit.PROVIDER)],
)
def test_a_refused_call_says_which_limit_ends_the_turn(world: World, kind: str, limit: ExceededLimit) -> None:
    hearing, _ = heard(world, gateway=SimpleNamespace(decode=lambda _: (CallRefusal(kind, "no", 0.5),)))
    hearing.message("one")
    assert (hearing.exceeded, hearing.needs_usd) == (limit, 0.5)


def test_tokens_count_before_the_log_has_them(world: World) -> None:
    hearing, _ = heard(world)
    hearing.batch.meter(Usage(0.0, 300, 50, 0))
    assert (hearing.batch.tokens, world.of("UsageMetered")) == (350, [])


@pytest.mark.parametrize("was_written", [True, False])
def test_what_a_session_used_is_metered_once_though_its_worker_dies(world: World, was_written: bool) -> None:
    """The agent says its total again to the next worker, who knows only what was written."""
    spec, log = world.claim(world.spec())
    nothing = cast(Any, None)  # no part of this turn
    run = RunContext(spec, log, world.clock, agents.load("scripted"), nothing, nothing, nothing, None)
    log.append(TurnStarted(spec.run_id, "work", "work", "s"))
    for was_heard in (was_written, True):
        batch = Batch(run)
        for total in (0.4, 2.5):
            batch.meter_session("s", SessionUsage(total, 10, 20, 1))
        assert (batch.usd, batch.tokens, batch.turns) == (2.5, 30, 1)
        if was_heard:
            batch.flush(now=True)
    assert sum(metered.usd for metered in world.of("UsageMetered")) == 2.5
