"""Remove the card's workspace; the next run makes it again."""

from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.workspace import WorkspaceCleanAsked
from ledger.rows.workspaces import CardWorkspace
from rules.chatops.replies import say
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code, plain

USAGE = "/cardinal clean [discard]"
ROLE = Role.WRITE
TAKES = "optional"
INSTEAD = "`discard` also removes what is saved nowhere else."
DISCARD = "discard"


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Ask the host to remove it, unless a run works there; with `discard`, also what is saved nowhere."""
    word = given.argument.strip().lower()
    if word not in ("", DISCARD):
        return say(snapshot, given, f"Write `/cardinal clean` or `/cardinal clean {DISCARD}`. {INSTEAD}")
    because = obstacle(snapshot.workspaces, discards=bool(word))
    if because:
        return say(snapshot, given, because)
    asked = make_requests(snapshot.workspaces, given.by, discards=bool(word))
    if not asked:
        return say(snapshot, given, "Its host is already about to remove the workspace.", is_done=True)
    hosts = ", ".join(code(event.host, 80) for event in asked)
    return Decision(asked, (f"the workspace on {hosts} is removed within a minute or two",))


def obstacle(workspaces: tuple[CardWorkspace, ...], *, discards: bool) -> str:
    """Return why the card's workspaces cannot be removed, and what to do; empty when they can."""
    if not workspaces:
        return "No host has a workspace of this card, so there is nothing to remove."
    used = next((it for it in workspaces if it.is_in_use), None)
    if used is not None:
        return f"{used.run_id} is working there: wait until it has ended, or `/cardinal cancel` it first."
    unsaved = [part for it in workspaces for part in it.unsaved]
    if unsaved and not discards:
        return (
            f"Nothing was removed, because this is saved nowhere else: {plain('; '.join(unsaved), 400)}."
            f" `/cardinal clean {DISCARD}` removes the workspace, and that with it."
        )
    return ""


def make_requests(
    workspaces: tuple[CardWorkspace, ...], by: str, *, discards: bool
) -> tuple[WorkspaceCleanAsked, ...]:
    """Return the request for each workspace whose host was not asked yet."""
    return tuple(
        WorkspaceCleanAsked(it.card_id, it.place, it.host, by, discards)
        for it in workspaces
        if not it.clean_by or discards
    )
