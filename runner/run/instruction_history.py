"""What a run's events say of its instructions: the newest stack, and what its session was told. Pure."""

from dataclasses import dataclass, field
from typing import Any

from ledger.events.instruction import SkillConsidered

Digests = dict[tuple[str, str], str]  # by kind and name


@dataclass(slots=True)
class Instructed:
    """The fold. A session knows what a turn that ended by itself has carried to it: `told` are its layers,
    `read` are the sessions that have the newest briefing.
    """

    digest: str = ""
    considered: tuple[SkillConsidered, ...] = ()
    layers: Digests = field(default_factory=dict)
    briefed: str = ""  # the newest briefing's digest
    told: dict[str, Digests] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    session_id: str = ""  # of the newest turn

    def stack(self, event: Any) -> None:
        """Take the newest stack."""
        self.digest = event.digest
        self.layers = {(layer.kind, layer.name): layer.digest for layer in event.layers}

    def consider(self, event: Any) -> None:
        """Take which skills were considered."""
        self.considered = event.considered

    def brief(self, digest: str) -> None:
        """Take the newest briefing."""
        self.briefed = digest
        self.read.clear()

    def carry(self) -> None:
        """The newest turn has carried it all to its session."""
        if self.session_id:
            self.told[self.session_id] = self.layers
            self.read.add(self.session_id)

    def known(self, session_id: str) -> Digests:
        """Return the layers that a session has."""
        return self.told.get(session_id, {})

    def unread(self, session_id: str) -> bool:
        """Whether the session has not had the newest briefing: one of an earlier run has only that run's."""
        return session_id not in self.read
