"""Briefings of a run's stages, besides the layers that all of them have."""

from dataclasses import dataclass

from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class StageBriefed(RunEvent, line="the agent of stage {stage} is told who it is and what to do"):
    """The briefing of an entry into a stage: the agent's persona, the hand-over, its part of the work, how it
    leaves. `digest` is the SHA-256 of `text`, without secrets.
    """

    stage: str
    entry: int
    digest: str
    text: str
