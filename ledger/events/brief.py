"""What the agents of a run's stages were told besides the layers that all of them have."""

from dataclasses import dataclass

from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class StageBriefed(RunEvent):
    """What the agent of that entry into a stage is told: its persona, what was handed over, its part of the
    work, how it leaves. `digest` is the SHA-256 of `text`, without secrets.
    """

    stage: str
    entry: int
    digest: str
    text: str
