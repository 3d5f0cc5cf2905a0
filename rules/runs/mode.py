"""The mode of a run: by command, else by a label of the issue, else by the column."""

from dataclasses import dataclass, replace

from ledger.model.column_names import same_column
from ledger.model.run_modes import FIX, INVESTIGATE
from ledger.states import Ending
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import code


@dataclass(frozen=True, slots=True)
class Chosen:
    """A mode and its rule: command (given by `value`), label, repeat or fork (of run `value`), or column."""

    mode: str
    rule: str
    value: str = ""

    @property
    def reason(self) -> str:
        """Why, as half a sentence for people."""
        return reason(self.rule, self.value)


def reason(rule: str, value: str) -> str:
    """Return why a run is in its mode, as half a sentence for people."""
    match rule:
        case "command":
            return f"{code(value, 60)} said so"
        case "label":
            return f"the label {code(value, 60)}"
        case "repeat":
            return f"as {value}, which it repeats"
        case "fork":
            return f"as {value}, which it was forked from"
        case _:
            return "as its column says"


def choose_by_command(mode: str, by: str) -> Chosen:
    return Chosen(mode, "command", by)


def choose_mode(policy: Policy, snapshot: Snapshot) -> Chosen:
    """Return the mode that the card's labels say, else its column's; labels that disagree mean reading."""
    return in_workspace(snapshot, _choose_by_label(policy, snapshot) or _of_column(snapshot))


def in_workspace(snapshot: Snapshot, chosen: Chosen) -> Chosen:
    """Return the choice as the column's workspace lets it be: without a clone there is none to fix."""
    column = snapshot.column_policy
    return replace(chosen, mode=column.mode_of(chosen.mode)) if column else chosen


def again(policy: Policy, snapshot: Snapshot) -> Chosen:
    """Return the mode of another attempt: that of the run which did not succeed in this very column, where
    somebody had asked for it; so nobody's `retry` of a reading becomes a writing.
    """
    labelled, run = _choose_by_label(policy, snapshot), snapshot.run
    if labelled:
        return labelled
    here = run is not None and same_column(snapshot.column, run.column)
    if run and here and run.ending is not Ending.SUCCEEDED and run.mode_rule in ("command", "repeat"):
        return Chosen(run.mode, "repeat", str(run.run_id))
    return _of_column(snapshot)


def _choose_by_label(policy: Policy, snapshot: Snapshot) -> Chosen | None:
    known = {label.casefold(): mode for label, mode in policy.board.modes.labels.items()}
    choices = [
        Chosen(known[label.casefold()], "label", label)
        for label in snapshot.choosing_labels
        if label.casefold() in known
    ]
    return min(choices, key=lambda choice: choice.mode != INVESTIGATE, default=None)


def _of_column(snapshot: Snapshot) -> Chosen:
    column = snapshot.column_policy
    return Chosen(column.run_mode if column else FIX, "column")
