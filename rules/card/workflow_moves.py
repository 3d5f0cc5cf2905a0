"""Moves by GitHub's own workflows of a project, behind a close for one: no person's drag."""

from rules.card.column_actions import has_action
from rules.policy.model import Policy
from rules.snapshot import Snapshot

# Source: docs.github.com/issues/planning-and-tracking-with-projects/automating-your-project/
# using-the-built-in-automations. *Item closed* and *Pull request merged* are on in every new project.
PROJECT_BOT = "github-project-automation[bot]"


def merges(policy: Policy, snapshot: Snapshot) -> bool:
    """Return whether the card's column merges."""
    column = policy.column(snapshot.column)
    return column is not None and has_action(column.entry_actions, "merge")


def is_by_workflow(policy: Policy, snapshot: Snapshot) -> bool:
    """Return whether a workflow of GitHub's put the card where it stands, and nothing comes of that.

    A policy can name the bot to let it start work; but moves behind a close, archiving and merging are for
    people. A closed issue's card that nobody is known to have moved counts as moved by it. The move behind a
    merge is the merger's.
    """
    mover, pull = snapshot.moved_by, snapshot.pull
    if mover.own or (pull is not None and pull.state == "merged"):
        return False
    if mover.login == PROJECT_BOT:
        return bool(snapshot.closed) or snapshot.archived or merges(policy, snapshot)
    return not mover.login and bool(snapshot.closed)
