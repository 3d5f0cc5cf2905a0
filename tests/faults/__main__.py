"""`python -m tests.faults`: plays a cell or a seed, lists cells, or makes the record anew."""

import logging
import sys
from itertools import chain

from bot.github.transport import Wire
from tests import near
from tests.faults import cells, machine, playing, record, repairs
from tests.faults.cells import Cell
from tests.faults.stories import STORIES

USAGE = "usage: scripts/faults CELL... | --list [STORY...] | --record | --sweep | --play SEED|BLOB"


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
