"""`cardinal models`: the models that the operator's keys pay for, with their prices."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from bot.cli import _home
from bot.cli._show import answer_rows, json_option, show
from bot.system import model_keys
from bot.system.clock import utc_now
from runner import agents
from runner.agents.contract import AgentAdapter
from runner.errors import ProgramError
from runner.gateway.models.prices import list_prices

COLUMNS = ("provider", "model", "input_usd", "output_usd", "context_tokens", "own", "agents")
_SAME = {"subscription": "anthropic"}  # whose protocol a payer speaks
NONE = "no model: set a provider's key, as docs/agents.md says"


@click.command("models")
@click.argument("text", required=False, default="")
@json_option
def command(text: str, as_json: bool) -> None:
    """List the models that this Cardinal's keys pay for.

    Prices are dollars per million tokens of input and output; the operator's own (CARDINAL_PRICES) are
    marked. The gateway refuses every other model of these providers. "agents" names those that
    mean this model by `default` or `small`. With TEXT, only models whose name has it.

    \b
    Examples:
      cardinal models
      cardinal models opus
    """
    config = _home.settings()
    paid, players = model_keys.providers(config, config.board.owner), tuple(_load_agents(config.agents))
    listed = [
        (provider.name, it, _meaning(protocol, it.model, players))
        for protocol, provider in sorted(paid.items())
        for it in list_prices(provider, utc_now())
        if text.casefold() in it.model.casefold()
    ]
    documents = [{"provider": name, **asdict(it), "agents": means} for name, it, means in listed]
    rows = answer_rows(documents, COLUMNS, empty=f"no model has {text} in its name" if text else NONE)
    show(documents, as_json=as_json, text=lambda: rows)


def _meaning(protocol: str, model: str, players: Iterable[AgentAdapter]) -> list[str]:
    """Return the agents that ask the provider of the protocol for the model, with their word for it."""
    return [
        f"{agent.name} {wanted}"
        for agent in players
        for wanted in ("default", "small")
        if agent.provider(wanted) in (protocol, _SAME.get(protocol)) and model in agent.models(wanted)
    ]


def _load_agents(own: Path) -> Iterator[AgentAdapter]:
    """Yield the agents that can work here: `cardinal agents` says what is wrong with the others."""
    for name in agents.names(own):
        with suppress(ProgramError):
            yield agents.load(name, own)
