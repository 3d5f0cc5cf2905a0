"""`python -m tests.faults`: plays a cell or a seed, lists cells, or makes the record anew."""

import logging
import sys
from collections.abc import Mapping, Sequence
from itertools import chain

from bot.github.transport import Wire
from tests import near
from tests.faults import cells, machine, playing, record, repairs
from tests.faults.cells import Cell
from tests.faults.points import FAULTS, UNHEARD, Fault, Kind
from tests.faults.stories import STORIES

USAGE = (
    "usage: scripts/faults CELL... | --list [STORY...] | --classes STORY... | --unheard STORY..."
    " | --record | --sweep | --forge [PATH...] | --play SEED|BLOB"
)


def main(words: list[str]) -> int:
    """Do what was asked; return the exit code."""
    Wire.requester = staticmethod(near.requester)
    match words:
        case ["--record"]:
            traces = [(name, playing.quiet(name).trace) for name in STORIES]
            classes = len(cells.one_of_each_class(traces))
            every = sum(1 for name, trace in traces for _ in cells.cells_of(name, trace))
            about = {name: story.about for name, story in STORIES.items()}
            record.write(stories=about, points=record.points_of(traces), cells=every, classes=classes)
            print(f"{classes} classes, {every} cells: now run scripts/docs")
        case ["--sweep"]:
            return _sweep()
        case ["--list", *names]:
            for name in names or STORIES:
                print("\n".join(map(str, cells.cells_of(name, playing.quiet(name).trace))))
        case ["--classes", *names] if names:
            return _play_classes(names, FAULTS)
        case ["--unheard", *names] if names:
            return _play_classes(names, UNHEARD)
        case ["--play", chosen]:
            logging.disable()
            machine.play(int(chosen) if chosen.isdecimal() else chosen)
        case [word, *_] if not word.startswith("-"):
            return _replay(words)
        case _:
            print(USAGE)
            return 2
    return 0


def _sweep() -> int:
    """Take out one repair at a time, and record which cell tells; exit 1 where none does."""
    logging.disable()
    told = {}
    for repair in repairs.REPAIRS:
        told[repair.what] = repairs.first_red(repair)
        print(f"{repair.what}: {told[repair.what] or 'nobody notices'}", flush=True)
    record.write(repairs=told)
    return 0 if all(told.values()) else 1


def _play_classes(stories: list[str], faults: Mapping[Kind, Sequence[Fault]]) -> int:
    """Play one cell of each class of these stories, several in one play; exit 1 where one failed."""
    logging.disable()
    traces = [(name, playing.quiet(name).trace) for name in stories]
    groups, failures = cells.together(cells.one_of_each_class(traces, faults)), 0
    for number, group in enumerate(groups, 1):
        failed, struck = cells.play_together(group)
        missed = [cell for cell in group if f"{cell.point}:{cell.fault}" not in struck]
        failed += [failure for cell in missed if len(group) > 1 for failure in cells.play_alone(cell)]
        failures += len(failed)
        print(*failed, f"{number} of {len(groups)} plays, {failures} failed", sep="\n", flush=True)
    return 1 if failures else 0


def _replay(words: list[str]) -> int:
    """Play these cells at once, and say what is not as in the quiet play."""
    chosen = [Cell.of(word) for word in words]
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    played = playing.play(chosen[0].story, {cell.point: cell.fault for cell in chosen})
    logging.disable()
    for point in chain(("the points:",), played.trace):
        struck = next((hit for hit in played.struck if hit.startswith(f"{point}:")), "")
        print(f"{point}  <== {struck.rpartition(':')[2]}" if struck else point)
    if len(played.struck) < len(chosen):
        print("A point did not come: scripts/faults --list prints those of the quiet play.")
        return 2
    found = played.differences(playing.quiet(chosen[0].story))
    print(found or "It ends as the quiet play.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
