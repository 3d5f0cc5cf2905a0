"""Who plays a card's next run: by command, else by a label of the issue, else the column's own agent."""

from rules.intents.outbound import Decision, Say
from rules.policy.board import BoardRules
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy
from rules.policy.stages import MARK
from rules.snapshot import Snapshot
from rules.text import alternatives, code

PREFIX = "agent:"
MAX_LABEL = 50  # characters that GitHub takes


def apply_choice(policy: Policy, column: ColumnPolicy, pinned: str, labels: tuple[str, ...]) -> ColumnPolicy:
    """Return the column's rules as whoever was chosen plays them."""
    return column.played_by(choose_agent(column, pinned, labels), policy.board.specialists)


def choose_agent(column: ColumnPolicy, pinned: str, labels: tuple[str, ...]) -> str:
    """Return who was chosen of the column's `agents`; empty for its own agent.

    Of two labels the one counts whose agent stands first in `agents`.
    """
    wanted = {_agent_of_label(label) for label in labels if chooses(label)}
    labelled = (choice for choice in column.agents if choice.removeprefix(MARK).casefold() in wanted)
    return pinned if pinned in column.agents else next(labelled, "")


def list_choices(policy: Policy) -> tuple[str, ...]:
    """Return what any column has in its `agents`."""
    return tuple(dict.fromkeys(name for column in policy.board.columns.values() for name in column.agents))


def find_choice(policy: Policy, text: str) -> str:
    """Return the choice that a text names, a specialist also without its mark; empty for none."""
    known = list_choices(policy)
    return next((name for name in (text, f"{MARK}{text}") if name in known), "")


def agent_names(board: BoardRules) -> tuple[str, ...]:
    """Return the names of the agents that any column lists, as a label can have them."""
    listed = (choice.removeprefix(MARK) for column in board.columns.values() for choice in column.agents)
    return tuple(dict.fromkeys(name for name in listed if len(PREFIX + name) <= MAX_LABEL))


def label_of(choice: str) -> str:
    """Return the label that chooses the agent; empty where GitHub takes none so long."""
    label = f"{PREFIX}{choice.removeprefix(MARK)}"
    return label if len(label) <= MAX_LABEL else ""


def chooses(label: str) -> bool:
    return label.casefold().startswith(PREFIX)


def unknown_labels(snapshot: Snapshot) -> Decision:
    """Say once of each label that would choose an agent which the column does not list."""
    column = snapshot.column_policy
    agents = column.agents if column else ()
    known = {choice.removeprefix(MARK).casefold() for choice in agents}
    decision = Decision()
    for label in snapshot.choosing_labels if agents else ():
        if chooses(label) and _agent_of_label(label) not in known:
            which = alternatives(code(f"{PREFIX}{choice.removeprefix(MARK)}") for choice in agents)
            here = code(snapshot.column or "")
            said = f"The label {code(label, 60)} chooses no agent in {here}: {which} would."
            decision += Decision((Say(snapshot.card_id, f"agent-label:{label.casefold()}", said),), (said,))
    return decision


def _agent_of_label(label: str) -> str:
    return label[len(PREFIX) :].strip().removeprefix(MARK).casefold()
