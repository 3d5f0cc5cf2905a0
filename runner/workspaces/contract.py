"""The contract of a workspace: a place of one card where an agent works and commands run, locked in."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from ledger.ids import NO_RUN, CardId, RunId
from ledger.model.policy_settings import Resources
from runner.agents.contract import Layout
from runner.exec.child import Child
from runner.run.run_spec import HostPaths, ImageRecipe, RecipeFiles, ServiceSpec, ToolServerSpec

DEFAULT_IMAGE = "cardinal/agent:latest"


@dataclass(frozen=True, slots=True)
class Tenancy:
    """The tenant of a workspace: labels and limits of its containers.

    `card_id` names the place; it is no card's where a gate or a chat has one of its own. `repository_id` is
    empty where no repository of GitHub is worked on.
    """

    card_id: CardId
    run_id: RunId = NO_RUN
    generation: int = 0
    image: str = ""
    resources: Resources = field(default_factory=Resources)
    repository_id: str = ""


@dataclass(slots=True)
class DiskUsage:
    """How many files and folders a place has, and how much disk they take."""

    files: int = 0
    disk_bytes: int = 0


class ToolServerProcess(Protocol):
    """A tool server that was started."""

    def close(self) -> None:
        """End it, and leave nothing of it."""


class Workspace(Protocol):
    """One card's place. Everything started in it sees `layout`, and nothing else of the host."""

    @property
    def layout(self) -> Layout:
        """Where things are for a command inside."""

    @property
    def locked(self) -> str:
        """Empty when commands are locked in; else why they are not."""

    @property
    def networks(self) -> tuple[str, ...]:
        """The values of a policy's `network` that it can grant: none, list, full."""

    @property
    def image(self) -> str:
        """The digest of the image that commands run in; `local` where they see this machine's own system."""

    repo: Path  # the checkout on the host, to be mounted; nothing of it is trusted, or read by the host

    changes: int  # how many commands could have changed the repository, since this place was opened

    def mirror_at(self, mirror: Path) -> str:
        """Return where a mirror given to `start` is found inside."""

    @property
    def fresh(self) -> bool:
        """Whether nothing was checked out in it yet."""

    def mark_ready(self) -> None:
        """Remember, where the agent cannot write, that the checkout is complete."""

    def sign(self, *claims: str) -> None:
        """Remember, where the agent cannot write, which claims may have written the files last."""

    def read_signatures(self) -> tuple[str, ...]:
        """Return the claims of the last `sign`; none in a new place, or once the machine was restarted."""

    def mark_untrusted(self, why: str) -> None:
        """Remember, where the agent cannot write, that the checkout is not to be used again."""

    def why_untrusted(self) -> str:
        """Return why not; empty where it may be used."""

    def unlock(self) -> None:
        """Give the user inside back the rights on all files of the checkout. Raises WorkspaceError."""

    def clear(self, kept: Sequence[str] = ()) -> None:
        """Remove the checkout, and the agents' home but for its plain files of these shell patterns.

        The place is fresh then. Raises WorkspaceError.
        """

    def start(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        writable: bool,
        cap_bytes: int,
        mirror: Path | None = None,
        export: bool = False,
        commits: bool = True,
        gateway: Path | None = None,
        hides: Sequence[str] = (),
        side_channel: int | None = None,
        packages: bool = False,
        services: bool = False,
    ) -> Child:
        """Start a command in the repository's folder, without network.

        `writable`: may it change the repository. `mirror`: a bare repository of the host to show it,
        read-only. `export`: may it write to `layout.out`. `commits`: may it write to `.git`. `gateway`: the
        folder with the sockets of the run's gateway. `hides`: folders and files of the repository that look
        empty.
        `side_channel`: a descriptor whose messages are heard together with the command's output. `packages`:
        may it see what a person has installed in a clone, where there are no containers. `services`: may it
        reach those that `begin_services` started.

        Raises SpawnError, and WorkspaceError when there is no plain `.git` to protect.
        """

    def begin_services(self, services: tuple[ServiceSpec, ...], beat: Callable[[], None]) -> None:
        """Start these beside the commands of this place, unless they run, and wait until each is ready.

        Raises ServiceError, and whatever `beat` raises; none of them runs then.
        """

    def end_services(self) -> None:
        """Remove them, and what they stored."""

    def collect(self, name: str, target: Path, cap_bytes: int) -> None:
        """Copy a file that a command left in `layout.out` to the host.

        Raises WorkspaceError when it is no plain file, OversizedRepositoryError when it is larger than the
        cap.
        """

    def equip(self, files: Mapping[str, bytes]) -> None:
        """Put these files, by their paths, below `layout.skills` in place of all that is there.

        Commands can read and not change them. Raises WorkspaceError for a path that leads elsewhere.
        """

    def register_secrets(self, phrases: Sequence[str]) -> None:
        """Store private phrases that the agent sees, where the agent cannot read."""

    def private_phrases(self) -> tuple[str, ...]:
        """Return the newest phrases of `register_secrets` in this place; nothing where it is new."""

    def record_base(self, commit: str) -> None:
        """Remember, where the agent cannot write, which head of GitHub's branch the work goes on from."""

    def read_base(self) -> str:
        """Return the newest commit of `record_base` in this place, by any run; empty where it is new."""

    def usage(self, most_files: int) -> DiskUsage:
        """Return the place's size, counted no further than `most_files` and one more file.

        Raises WorkspaceError.
        """

    def restore_setup(self, key: str) -> bool:
        """Restore the stored result of set-up under this key; False: there is none."""

    def destroy(self) -> None:
        """Remove the place and all that is in it."""


class CleanWorkspace(Workspace, Protocol):
    """A place where no agent ever was: only code of the default branch runs with more rights than an agent's.

    Only `Backend.open_clean` gives one, and no agent is started in it.
    """

    def serve(
        self,
        server: ToolServerSpec,
        wire: int,
        errors: int,
        *,
        network: Path | None,
        env: Mapping[str, str],
        data: Path,
    ) -> ToolServerProcess:
        """Start a tool server beside the agent, with `wire` as its standard input and output.

        Where its specification says so, it stands in this place's checkout, and sees the agent's files,
        `data`, on another path. `network`: the folder with its socket.

        Raises SpawnError, or another RunnerError.
        """

    def keep_setup(self, key: str) -> None:
        """Store the result of set-up in this place, for others with the same key."""


class Leftover(NamedTuple):
    """Something that nobody needs any more, in words, and how to remove it."""

    what: str
    remove: Callable[[], object]


class Backend(Protocol):
    """A kind of workspace: `BACKEND` of `runner/workspaces/backends/<backend>.py`."""

    rank: int  # of those that a machine can use, the lowest is taken where the operator chose none
    runs_images: bool  # commands run in container images, which have the agents' programs

    def problem(self) -> str:
        """Return why it cannot be used on this machine at all, as a person reads it; empty when it can."""

    def open(self, places: HostPaths, tenancy: Tenancy) -> Workspace:
        """Return the place of that card, made when it was not there. Raises RunnerError."""

    def open_clean(self, places: HostPaths, tenancy: Tenancy) -> CleanWorkspace:
        """Return that place, emptied. Raises RunnerError."""

    def make_image(
        self,
        places: HostPaths,
        tenancy: Tenancy,
        recipe: ImageRecipe,
        files: RecipeFiles,
        *,
        beat: Callable[[], None],
        say: Callable[[str], None],
    ) -> str:
        """Return the name of the recipe's image; `say` is told when it must be built first.

        Raises ImageBuildError, or another RunnerError.
        """

    def leftovers(self, places: HostPaths, alive: Callable[[RunId, int], bool]) -> Iterable[Leftover]:
        """Yield the left-overs of claims that are not alive any more (run and generation).

        Raises RunnerError, and so may each removal.
        """

    def end_claim(self, places: HostPaths, run_id: RunId, generation: int) -> None:
        """End, within seconds, all of this claim that would outlive its worker and all descendants.

        Raises RunnerError when that is not certain.
        """

    def cards(self, places: HostPaths) -> tuple[CardId, ...]:
        """Return the cards that have a workspace."""
