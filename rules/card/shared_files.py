"""The input of the rules about siblings: files that two cards' work has in common."""

from dataclasses import dataclass

from ledger.ids import RunId


@dataclass(frozen=True, slots=True)
class SharedFiles:
    """The files that a run and another card's work both change. `at_work`: that card's run was begun and has
    not ended; `pull` is the number of its open pull request, 0 without one.
    """

    run_id: RunId
    at_work: bool
    pull: int
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its name for people: a repository's pull request, else the run."""
        return f"#{self.pull}" if self.pull else str(self.run_id)
