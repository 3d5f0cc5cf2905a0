"""The cards and branches of a board of `cardinal try`, as its forge lists them."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from bot.admin.clone.own_git import CloneError, git_output
from bot.admin.trial import carried, trial

WORK = re.compile(r"cardinal/(\d+)-(.+)")


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment about a card, or an act of Cardinal's."""

    author: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class LocalCard:
    """A card; `number` is 0 for a draft, `closed` the reason, empty while it is open.

    `is_assigned`: to a person. `sub_issues` and `blocked_by` are other cards.
    """

    card: str
    column: str
    repository: str
    number: int
    title: str
    body: str
    labels: tuple[str, ...]
    closed: str
    author: str
    at: datetime
    remarks: tuple[Remark, ...]
    is_assigned: bool = False
    sub_issues: tuple[str, ...] = ()
    blocked_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LocalBoard:
    """A board; `board` is its name among all boards, `branches` those of the repository by name."""

    board: str
    cards: tuple[LocalCard, ...]
    branches: dict[str, str]
    git: Path
    name: str

    def branch_on_github(self, branch: str, numbers: dict[str, int]) -> str:
        """Return the branch's name there, where each card has another number; empty if that is not known."""
        match = WORK.fullmatch(branch)
        cards = (card for card in self.cards if card.repository == self.name)
        card = next((card for card in cards if match and card.number == int(match[1])), None)
        if match is None or card is None:
            return branch
        number = numbers.get(card.card)
        return f"cardinal/{number}-{match[2]}" if number else ""


@dataclass(frozen=True, slots=True)
class _Listing:
    board: str
    cards: tuple[LocalCard, ...]
    branches: dict[str, dict[str, str]]


def read(place: trial.Trial) -> LocalBoard:
    """Return the board, which must not run.

    Raises CloneError, also where a branch of it is not as the person has it.
    """
    with carried.scratch(place.folder / "listing") as folder:
        carried.run_forge("list", place.folder / "forge", folder)
        text = (folder / "cards.json").read_bytes()
    listing = TypeAdapter(_Listing).validate_json(text)
    repository = str(place.answers()["name"])
    branches = listing.branches.get(repository, {})
    for branch, commit in branches.items():
        own = git_output(place.top, "rev-parse", "--verify", "--quiet", f"refs/heads/{branch}").strip()
        if own not in ("", commit):
            because = f"{branch} has different commits here and on the board: run `cardinal try` once,"
            raise CloneError(f"{because} which brings them together, then run this again")
    folder = place.folder / "forge" / "git" / "local" / f"{repository}.git"
    return LocalBoard(listing.board, listing.cards, branches, folder, repository)
