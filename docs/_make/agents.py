"""What is said of agents: who they are, their board tools, and what an engine's troubles read like."""

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from docs._make import benchmark, wording
from runner import agents, errors, workspaces
from runner.agents import board_tools
from runner.agents.adapters.scripted import STEP_KINDS, ScenarioStep
from runner.workspaces.docker import errors as engine

_SOCKET = "unix:///var/run/docker.sock"
_TROUBLES: tuple[tuple[str, Exception], ...] = (
    ("the engine is away", engine.EngineAwayError(_SOCKET, "…")),
    ("the engine hangs", engine.EngineSlowError("make a container", 30)),
    ("the image is missing", engine.ImageMissingError("cardinal/agent:latest")),
    ("the engine's disk is full", engine.DiskFullError("make a container", "…")),
    ("the engine sees other folders", engine.UnseenFolderError("…")),
    ("the container does not start", engine.ContainerStartError("…")),
    ("somebody removed the container", engine.ContainerGoneError()),
    ("the engine refuses something else", engine.EngineError("make a container", "…")),
    ("there is no container for this agent", errors.BackendError("claude", "local", ("docker",))),
    ("the workspace has no such network", errors.NetworkError("local", "list", ("none",))),
    ("there is no sandbox", errors.UnsandboxedError("what the repository's policy runs", "…")),
)


def table() -> str:
    """Return the agents: version, who is paid, who counts, what `default`, `small` and an effort mean, where
    they can work.
    """
    heads = ("agent", "version", "whose key", "metered by", "`default`", "`small`", "effort", "workspace")
    return wording.table(heads, (_row(name) for name in agents.names()))


def story() -> str:
    """Return what the suite's story took and used with each agent, as `scripts/bench --record` kept it."""
    heads = ("agent", "seconds", "model calls", "tokens", "dollars, as metered", "goes on in its session")
    figures = benchmark.read_record()["figures"]
    played = {name: figures[f"{name}_story"] for name in agents.names() if f"{name}_story" in figures}
    about = (
        "Each proposes a plan, asks a question, is answered, edits, commits and reports, in containers, "
        "led by [the scripted model](../agents.md#a-scripted-model)."
    )
    return f"{about}\n\n" + wording.table(heads, (_played(name, it) for name, it in played.items()))


def tools() -> str:
    """Return the board tools with their inputs, and whether a turn for the plan has them."""
    return wording.table(("tool", "in a plan", "inputs", "what the agent is told"), _tools())


def steps() -> str:
    """Return the steps of a scenario, each with its keys."""
    rows = ((f"`{name}`", wording.cell(_keys(name))) for name in STEP_KINDS)
    return wording.table(("step", "keys"), rows)


def _keys(step: str) -> str:
    """Return the keys of a step, or the kind of its one value."""
    kind = next(it for it in get_args(ScenarioStep.model_fields[step].annotation) if it is not type(None))
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return ", ".join(f"`{field.alias or name}`" for name, field in kind.model_fields.items())
    return wording.kind(kind)


def troubles() -> str:
    """Return what a person reads for each trouble with an engine, in the very words of the code."""
    return wording.table(
        ("it happens", "the card says"), ((what, wording.cell(str(error))) for what, error in _TROUBLES)
    )


def _row(name: str) -> tuple[str, ...]:
    agent = agents.load(name)
    meant = [", ".join(f"`{model}`" for model in agent.models(word)) for word in ("default", "small")]
    scenario = "the scenario of that name" if name == "scripted" else "none"
    return (
        f"`{name}`",
        agent.version if agent.secrets else "comes with Cardinal",
        " or ".join(agent.secrets) or "nobody's",
        (str(agent.metering) if agent.secrets else "nothing to meter").replace("agent", "its own word"),
        *(models or scenario for models in meant),
        ", ".join(agent.efforts) or "none",
        ", ".join(f"`{one}`" for one in workspaces.backends_of(agent)),
    )


def _played(name: str, figure: Mapping[str, Any]) -> tuple[str, ...]:
    used = figure["parts"]
    return (
        f"`{name}`",
        f"{figure['value']:.0f}",
        str(used["calls"]),
        f"{used['tokens']:,}",
        f"{used['dollars']:.6f}",
        "yes" if used["sessions"] == 1 else "no",
    )


def _tools() -> Iterator[tuple[str, ...]]:
    for name, model in board_tools.TOOLS.items():
        given = (
            f"`{one}`" if field.is_required() else f"`{one}` (optional)"
            for one, field in model.model_fields.items()
        )
        planned = "yes" if name in board_tools.offer_tools(read_only=True, threads=True) else "no"
        yield f"`{name}`", planned, wording.cell(", ".join(given) or "none"), _sentence(model)


def _sentence(model: type) -> str:
    text = " ".join(inspect.cleandoc(model.__doc__ or "").split())
    return wording.cell(re.split(r"(?<=\.) ", text)[0])
