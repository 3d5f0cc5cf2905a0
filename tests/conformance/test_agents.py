"""Every agent keeps the contract of `runner/agents/contract.py`; the cases run over all that are found."""

import re
from pathlib import Path

import pytest

from ledger.model.policy_settings import EFFORTS
from ledger.parts import UnknownPartError
from runner import agents, workspaces
from runner.agents.contract import Dialogue, Layout, Metering, Phase, Task

LAYOUT = Layout(
    "/workspace/repo", "/workspace/home", "/workspace/out", "/tools/python3", "/player",
    "http://127.0.0.1:4000", "http://127.0.0.1:4001",
)  # fmt: skip
MODELS = {"scripted": "hello"}  # agent -> a model that is always there, where `default` is none
PROVIDERS = {"anthropic", "openai", "compatible", "gemini", "subscription"}
HOSTILE = [
    "",
    "{",
    "null",
    "[]",
    "1",
    '"x"',
    '{"type": 1}',
    '{"tool": {}, "input": 3}',
    "[" * 100_000,
    "\udcff",
    "\0",
]


def task(agent: str, phase: Phase) -> Task:
    return Task(
        phase=phase, turn=phase, prompt="Say 'hello'; $(reboot)\n" * 10, run_id="r1", session_id="",
        model=MODELS.get(agent, "default"), read_only=False, max_turns=5, budget_usd=1.0,
        scenarios=Path("/nowhere"),
    )  # fmt: skip


def dialogue(agent: str, phase: Phase = Phase.WORK) -> Dialogue:
    return agents.load(agent).begin(task(agent, phase), LAYOUT)


@pytest.mark.parametrize("name", agents.names())
def test_it_says_what_it_is_and_what_it_needs(name: str) -> None:
    agent = agents.load(name)
    assert agent.name == name
    assert agent.version
    assert set(agent.secrets) <= PROVIDERS
    assert (agent.metering in Metering, set(agent.efforts) <= set(EFFORTS)) == (True, True)
    assert workspaces.backends_of(agent)
    assert agent.models("default") or not agent.secrets
    # One that is paid for by nobody here is no program that a model leads, or has a login of its own.
    assert agent.trusted == (not agent.secrets and agent.metering is Metering.GATEWAY)
    assert {agent.provider(wanted) for wanted in ("default", "x", "anthropic/x")} <= {*agent.secrets, ""}
    assert bool(agent.provider("default")) == bool(agent.secrets)


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("name", agents.names())
def test_neither_prompt_nor_secret_goes_through_arguments_or_environment(name: str, phase: Phase) -> None:
    command = dialogue(name, phase).command
    told = [*command.argv, *command.env, *command.env.values()]
    assert not any("reboot" in word for word in told)
    assert not any(re.search(r"\bsk-|ghp_|ghs_|BEGIN .*KEY", word) for word in told)
    assert command.opening.endswith(b"\n")


@pytest.mark.parametrize("name", agents.names())
def test_no_line_can_break_the_decoder(name: str) -> None:
    talk = dialogue(name)
    for line in HOSTILE:
        assert isinstance(talk.decode(line), tuple)


@pytest.mark.parametrize("name", agents.names())
def test_what_is_written_to_it_is_whole_lines(name: str) -> None:
    talk = dialogue(name)
    for message in (
        talk.reply("c1", {"ok": True}),
        talk.steer("a\nb"),
        talk.interrupt(),
        talk.permit("p1", allowed=False, why="no\nway"),
    ):
        assert message is None or (message.endswith(b"\n") and message.count(b"\n") == 1)


@pytest.mark.parametrize("name", ["os", "../scripted", "", "__init__", "scripted.py"])
def test_a_name_that_is_no_part_is_refused_without_an_import(name: str) -> None:
    with pytest.raises(UnknownPartError, match="scripted"):
        agents.load(name)
