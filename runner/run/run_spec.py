"""Specification of a run: the frozen input of the runner, and the protocols of remote and clock."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from ledger.ids import NO_RUN, CardId, RunId
from ledger.model.policy_settings import HostSecret, Pipelines, RepositoryLimits, Resources
from ledger.model.run_modes import FIX, INVESTIGATE, PLACES
from ledger.rows.threads import ThreadRow
from ledger.views.checkpoints import CheckpointRow
from runner.run.instructions import Equipment, Layer, stack

AGAIN = "again-"  # begins the name of the place of a run beside its card's own


class Limits(RepositoryLimits, Pipelines):
    """Limits of a run: the repository's, those of cards that it makes, and the column's own."""

    timeout_s: float = 1800.0
    silence_s: float = 300.0
    max_turns: int = 60
    max_tokens: int = 0  # of input and output; 0: no limit
    budget_usd: float = 2.0
    output_bytes: int = 50_000_000
    kept_bytes: int = 100_000_000  # of artifacts; later ones are named, not kept
    checkpoint_s: float = 120.0  # between two checkpoints while the agent works


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """Tool policy of the agent: edit, run and commit are allow, ask or deny; `network` is none, list or full.

    `hosts` belong to `list`. `ask` and `deny` are patterns of commands that need a person, or are refused.
    """

    edit: str = "allow"
    run: str = "allow"
    commit: str = "allow"
    network: str = "none"
    hosts: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    mcp: tuple[str, ...] = ()  # tools of tool servers, as server__tool


@dataclass(frozen=True, slots=True)
class ToolServerSpec:
    """A repository's tool server: `image` is empty for the workspace's, `secrets` has only names."""

    name: str
    command: tuple[str, ...]
    image: str = ""
    hosts: tuple[str, ...] = ()
    reads: bool = False
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceSpec:
    """A service beside the commands: without `ports` those that its image exposes. `environment` has no
    secret. `health` is a shell line inside it, `writable` are folders besides the image's volumes.
    """

    name: str
    image: str
    command: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    ports: tuple[int, ...] = ()
    health: str = ""
    writable: tuple[str, ...] = ()
    memory_mb: int = 1024


def _no_archive(_target: Path) -> None:
    """Write nothing: an image is its own source."""


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """How an image is made from `image` or `dockerfile`, as the devcontainer.json at `path` says it.

    `${containerEnv:NAME}` in a value of `environment` is the source's own.
    """

    path: str
    image: str = ""
    dockerfile: str = ""
    context: str = ""
    target: str = ""
    args: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RecipeFiles:
    """A recipe's files: the id of its context's tree, its Dockerfile, and how the context is archived."""

    tree: str = ""
    dockerfile: str = ""
    archive: Callable[[Path], None] = _no_archive


@dataclass(frozen=True, slots=True)
class PathSpec:
    """Shell lines of the policy for the files below the folder `path`; they run in `directory`."""

    path: str
    directory: str
    setup: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()
    full: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValidationSpec:
    """Shell lines of the repository's policy: set-up after a clone, fast checks, full checks.

    `waived`: the policy asks for no checks. `absent` says for people why there are none otherwise.
    `definition` is the SHA-256 of the policy's section, for evidence. `paths` have lines of their own;
    `covers` are those whose lines are among these already, with `.` for the repository's own. `quick`: a
    person runs the fast checks before a push, so no witness is heard.
    """

    setup: tuple[str, ...] = ()
    fast: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    waived: bool = False
    absent: str = ""
    definition: str = ""
    paths: tuple[PathSpec, ...] = ()
    covers: tuple[str, ...] = ()
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Guards:
    """Guard rules of the repository's policy. `actions` are allow (the default), ask or deny by guard.

    `protect` and `allow` are patterns of paths.
    """

    actions: Mapping[str, str] = field(default_factory=dict)
    protect: tuple[str, ...] = ()  # that leave only with a person's word
    allow: tuple[str, ...] = ()  # that may change; empty: all
    max_file_kb: int = 0  # 0: no limit
    checks: tuple[str, ...] = ()  # the shell lines of set-up and checks, which name files that decide

    def action(self, guard: str) -> str:
        return self.actions.get(guard, "allow")


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One stage of a staged run. `text` is its persona, `digest` and `source` are the persona file's;
    `private`: only the agent gets its text.

    `next` are the possible next stages. `ends`: the run may end here. `approval`: a person must agree first.
    `model` is empty for the run's own. `tools` are never looser than the run's.
    """

    name: str
    persona: str
    text: str = ""
    digest: str = ""
    source: str = ""
    private: bool = False
    next: tuple[str, ...] = ()
    ends: bool = True
    approval: bool = False
    model: str = ""
    tools: ToolSpec = ToolSpec()
    cleanup: tuple[str, ...] = ()  # shell lines, when it is left


@dataclass(frozen=True, slots=True)
class BrowserStep:
    """One step in a browser: the person's `text`, and a `verb` of in_container/browse.py."""

    verb: str
    text: str
    first: str
    second: str = ""


@dataclass(frozen=True, slots=True)
class ReproductionSpec:
    """Steps to play against the app that `start` serves at `address`; `absent` says why there are none.

    The app must answer within `ready_s`; everything must end within `limit_s`.
    """

    start: str = ""
    address: str = ""
    steps: tuple[BrowserStep, ...] = ()
    ready_s: float = 60.0
    limit_s: float = 300.0
    image: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class StoreSpec:
    """Where blobs are kept. `address` is a folder or `s3://bucket/prefix`; empty: the home's own folder.

    `endpoint` is the root of an S3-compatible server, empty for Amazon's. Without `access_key` the library
    looks for credentials as its documentation says. `encryption_key` is empty where blobs stay as they are.
    `mark` is the one that a folder must have; empty where the ledger knows none.
    """

    address: str = ""
    endpoint: str = ""
    region: str = ""
    access_key: str = ""
    secret_key: str = field(default="", repr=False)
    encryption_key: str = field(default="", repr=False)
    mark: str = ""


@dataclass(frozen=True, slots=True)
class HostPaths:
    """Folders of the runner on the host, and the store of all hosts.

    `packages` is a file that says what a person has installed in a clone, for checks without containers.
    `runtime` is the engine's runtime for all containers; empty for its own.
    `agents` is the folder with the operator's own agents.
    """

    mirrors: Path
    workspaces: Path
    logs: Path
    scenarios: Path
    store: StoreSpec = field(default=StoreSpec(), kw_only=True)
    packages: Path | None = field(default=None, kw_only=True)
    runtime: str = field(default="", kw_only=True)
    agents: Path | None = field(default=None, kw_only=True)

    @property
    def artifacts(self) -> Path:
        """The store's folder, where the hosts share none."""
        return self.workspaces.parent / "artifacts"

    @property
    def gateways(self) -> Path:
        """Sockets of gateways, a folder for each claim."""
        return self.workspaces.parent / "gateways"

    @property
    def servers(self) -> Path:
        """Network sockets of tool servers, a folder for each claim: no agent may see them."""
        return self.workspaces.parent / "servers"


@dataclass(frozen=True, slots=True)
class Committer:
    """Cardinal's name and address in commits."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    """An operator's private SSH key on the host, and its owner: the committer of the signed commits."""

    path: Path
    owner: Committer


@dataclass(frozen=True, slots=True)
class Briefing:
    """Briefing of an agent: `omitted` lists omissions, `issue` is the digest of the issue's text in it.

    `has_brief`: the card is planned, with criteria that the report can name tests for.
    """

    text: str
    omitted: tuple[str, ...] = ()
    issue: str = ""
    has_brief: bool = False


@dataclass(frozen=True, slots=True)
class Authorship:
    """Author of the commits that Cardinal writes; without a `key`, they are unsigned.

    `by_github`: GitHub makes the commits anew before they are pushed, and signs them. `past` are other
    authors whose commits are Cardinal's, too.
    """

    author: Committer
    key: SigningKey | None = None
    by_github: bool = False
    past: tuple[Committer, ...] = ()

    @property
    def committer(self) -> Committer:
        """The committer: GitHub verifies a signature by its address."""
        return self.key.owner if self.key else self.author

    @property
    def signs(self) -> bool:
        """Whether commits are signed when GitHub gets them."""
        return self.by_github or self.key is not None


FACTS = ("CARDINAL_CARD", "CARDINAL_ISSUE", "CARDINAL_PULL", "CARDINAL_BRANCH", "CARDINAL_RUN")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fork begins: another run's checkpoint, in words for its agent where that run `stood`."""

    checkpoint: CheckpointRow
    stood: str


@dataclass(frozen=True, slots=True)
class RunSpec:
    """One bounded attempt at a card. `kind`: first, revision, retry or repair.

    `session_id` is that of the continued run, or empty.
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
    briefing: Briefing
    limits: Limits
    paths: HostPaths
    authorship: Authorship
    tools: ToolSpec = ToolSpec()
    validation: ValidationSpec = ValidationSpec()
    threads: tuple[ThreadRow, ...] = ()
    workspace: str = "local"
    image: str = ""
    recipe: ImageRecipe | None = None  # of an image that is to be made, and takes the place of `image`
    resources: Resources = field(default_factory=Resources)
    models: tuple[str, ...] = ()  # that the policy allows besides the column's own
    granted: tuple[str, ...] = ()  # commands that people allowed for this card, each that very one
    allowed: tuple[str, ...] = ()  # patterns of commands that people allowed for this card
    guards: Guards = field(default_factory=Guards)
    private_hosts: tuple[str, ...] = ()  # of the operator: hosts that may have a private address
    base: str = ""  # the default branch's commit as the claim found it
    policy: str = ""  # the digest of the policy file in force
    workflows: bool = False  # a maintainer allowed that files of CI change
    failing: str = ""  # output of the pull request's red checks, as Markdown
    mode: str = FIX  # one of ledger/model/run_modes.py
    folder: str = ""  # the files that a run without a repository works on; as in RunQueued
    folder_mb: int = 0  # how large they may become
    stages: tuple[StageSpec, ...] = ()  # empty: plan, then work
    equipment: Equipment = field(default_factory=Equipment)  # profile, guides and skills
    request: str = ""  # of the person `requested_by` who started this very run
    requested_by: str = ""
    reproduction: ReproductionSpec | None = None  # None: nobody wants one
    issue_repository: str = ""  # where the card's issue is, if not in `repository`
    host: str = ""  # the name of the host that holds the claim
    early: bool = False  # publish what the guards let pass before the work is done
    elsewhere: tuple[str, ...] = ()  # other repositories in which the run may propose cards
    agents: tuple[str, ...] = ()  # whom the run may name for a card that it proposes
    rebases: bool = False  # a check puts the branch on its base first
    servers: tuple[ToolServerSpec, ...] = ()
    services: tuple[ServiceSpec, ...] = ()
    secrets: tuple[HostSecret, ...] = ()
    depth: int = 0  # of the card below cards whose agents made the next one
    start: str = ""  # where the unfinished work of earlier runs on GitHub's branch began; empty for none
    base_commit: str = ""  # of the base branch, on which the run works; empty: the newest
    again_of: RunId = NO_RUN  # the run that this one does again, beside the card's own
    origin: Origin | None = None  # where a fork of that run begins
    unlike: tuple[str, ...] = ()  # what is not as in that run, for people
    effort: str = ""  # of the model: low, medium or high; empty for its own
    repository_id: str = ""  # GitHub's, which no later repository of that name has; empty for a clone
    pull: int | None = None  # the number of the card's pull request

    @property
    def facts(self) -> dict[str, str]:
        """The environment that tells the repository's commands whose work they run on; never a secret."""
        told = (self.card_id, self.number or "", self.pull or "", self.branch, self.run_id)
        return dict(zip(FACTS, map(str, told), strict=True))

    @property
    def stack(self) -> tuple[Layer, ...]:
        return stack(self.mode, self.instructions, self.briefing.text, self.equipment.layers)

    @property
    def place(self) -> CardId:
        """The name of the run's workspace: the card's, or one of its own."""
        return CardId(f"{AGAIN}{self.run_id}") if self.again_of else self.card_id

    @property
    def reference(self) -> str:
        """The card's issue as the repository refers to it: #12, or owner/name#12."""
        return f"{self.issue_repository}#{self.number}"

    @property
    def full_reference(self) -> str:
        """The card's issue as any repository refers to it: owner/name#12."""
        return f"{self.issue_repository or self.repository}#{self.number}"

    @property
    def own_number(self) -> int:
        """The issue's number in the repository itself; 0 where the card's issue is elsewhere."""
        return 0 if self.issue_repository else self.number

    @property
    def investigates(self) -> bool:
        """Whether the run only reads, and ends with findings."""
        return self.mode == INVESTIGATE

    @property
    def has_repository(self) -> bool:
        """Whether the run works on a clone of the repository."""
        return self.mode not in PLACES


@dataclass(frozen=True, slots=True)
class MadeCommit:
    """A commit that GitHub made; `verified`: it signed it, and takes the signature. `why`: its reason."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    verified: bool
    why: str


class Remote(Protocol):
    """Access to the repository on GitHub; asked before every use, so a token may expire between two."""

    @property
    def url(self) -> str:
        """The address to fetch from and push to; it never holds a credential."""

    def git_environment(self) -> Mapping[str, str]:
        """Return fresh credentials as GIT_CONFIG_COUNT/KEY/VALUE, for one git command on the host."""

    def make_commit(self, tree: str, parents: tuple[str, ...], message: str, /) -> MadeCommit:
        """Let GitHub make a commit, signed as the App's, of objects that it has; no branch has it yet.
        Raises RemoteAwayError or UnverifiedCommitError.
        """


class Clock(Protocol):
    """Time as an argument: wall time in UTC, and seconds that never go back."""

    def now(self) -> datetime:
        """Return the wall time in UTC."""

    def monotonic(self) -> float:
        """Return seconds since some fixed moment."""
