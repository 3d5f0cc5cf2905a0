"""Cells: a story, a point of it and a fault there. Same site, act and events: one class."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.faults import playing
from tests.faults.points import FAULTS, Fault, Kind

AT_ONCE = 8  # faults in one play: far from one another, and each of another process
TRIES = 3  # of a cell whose point does not come
RECOVERY = 12  # points after a fault, at which a second one strikes


@dataclass(frozen=True, slots=True)
class Cell:
    """A fault at one point of a story; its text is `quiet/commit:CardMoved@…#1:kill-after`."""

    story: str
    point: str
    fault: Fault

    def __str__(self) -> str:
        return f"{self.story}/{self.point}:{self.fault}"

    @property
    def class_name(self) -> str:
        """Where it is, in any story, and the fault."""
        return f"{self.point.rpartition('#')[0]}:{self.fault}"

    @classmethod
    def of(cls, text: str) -> "Cell":
        """Return the cell of that text. Raises ValueError."""
        story, _, rest = text.partition("/")
        point, _, fault = rest.rpartition(":")
        return cls(story, point, Fault(fault))


def cells_of(
    story: str, trace: Iterable[str], faults: Mapping[Kind, Sequence[Fault]] = FAULTS
) -> Iterator[Cell]:
    """Yield every cell of a story, in the order of its points."""
    for point in trace:
        for fault in faults[Kind(point.partition(":")[0])]:
            yield Cell(story, point, fault)


def one_of_each_class(
    traces: Iterable[tuple[str, Sequence[str]]], faults: Mapping[Kind, Sequence[Fault]] = FAULTS
) -> list[Cell]:
    """Return the first cell of each class, in the order of stories and points."""
    first: dict[str, Cell] = {}
    for story, trace in traces:
        for cell in cells_of(story, trace, faults):
            first.setdefault(cell.class_name, cell)
    return list(first.values())


def together(cells: Sequence[Cell], at_once: int = AT_ONCE) -> list[tuple[Cell, ...]]:
    """Return the cells in groups to play at once: of one story, no two at one point, and far apart.

    Those of one point must stand beside one another.
    """
    groups: list[tuple[Cell, ...]] = []
    for story in dict.fromkeys(cell.story for cell in cells):
        of_story = [cell for cell in cells if cell.story == story]
        most = max(Counter(cell.point for cell in of_story).values())
        count = max(-(-len(of_story) // at_once), most)
        groups += [tuple(of_story[place::count]) for place in range(count)]
    return groups


@dataclass(frozen=True, slots=True)
class Failure:
    """Cells that were played at once, and what was not as in the quiet play."""

    cells: tuple[Cell, ...]
    found: str

    def __str__(self) -> str:
        return " and ".join(map(str, self.cells)) + f"\n{self.found}"


def play_together(cells: Sequence[Cell]) -> tuple[list[Failure], tuple[str, ...]]:
    """Play cells of one story at once; return what failed, taken apart, and the faults that struck."""
    story = cells[0].story
    played = playing.play(story, {cell.point: cell.fault for cell in cells})
    found = played.differences(playing.quiet(story))
    if not found:
        return [], played.struck
    alone = [failure for cell in cells for failure in play_alone(cell)] if len(cells) > 1 else []
    return alone or [Failure(tuple(cells), found)], played.struck


def play_alone(cell: Cell) -> list[Failure]:
    """Play one cell; return its failure, also where its point did not come: then it was never tried.

    How often a working run writes depends on the wall's clock: a quiet play may lack its last points as well,
    and then they are no cells.
    """
    for _ in range(TRIES):
        played = playing.play(cell.story, {cell.point: cell.fault})
        found = played.differences(playing.quiet(cell.story))
        if found or played.struck:
            return [Failure((cell,), found)] if found else []
        if cell.point not in playing.play(cell.story).trace:
            return []
    return [Failure((cell,), "it never struck: its point did not come")]


def play_twice(cell: Cell, pairs: set[tuple[str, str]]) -> list[Failure]:
    """Play the cell with a kill at the next point, and at each of the first points of its recovery whose pair
    of classes is not among the `pairs` that were played before; return what failed.
    """
    first = playing.play(cell.story, {cell.point: cell.fault})
    if not first.struck:
        return play_alone(cell)
    begins = first.trace.index(cell.point) + 1
    failures = []
    for point in first.trace[begins : begins + RECOVERY]:
        again = Cell(cell.story, point, Fault.KILL_AFTER)
        pair = cell.class_name, again.class_name
        if pair in pairs and point != first.trace[begins]:
            continue
        pairs.add(pair)
        played = playing.play(cell.story, {cell.point: cell.fault, again.point: again.fault})
        found = played.differences(playing.quiet(cell.story))
        failures += [Failure((cell, again), found)] if found else []
    return failures
