"""The workflow of a card's next run: by command, else by a label of the issue, else the column's."""

from dataclasses import dataclass

from rules.policy.board import BoardRules
from rules.policy.column import ColumnPolicy
from rules.text import code


@dataclass(frozen=True, slots=True)
class ChosenWorkflow:
    """A workflow and its rule: command (given by `value`), label (`value`) or column; no name for none."""

    name: str = ""
    rule: str = ""
    value: str = ""


def choose_workflow(
    board: BoardRules, column: ColumnPolicy, pinned: str, by: str, labels: tuple[str, ...]
) -> ChosenWorkflow:
    """Return the workflow that `by` chose with a command (`pinned`), else a label's, else the column's.

    A name that the policy has no longer counts for nothing.
    """
    if pinned in board.workflows:
        return ChosenWorkflow(pinned, "command", by)
    here = {label.casefold() for label in labels}
    for label, settings in board.labels.items():
        if settings.workflow and label.casefold() in here:
            return ChosenWorkflow(settings.workflow, "label", label)
    return ChosenWorkflow(column.workflow, "column") if column.workflow else ChosenWorkflow()


def apply_workflow(board: BoardRules, column: ColumnPolicy, chosen: ChosenWorkflow) -> ColumnPolicy:
    """Return the column's rules with the stages and routes of the chosen workflow."""
    return column.with_workflow(chosen.name, board.workflows[chosen.name]) if chosen.name else column


def describe_workflow(name: str, rule: str, value: str) -> str:
    """Return a run's workflow and why it is that one, for people; empty for none."""
    why = {"command": f"chosen by {code(value, 60)}", "label": f"the label {code(value, 60)}"}
    return f"{code(name)} ({why.get(rule, 'as its column says')})" if name else ""
