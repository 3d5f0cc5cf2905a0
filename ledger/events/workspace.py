"""Which claim has the workspace of a card, and on which host."""

from dataclasses import dataclass

from ledger.events.run import RunEvent


@dataclass(frozen=True, slots=True)
class WorkspaceTaken(RunEvent):
    """The claim of that generation works in the workspace `place` of `host` from here on.

    `place` is the card's id, with a prefix for an investigation. `left_on` is the host with the newest files
    and sessions where they are not in this workspace: the work begins anew from what is on GitHub. It is
    empty where nothing is missing, and `host` itself where this workspace is not as its last claim left it.
    """

    place: str
    host: str
    generation: int
    left_on: str = ""
