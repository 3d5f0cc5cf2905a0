"""The part of a policy file that belongs to one repository: its set-up, checks, limits and guardrails."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

IMAGE = "cardinal/agent:latest"  # that scripts/images builds
Line = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Lines = Annotated[tuple[Line, ...], Field(max_length=50)]


class Part(BaseModel):
    """The base of all that people write into a policy file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, str_strip_whitespace=True)


class Validation(Part):
    """The repository's own checks, run by the gate on the agent's work."""

    fast: Lines = Field(default=(), description="Shell lines run after every iteration; empty: none.")
    full: Lines = Field(
        default=(), description="Shell lines run before the pull request is offered; empty: none."
    )


class RepositoryLimits(Part):
    """How far one run may go in this repository."""

    iterations: int = Field(
        default=5, strict=True, ge=1, le=50, description="Rounds of edit and check in one run."
    )
    full_runs: int = Field(
        default=3, strict=True, ge=1, le=20, description="Runs of the full checks in one run."
    )
    files_changed: int = Field(
        default=40, strict=True, ge=1, le=10_000, description="Files that a pull request may change."
    )
    lines_changed: int = Field(
        default=1500,
        strict=True,
        ge=1,
        le=1_000_000,
        description="Lines that a pull request may add and remove.",
    )


class CommandGuard(Part):
    """Which commands an agent may not run."""

    deny: Lines = Field(
        default=(), description="Patterns of commands that are refused; `*` stands for anything."
    )


class Guardrails(Part):
    """What an agent must leave alone."""

    protect: Lines = Field(
        default=(".github/workflows/**",),
        description="Path patterns of files that leave only with a person's word; `**` goes over folders.",
    )
    dependencies: Literal["ask", "allow", "deny"] = Field(
        default="ask", description="Changes of the dependencies: ask a person, allow or deny them."
    )
    commands: CommandGuard = Field(default=CommandGuard(), description="Commands that are refused.")


class Skills(Part):
    """Which skills are given to a run."""

    default: tuple[Name, ...] = Field(default=(), description="Skills for every card.")
    labels: dict[Name, tuple[Name, ...]] = Field(default={}, description="Skills for cards with a label.")


class McpServer(Part):
    """A tool server for the agent, started inside its workspace."""

    command: Annotated[Lines, Field(min_length=1)] = Field(description="Its program and arguments.")


class RepositoryRules(Part):
    """The `repository:` part, read from each card's own repository."""

    image: Name = Field(default=IMAGE, description="The container image of the workspace.")
    setup: Lines = Field(default=(), description="Shell lines that prepare a fresh workspace.")
    validation: Validation = Field(default=Validation(), description="The repository's checks.")
    limits: RepositoryLimits = Field(default=RepositoryLimits(), description="How far one run may go.")
    guardrails: Guardrails = Field(default=Guardrails(), description="What an agent must leave alone.")
    skills: Skills = Field(default=Skills(), description="Skills by default and by label.")
    mcp: dict[Name, McpServer] = Field(default={}, description="Tool servers by name.")
