"""Which claim has the workspace of a card, on which host, and its checkpoints in the store."""

from dataclasses import dataclass

from ledger.event import RuleEvent, Zoom
from ledger.events.board import CardEvent
from ledger.events.run import RunEvent
from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class WorkspaceTaken(RunEvent, shows_payload=True):
    """The claim of that generation works in the workspace `place` of `host` from here on.

    `place` is the card's id, with a prefix for an investigation. `left_on` is the host with the newest files
    and sessions where they are not in this workspace: the work begins anew from GitHub's state. It is empty
    where nothing is missing, and `host` itself where this workspace is not as its last claim left it.
    """

    place: str
    host: str
    generation: int
    left_on: str = ""

    def describe(self) -> str:
        without = f", without what is on {self.left_on}" if self.left_on else ""
        return f"works on {self.host or 'this host'}{without}"


@dataclass(frozen=True, slots=True)
class Checkpointed(RunEvent, shows_payload=True):
    """The work in the workspace `place` of `host` is in the store, for another host to go on with.

    `head` is the branch's commit, `files` a commit on top of it with uncommitted files, or `head` again.
    `bundle`, `session` and `patch` are digests of blobs, empty where there is nothing: commits that the base
    does not have, the agent's session files, and the whole change as text, of so many `files_changed`. `refs`
    are the run's own names in the mirror, each with its commit; `stood_on` as in the workspace. `left_out`
    names the parts that were not kept. `uncommitted` are the first names of the `uncommitted_files`;
    `disk_bytes` is the size of the workspace when it was last measured, 0 before that. `point` is where the
    run stood, if another run can begin there: plan, question, or stage:<name> at that stage's end.
    """

    place: str
    generation: int
    host: str
    head: str
    files: str
    bundle: str = ""
    session: str = ""
    patch: str = ""
    refs: tuple[str, ...] = ()
    stood_on: str = ""
    left_out: tuple[str, ...] = ()
    files_changed: int = 0
    uncommitted: tuple[str, ...] = ()
    uncommitted_files: int = 0
    disk_bytes: int = 0
    point: str = ""

    def describe(self) -> str:
        without = f", without {'; '.join(self.left_out)}" if self.left_out else ""
        return f"its work is in the store{without}"


@dataclass(frozen=True, slots=True)
class WorkspaceRestored(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True):
    """The workspace `place` was made on `host` from the checkpoint that run `source` made on `source_host`.

    `missing` names the parts that could not be brought; empty where everything is there.
    """

    place: str
    host: str
    source: RunId
    source_host: str
    missing: tuple[str, ...] = ()

    def describe(self) -> str:
        without = f", without {'; '.join(self.missing)}" if self.missing else ""
        return f"continues the work of {self.source} on {self.source_host or 'this host'}{without}"


@dataclass(frozen=True, slots=True)
class WorkspaceCleanAsked(
    CardEvent, RuleEvent, zoom=Zoom.ACTIVITY, line="{by} asked to remove the workspace on {host}"
):
    """Somebody wants the workspace `place` of `host` removed: that host does it, unless a run takes it first.

    `discards`: also what the store does not have.
    """

    place: str
    host: str
    by: str
    discards: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceCleaned(CardEvent, zoom=Zoom.ACTIVITY):
    """The workspace `place` is not on `host` any more. `run_id` is the run that had it last.

    `by` asked for it, and the next run makes it again from the run's checkpoint; empty where nobody asked: a
    clean-up removed it, since no run will work there.
    """

    place: str
    host: str
    run_id: RunId
    by: str = ""

    def describe(self) -> str:
        whose = f", as {self.by} asked" if self.by else ""
        return f"the workspace on {self.host or 'this host'} is removed{whose}"


@dataclass(frozen=True, slots=True)
class WorkspaceKept(CardEvent, zoom=Zoom.ACTIVITY):
    """The workspace `place` of `host` was not removed, though `by` asked: the store does not have these parts
    of its checkpoint.
    """

    place: str
    host: str
    by: str
    missing: tuple[str, ...]

    def describe(self) -> str:
        missing = "; ".join(self.missing)
        return f"the workspace on {self.host or 'this host'} stays: not in the store: {missing}"


@dataclass(frozen=True, slots=True)
class FolderKept(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True):
    """The files of a run without a repository are in the store: those of `folder` from here on.

    `commit` has them, and all that were kept before as its history; `bundle` is the digest of a blob with it.
    `files` are so many in `size_bytes`; the run changed `files_changed` and `lines_changed` of them.
    """

    folder: str
    commit: str
    bundle: str
    files: int
    size_bytes: int
    files_changed: int
    lines_changed: int

    def describe(self) -> str:
        return f"its files are kept: {self.files:,}, of which it changed {self.files_changed:,}"


@dataclass(frozen=True, slots=True)
class FolderRestored(CardEvent, RuleEvent, zoom=Zoom.CONVERSATION, is_audited=True):
    """`by` brought the files of `folder` back as run `source` had left them; the rest is as in FolderKept."""

    folder: str
    source: RunId
    commit: str
    bundle: str
    files: int
    size_bytes: int
    by: str

    def describe(self) -> str:
        return f"{self.by} brought the folder back as {self.source} left it"
