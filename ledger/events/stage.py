"""The stages of a run: each entry with its hand-over, its cost, and questions to people."""

from dataclasses import dataclass

from ledger.event import Zoom
from ledger.events.run import RunEvent
from ledger.ids import QuestionId


@dataclass(frozen=True, slots=True)
class StageEntered(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True, changes_workspace=True):
    """A stage began, as the run's `entry`-th and this stage's `number`-th, both counted from 1, at the commit
    `head`.

    `source` is the stage that was left, empty for the first. `by`: policy, agent, or the person who let it
    begin; `sent_back`: that person wanted another stage than the agent. `persona_source` says where the
    persona was read, `persona_digest` is the SHA-256 of its file.
    """

    stage: str
    entry: int
    number: int
    source: str
    by: str
    sent_back: bool
    persona: str
    persona_source: str
    persona_digest: str
    model: str
    head: str

    def describe(self) -> str:
        again = f" again, time {self.number}" if self.number > 1 else ""
        who = "" if self.by in ("agent", "policy") else f", as {self.by} decided"
        return f"stage {self.stage} began{again} (persona {self.persona}){who}"


@dataclass(frozen=True, slots=True)
class StageReopened(RunEvent, zoom=Zoom.ACTIVITY, line="stage {stage} continues: {why}"):
    """An entry that was left goes on in its session, at the commit `head`. `why`: repair, when the checks
    failed, or heed, for a person's words.
    """

    stage: str
    entry: int
    why: str
    head: str


@dataclass(frozen=True, slots=True)
class SnapshotTaken(RunEvent, zoom=Zoom.ACTIVITY, line="stage {stage} hands over: {summary}"):
    """The hand-over of an entry at the commit `head`: the agent's `summary` and `open_points`, its notes and
    the plan's steps that are not done; `files` are the changed ones by git, `files_omitted` how many more.
    """

    stage: str
    entry: int
    summary: str
    files: tuple[str, ...]
    files_omitted: int
    notes: tuple[str, ...]
    open_points: tuple[str, ...]
    open_steps: tuple[str, ...]
    head: str


@dataclass(frozen=True, slots=True)
class FileTouched:
    """A file with its new and removed lines; None where they are not known yet. A binary file has one new."""

    path: str
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class StageLeft(RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True):
    """A stage was left for `target`, empty when it ended the work; with the use and the changes of the whole
    entry.

    `lines_added` are those of `lines_changed` that are new; the others are gone. `touched` are the first of
    the changed files by git; none in events of an older Cardinal.
    """

    stage: str
    entry: int
    target: str
    usd: float
    input_tokens: int
    output_tokens: int
    turns: int
    seconds: float
    files_changed: int
    lines_changed: int
    lines_added: int = 0
    touched: tuple[FileTouched, ...] = ()

    def describe(self) -> str:
        left = f"handed the work to {self.target}" if self.target else "ended"
        lines = f"files: {self.files_changed}, lines: {self.lines_changed}, ${self.usd:.2f}"
        return f"stage {self.stage} {left} ({lines})"


@dataclass(frozen=True, slots=True)
class StageAwaited(RunEvent, line="a person decides about stage {target} ({why})"):
    """The question of that id asks whether the run may go from `source` to `target`, as its `entry`-th.

    `why`: approval, again for the same way too often, entries for too many in all.
    """

    question_id: QuestionId
    why: str
    source: str
    target: str
    entry: int


@dataclass(frozen=True, slots=True)
class StageTidied(RunEvent, zoom=Zoom.ACTIVITY, line="stage {stage}: {command} → exit code {exit_code}"):
    """One clean-up command of a stage ran when it was left; a failure is told, and stops nothing."""

    stage: str
    entry: int
    command: str
    exit_code: int
    duration_s: float
    tail: str
