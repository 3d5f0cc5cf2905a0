"""What a run's events say of its instructions: the newest stack, and what its session was told. Pure."""

from dataclasses import dataclass, field
from typing import Any

from ledger.events.instruction import SkillConsidered

Digests = dict[tuple[str, str], str]  # by kind and name


@dataclass(slots=True)
class Instructed:
    """The fold. `known` are the layers that a turn which ended by itself has carried to the session."""

    digest: str = ""
    considered: tuple[SkillConsidered, ...] = ()
    layers: Digests = field(default_factory=dict)
    known: Digests = field(default_factory=dict)

    def stack(self, event: Any) -> None:
        """Take the newest stack."""
        self.digest = event.digest
        self.layers = {(layer.kind, layer.name): layer.digest for layer in event.layers}

    def consider(self, event: Any) -> None:
        """Take which skills were considered."""
        self.considered = event.considered

    def carry(self) -> None:
        """A turn has carried the stack to the session."""
        self.known = self.layers

    def forget(self) -> None:
        """The session that knew it is gone."""
        self.known = {}
