"""What the edges hand to the runner: one frozen work order, and the way to its repository."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ledger.events.instruction import SkillConsidered
from ledger.ids import CardId, RunId
from runner.run.instructions import Layer, SkillContent, stack

INVESTIGATE = "investigate"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use before it parks and asks; `iterations` and `full_runs` count validation, and
    `same_failures` are rounds in a row that fail in the same way.
    """

    timeout_s: float = 1800.0
    silence_s: float = 300.0
    max_turns: int = 60
    budget_usd: float = 2.0
    output_bytes: int = 50_000_000
    kept_bytes: int = 100_000_000  # of what a run leaves for people; what comes later is named, not kept
    iterations: int = 5
    full_runs: int = 3
    files_changed: int = 40
    lines_changed: int = 1500
    same_failures: int = 3


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """How much of the machine one container may use; a file may be as large as the disk's share."""

    memory_mb: int = 4096
    cpus: float = 2.0
    processes: int = 512
    disk_mb: int = 8192
    files: int = 500_000
    open_files: int = 8192


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the policy lets the agent do: edit, run and commit are allow, ask or deny. `network`: none, list
    (of `hosts`) or full. `ask` are patterns of commands that need a person's word, `deny` of refused ones.
    """

    edit: str = "allow"
    run: str = "allow"
    commit: str = "allow"
    network: str = "none"
    hosts: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provider:
    """Who answers an agent's model calls: the root of its API and the key that only the gateway knows."""

    name: str
    url: str
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ValidationSpec:
    """Shell lines of the repository's policy: once after a clone, each time, and before the offer.

    `waived`: the policy says that nothing is checked, on purpose; `absent` says why there is nothing where it
    does not, as what a person has to do. `definition` is the SHA-256 of what the policy says, for evidence.
    """

    setup: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    waived: bool = False
    absent: str = ""
    definition: str = ""


@dataclass(frozen=True, slots=True)
class Guards:
    """What the repository's policy keeps from agents: `actions` are allow, ask or deny by the guard's name; a
    guard that is not named allows. `protect` and `allow` are patterns of paths.
    """

    actions: Mapping[str, str] = field(default_factory=dict)
    protect: tuple[str, ...] = ()  # that leave only with a person's word
    allow: tuple[str, ...] = ()  # that may change; empty: all
    max_file_kb: int = 0  # 0: no limit
    checks: tuple[str, ...] = ()  # the shell lines of set-up and checks, which name files that decide

    def action(self, guard: str) -> str:
        """Return what becomes of what a guard finds."""
        return self.actions.get(guard, "allow")


@dataclass(frozen=True, slots=True)
class ReviewThread:
    """One review thread that the run is to answer; `line` is None for a remark about the whole file."""

    thread_id: str
    path: str
    line: int | None
    text: str


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One step of a staged run, with a persona whose words are `text`; `digest` and `source` are its file's.

    `next` are the stages that may follow, `ends` whether the run may end here, `approval` whether a person
    lets it begin. `model` is empty for the run's own. `tools` are never looser than the run's.
    """

    name: str
    persona: str
    text: str = ""
    digest: str = ""
    source: str = ""
    next: tuple[str, ...] = ()
    ends: bool = True
    approval: bool = False
    model: str = ""
    tools: ToolSpec = ToolSpec()
    cleanup: tuple[str, ...] = ()  # shell lines, when it is left


@dataclass(frozen=True, slots=True)
class BrowserStep:
    """One step in a browser: `text` is how a person wrote it, `verb` one of in_container/browse.py."""

    verb: str
    text: str
    first: str
    second: str = ""


@dataclass(frozen=True, slots=True)
class ReproductionSpec:
    """Steps to play against the app that `start` makes listen at `address`, or `absent`: why there are none.

    The app must answer within `ready_s`, and all of it be over within `limit_s`.
    """

    start: str = ""
    address: str = ""
    steps: tuple[BrowserStep, ...] = ()
    ready_s: float = 60.0
    limit_s: float = 300.0
    image: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class HostPaths:
    """Where the runner keeps what lives, on the host."""

    mirrors: Path
    workspaces: Path
    logs: Path
    scenarios: Path

    @property
    def artifacts(self) -> Path:
        """What runs leave for people, by digest."""
        return self.workspaces.parent / "artifacts"

    @property
    def gateways(self) -> Path:
        """The sockets of the gateways, a folder for each claim."""
        return self.workspaces.parent / "gateways"


@dataclass(frozen=True, slots=True)
class Committer:
    """As whom Cardinal commits."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One bounded attempt at a card. `kind`: first, revision, retry or repair; `briefing` is what
    the agent reads.

    `session_id` is that of the run which this one continues, or empty.
    """

    run_id: RunId
    card_id: CardId
    attempt: int
    kind: str
    generation: int
    repository: str
    number: int
    title: str
    branch: str
    base_branch: str
    agent: str
    model: str
    session_id: str
    plan_required: bool
    instructions: str
    briefing: str
    limits: Limits
    places: HostPaths
    committer: Committer
    tools: ToolSpec = ToolSpec()
    validation: ValidationSpec = ValidationSpec()
    threads: tuple[ReviewThread, ...] = ()
    briefing_omitted: tuple[str, ...] = ()
    workspace: str = "local"
    image: str = ""
    resources: ResourceSpec = ResourceSpec()
    models: tuple[str, ...] = ()  # that the policy allows beside the column's own
    granted: tuple[str, ...] = ()  # commands that people allowed for this card, each that very one
    allowed: tuple[str, ...] = ()  # patterns of commands that people allowed for this card
    guards: Guards = field(default_factory=Guards)
    private_hosts: tuple[str, ...] = ()  # of the operator: hosts that may have a private address
    issue: str = ""  # the digest of the issue's text in the briefing
    base: str = ""  # the base branch's commit as the claim found it
    policy: str = ""  # the digest of the policy file in force
    workflows: bool = False  # a maintainer allowed that files of CI change
    failing: str = ""  # what the red checks of the pull request said, as Markdown
    mode: str = "fix"  # or investigate
    stages: tuple[StageSpec, ...] = ()  # empty: plan, then work
    layers: tuple[Layer, ...] = ()  # profile and skills; the stack is made of these and of what is above
    skill_files: tuple[SkillContent, ...] = ()  # what the agent can read of its skills
    considered: tuple[SkillConsidered, ...] = ()  # every skill that it could have had, and why
    asked: str = ""  # what whoever started this very run wants of it
    asked_by: str = ""
    reproduction: ReproductionSpec | None = None  # None: nobody wants one
    issue_repository: str = ""  # where the card's issue is, if not in `repository`

    @property
    def stack(self) -> tuple[Layer, ...]:
        """All that the agent is instructed with, in its order."""
        return stack(self.mode, self.instructions, self.briefing, self.layers)

    @property
    def reference(self) -> str:
        """How the card's issue is named in the repository: #12, or owner/name#12."""
        return f"{self.issue_repository}#{self.number}"

    @property
    def own_number(self) -> int:
        """The issue's number where it is in the repository itself, else 0: no issue there is the card's."""
        return 0 if self.issue_repository else self.number

    @property
    def investigates(self) -> bool:
        """Whether it reads only, and ends with findings."""
        return self.mode == INVESTIGATE


class Remote(Protocol):
    """The way to the repository on GitHub; asked before every use, so a token may expire between two."""

    @property
    def url(self) -> str:
        """The address to fetch from and push to; it never holds a credential."""

    def git_environment(self) -> Mapping[str, str]:
        """Return fresh credentials as GIT_CONFIG_COUNT/KEY/VALUE, for one git command on the host."""


class Clock(Protocol):
    """Time as an argument: wall time in UTC, and seconds that never go back."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
