"""The policy of one column: who serves its cards, what happens on entry and exit, what is allowed."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from ledger.states import Archetype
from rules.policy.messages import unknown
from rules.policy.network import Network
from rules.policy.repository import Lines, Name, PolicyModel
from rules.policy.stages import MAX, Permission, Stage

AGENTS = ("claude", "codex", "opencode", "scripted")
Dollars = Annotated[float | None, Field(strict=True, gt=0, le=1_000_000)]
Steps = Annotated[tuple[dict[str, Any], ...], Field(max_length=20)]


def _success(value: object) -> object:
    if value == "stay":
        return None
    if isinstance(value, str):
        raise ValueError("say stay, or {move: <column>}")
    return value


class Tools(PolicyModel):
    """What the agent may do, by class of tool."""

    edit: Permission = Field(default="allow", description="Change files of the workspace.")
    run: Permission = Field(default="allow", description="Run commands in the workspace.")
    commit: Permission = Field(default="allow", description="Commit to the card's branch.")
    network: Network = Field(default=(), description="`none`, a list of host names, or `full`.")
    ask: Lines = Field(default=(), description="Patterns of tool calls that need a person's word first.")


class Resources(PolicyModel):
    """How much of the machine one container of a run may use."""

    memory_mb: int = Field(
        default=4096,
        strict=True,
        ge=64,
        le=1_000_000,
        description="Megabytes of memory; beyond it the kernel stops it.",
    )
    cpus: float = Field(default=2.0, gt=0, le=256, description="Processor cores.")
    processes: int = Field(
        default=512, strict=True, ge=16, le=100_000, description="Processes and threads at once."
    )
    disk_mb: int = Field(
        default=8192, strict=True, ge=64, le=10_000_000, description="Megabytes that the workspace may take."
    )
    files: int = Field(
        default=500_000,
        strict=True,
        ge=1000,
        le=100_000_000,
        description="Files and folders that the workspace may have, empty ones too.",
    )
    open_files: int = Field(
        default=8192, strict=True, ge=64, le=1_000_000, description="Files open at once in a program."
    )


class MoveTo(PolicyModel):
    """Where a card goes."""

    move: Name = Field(description="The column to move the card to.")


class ColumnPolicy(PolicyModel):
    """The rules of one column of the board."""

    archetype: Archetype = Field(description="What kind of column it is.")
    mode: Literal["fix", "investigate"] = Field(
        default="fix",
        description="`fix` ends in a pull request; `investigate` reads only and reports findings.",
    )
    agent: Name = Field(default="claude", description="The agent that works on cards here.")
    model: Name = Field(default="default", description="The agent's model, as its own command line names it.")
    models: Annotated[tuple[Name, ...], Field(max_length=50)] = Field(
        default=(), description="More models that its agents may ask for; no other is let through."
    )
    instructions: Annotated[str, Field(max_length=8000)] = Field(
        default="", description="What every agent here is told, besides the card."
    )
    plan_approval: Literal["required", "off"] = Field(
        default="required", description="Whether a person must approve the plan before the work begins."
    )
    concurrency: int = Field(
        default=3, strict=True, ge=1, le=100, description="Runs at the same time in this column."
    )
    budget_usd: float = Field(
        default=2.00,
        strict=True,
        gt=0,
        le=10_000,
        description="Dollars for one run; reached, it parks and asks.",
    )
    usd_per_day: Dollars = Field(
        default=None,
        description="Dollars a day (UTC) for all runs of this column; left out, no limit.",
    )
    timeout_minutes: int = Field(
        default=30,
        strict=True,
        ge=1,
        le=1440,
        description="Minutes of work for one run; reached, it parks and asks.",
    )
    max_turns: int = Field(
        default=60, strict=True, ge=1, le=10_000, description="Turns of the agent in one run."
    )
    silence_minutes: float = Field(
        default=5,
        strict=True,
        gt=0,
        le=1440,
        description="Minutes without a sign of life before a run has failed.",
    )
    max_output_mb: int = Field(
        default=50,
        strict=True,
        ge=1,
        le=10_000,
        description="Megabytes that the agent may print before it is stopped.",
    )
    retries: int = Field(
        default=2,
        strict=True,
        ge=0,
        le=20,
        description="How often a run goes on after its worker, git, the sandbox or the agent was killed.",
    )
    tools: Tools = Field(default=Tools(), description="What the agent may do.")
    resources: Resources = Field(default=Resources(), description="How much of the machine a run may use.")
    stages: Annotated[tuple[Stage, ...], Field(max_length=MAX)] = Field(
        default=(), description="The stages of a run, the first one first; empty: plan, then work."
    )
    on_entry: Steps | None = Field(
        default=None,
        description="Actions when a card enters; in an execution column `start_run` unless given.",
    )
    on_exit: Steps = Field(default=(), description="Actions when a card leaves.")
    on_success: Annotated[MoveTo | None, BeforeValidator(_success)] = Field(
        default=None, description="`stay`, or {move: <column>} once a run has succeeded."
    )
    on_leave: Literal["ask", "cancel", "finish"] = Field(
        default="ask",
        description="What happens to a live run whose card is dragged out; one that never began is let go.",
    )

    @field_validator("agent")
    @classmethod
    def _known_agent(cls, agent: str, info: ValidationInfo) -> str:
        known = (info.context or {}).get("agents")
        if known is not None and agent not in known:
            raise ValueError(unknown("agent", agent, tuple(known)))
        return agent

    @property
    def entry_actions(self) -> tuple[dict[str, Any], ...]:
        """The actions on entry, with the archetype's own where the policy gives none."""
        if self.on_entry is not None:
            return self.on_entry
        return ({"action": "start_run"},) if self.archetype is Archetype.EXECUTION else ()

    @property
    def plan_required(self) -> bool:
        return self.plan_approval == "required"

    def to_json(self) -> str:
        """Return the rules as JSON, as `RunQueued.settings` keeps them; `model_validate_json` reads it."""
        return self.model_dump_json()
