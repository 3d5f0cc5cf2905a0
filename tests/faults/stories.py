"""The stories that every fault is tried in: what people do, and what the worker of a run does by hand."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from forge.store.board import Item
from ledger.events.run import RunStepped
from ledger.states import RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.pulls.test_review import review

Step = Callable[[Cardinal], None]
TITLE = "Take euros"


@dataclass(frozen=True, slots=True)
class Story:
    """Steps of people; after each Cardinal does all that is due. `works`: it also carries out runs."""

    about: str
    steps: tuple[Step, ...]
    works: bool = False


def card(cardinal: Cardinal, title: str = TITLE) -> Item:
    """Return the story's card of that title."""
    return next(item for item in cardinal.project.items if getattr(item.content, "title", "") == title)


def _drag(column: str, title: str = TITLE) -> Step:
    return lambda cardinal: cardinal.drag(card(cardinal, title), column)


def _begin(cardinal: Cardinal) -> None:
    cardinal.begin(cardinal.run_of(card(cardinal)).run_id)


def _ask(cardinal: Cardinal) -> None:
    cardinal.ask(cardinal.run_of(card(cardinal)).run_id, "Which one?", "a", "b")


def _go_on(cardinal: Cardinal) -> None:
    run_id = cardinal.run_of(card(cardinal)).run_id
    assert cardinal.claim(run_id), "the run may not go on"
    cardinal.write(
        run_id,
        RunStepped(run_id, RunState.CLAIMED, RunState.PREPARING),
        RunStepped(run_id, RunState.PREPARING, RunState.WORKING),
    )


def _deliver(cardinal: Cardinal) -> None:
    cardinal.finish(cardinal.run_of(card(cardinal)).run_id, files={"one.txt": b"one\n"})


def _approve(cardinal: Cardinal) -> None:
    review(cardinal, cardinal.pull_of(card(cardinal)), "APPROVE")


QUIET = Story(
    "A card is dragged; its run asks, is answered and delivers; people review, approve and merge.",
    (
        lambda cardinal: void(cardinal.new(TITLE, column="In Progress")),
        _begin,
        _ask,
        lambda cardinal: void(cardinal.say(card(cardinal), "a")),
        _go_on,
        _deliver,
        _drag("Review"),
        _approve,
        _drag("Done"),
    ),
)
STORIES: Mapping[str, Story] = {"quiet": QUIET}


def void(_: object) -> None:
    """Drop a result."""
