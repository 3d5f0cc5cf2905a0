"""Review threads of a turn: which steps are about them, and which step answers each. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forge.model.place import Thread
from forge.model.scenario import Step

_CHOICE = ("index", "match", "others")  # what of a `thread` step says which threads it answers


@dataclass(frozen=True, slots=True)
class Reply:
    """The `thread` step that answers a thread, by what it says of which."""

    thread_id: str
    chosen_by: Mapping[str, Any]
    addressed: bool

    def is_of(self, given: Mapping[str, Any]) -> bool:
        """Return whether that is the step."""
        return self.chosen_by == _choice(given)


def fits(step: Step, threads: Sequence[Thread]) -> bool:
    """Return whether the step is for this turn: one with `when` needs a thread in which that is found."""
    pattern = step.extras.get("when")
    return pattern is None or bool(_found(pattern, threads))


def replies(steps: Sequence[Step], threads: Sequence[Thread]) -> tuple[Reply, ...]:
    """Return the reply of each thread that is answered; `others` have those that no other step answers."""
    by_thread: dict[str, Reply] = {}
    given = [step.value for step in steps if step.kind == "thread"]
    for value in sorted(given, key=lambda value: bool(value.get("others"))):
        index = value.get("index")
        chosen = _found(value.get("match", ""), threads) if index is None else threads[index : index + 1]
        for thread in chosen:
            if not value.get("others") or thread.thread_id not in by_thread:
                reply = Reply(thread.thread_id, _choice(value), value.get("addressed", True))
                by_thread[thread.thread_id] = reply
    return tuple(by_thread.values())


def _choice(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return {name: given[name] for name in _CHOICE if name in given}


def _found(pattern: str, threads: Sequence[Thread]) -> Sequence[Thread]:
    return [thread for thread in threads if re.search(pattern, f"{thread.path}\n{thread.text}")]
