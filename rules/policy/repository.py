"""The part of a policy file that belongs to one repository: its set-up, checks, limits and guardrails."""

import json
from hashlib import sha256
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

IMAGE = "cardinal/agent:latest"  # that scripts/images builds
BROWSER_IMAGE = "cardinal/browser:latest"  # the same
# What CI runs, infrastructure, authentication and payments, by the names that most repositories give them.
PROTECTED = (
    ".github/workflows/**",
    *("infra*", "terraform", "*.tf", "kubernetes", "k8s", "helm"),
    *("auth", "auth.*", "authentication*", "authorization*", "oauth*"),
    *("payment*", "billing", "billing.*"),
)
Line = Annotated[str, Field(min_length=1, max_length=2000)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Names = Annotated[tuple[Name, ...], Field(max_length=50)]
ProfileName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
Lines = Annotated[tuple[Line, ...], Field(max_length=50)]
_APP_ADDRESS = r"^(?:http://(?:127\.0\.0\.1|localhost)(?::[0-9]{1,5})?(?:/[!-~]{0,300})?)?$"


class PolicyModel(BaseModel):
    """The base of all that people write into a policy file: unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, str_strip_whitespace=True)


class Validation(PolicyModel):
    """The repository's own checks, run by the gate on the agent's work."""

    fast: Lines = Field(default=(), description="Shell lines run after every iteration; empty: none.")
    full: Lines = Field(
        default=(), description="Shell lines run before the pull request is offered; empty: none."
    )


def _checks(value: object) -> object:
    """Return None for `none`: nothing is checked, on purpose. An empty key is nobody's purpose."""
    if value is None:
        raise ValueError("is empty: name `fast` or `full`, or say none")
    if isinstance(value, str) and value != "none":
        raise ValueError("name `fast` or `full` checks, or say none")
    return None if value == "none" else value


class RepositoryLimits(PolicyModel):
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
    same_failures: int = Field(
        default=3,
        strict=True,
        ge=2,
        le=50,
        description="Rounds in a row that fail in the same way before the run asks a person. The key of"
        " that name under `board:` is about cards that fail together.",
    )


class CommandGuard(PolicyModel):
    """Which commands an agent may not run."""

    deny: Lines = Field(
        default=(), description="Patterns of commands that are refused; `*` stands for anything."
    )


Guarded = Literal["ask", "allow", "deny"]


def _guard(default: str, what: str) -> Any:
    return Field(default=default, description=f"{what}: ask a person, allow or deny them.")


class Guardrails(PolicyModel):
    """What an agent must leave alone, looked for in every commit that is to be published.

    `ask` stops publishing until a person agrees to these very findings. `deny` gives them back to the agent
    once; if they are still there, the run fails.
    """

    protect: Lines = Field(
        default=PROTECTED,
        description="Path patterns of files that leave only with a person's word; `**` goes over folders, and"
        " a pattern without a slash counts at any depth. Case and look-alike letters count for nothing.",
    )
    allow: Lines = Field(
        default=(),
        description="Path patterns of the only files that may change, letter by letter; empty: all.",
    )
    max_file_kb: int = Field(
        default=1000, strict=True, ge=1, le=1_000_000, description="From how many KB on a file is large."
    )
    protected: Guarded = _guard("ask", "Changes of what `protect` names")
    outside: Guarded = _guard("ask", "Changes beyond what `allow` names")
    dependencies: Guarded = _guard("ask", "Manifests and lock files of package managers")
    tests: Guarded = _guard(
        "ask",
        "Tests that are deleted, thinned out, switched off or made to hold whatever happens (what only may be"
        " that is asked about)",
    )
    checks: Guarded = _guard(
        "ask",
        "Files that decide what the checks do: build and test settings, `conftest.py`, scripts that"
        " `validation` names, this file",
    )
    modes: Guarded = _guard("ask", "Files that become executable, and odd modes of files")
    symlinks: Guarded = _guard(
        "deny",
        "Links that are absolute, lead out of the repository or to what is protected, or replace a file",
    )
    submodules: Guarded = _guard("deny", "Submodules and `.gitmodules`")
    binaries: Guarded = _guard("ask", "Binary files")
    large_files: Guarded = _guard("ask", "Files of more than `max_file_kb`")
    secrets: Guarded = _guard(
        "deny",
        "Keys, tokens and private keys in added lines and commit messages (doubtful ones are asked about)",
    )
    generated: Guarded = _guard("deny", "New files that tools make, such as `node_modules`, `dist`, `*.pyc`")
    commands: CommandGuard = Field(default=CommandGuard(), description="Commands that are refused.")


class Skills(PolicyModel):
    """Which skills are given to a run."""

    default: Names = Field(default=(), description="Skills for every card, in this order.")
    labels: Annotated[dict[Name, Names], Field(max_length=100)] = Field(
        default={}, description="Skills for cards with a label."
    )


class Reproduction(PolicyModel):
    """How a card's [steps](reproduction.md) are played in a browser against the repository's own app.

    Where `start` or `address` is not said, a built-in profile's own counts.
    """

    start: Annotated[str, Field(max_length=2000)] = Field(
        default="", description="The shell line that starts the app, in a clean checkout after `setup`."
    )
    address: Annotated[str, Field(pattern=_APP_ADDRESS)] = Field(
        default="",
        description="Where the app listens then: `http://127.0.0.1:…/`, or `localhost`.",
    )
    ready_s: int = Field(
        default=60, strict=True, ge=1, le=600, description="Seconds after which it must answer there."
    )
    minutes: int = Field(
        default=5, strict=True, ge=1, le=30, description="What one reproduction may take, set-up included."
    )
    image: Name = Field(default=BROWSER_IMAGE, description="The container image, with the browser in it.")


class McpServer(PolicyModel):
    """A tool server for the agent, started inside its workspace."""

    command: Annotated[Lines, Field(min_length=1)] = Field(description="Its program and arguments.")


GUIDES = ("AGENTS.md", "CLAUDE.md")


class RepositoryRules(PolicyModel):
    """The `repository:` part, read from each card's own repository."""

    profile: ProfileName = Field(
        default="none",
        description="How people work in such a repository: a built-in profile, one of its own, or `none`.",
    )
    guides: Annotated[tuple[Literal["AGENTS.md", "CLAUDE.md"], ...], Field(max_length=2)] = Field(
        default=(),
        description="Which of `AGENTS.md` and `CLAUDE.md` agents are told, from the root of the default"
        " branch; empty: neither.",
    )
    image: Name = Field(default=IMAGE, description="The container image of the workspace.")
    setup: Lines = Field(default=(), description="Shell lines that prepare a fresh workspace.")
    validation: Annotated[Validation | None, BeforeValidator(_checks)] = Field(
        default=Validation(),
        description="The repository's [checks](#validation), `fast` and `full`; or `none`: nothing is"
        " checked, and every pull request says so. Without any, a run ends before an agent is started.",
    )
    limits: RepositoryLimits = Field(default=RepositoryLimits(), description="How far one run may go.")
    guardrails: Guardrails = Field(default=Guardrails(), description="What an agent must leave alone.")
    skills: Skills = Field(default=Skills(), description="Skills by default and by label.")
    reproduction: Reproduction | None = Field(
        default=None,
        description="How a card's [steps](reproduction.md) are played in a browser, with `start` and"
        " `address`; left out: only where a run is asked to, with `--repro`.",
    )
    mcp: dict[Name, McpServer] = Field(default={}, description="Tool servers by name.")

    @property
    def definition(self) -> str:
        """The SHA-256 of what is checked: the lines of setup, fast and full, or that nothing is."""
        checks = self.validation
        lines = None if checks is None else [self.setup, checks.fast, checks.full]
        return sha256(json.dumps(lines).encode()).hexdigest()

    @property
    def waived(self) -> bool:
        """Whether nothing is checked because the file says so."""
        return self.validation is None

    @property
    def checked(self) -> bool:
        """Whether there is at least one check."""
        return self.validation is not None and bool(self.validation.fast or self.validation.full)
