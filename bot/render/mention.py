"""The mention of whoever a run waits for: who asked for it, else the policy's reviewers."""

import json

from ledger.events.run import BY_PEOPLE
from ledger.rows.runs import RunRow
from rules.policy.roles import LOGIN


def requester_of(run: RunRow) -> str:
    """Return the login of the person who asked for the run; empty where no person did."""
    return run.by if run.door in BY_PEOPLE and LOGIN.fullmatch(run.by) else ""


def run_mention(run: RunRow) -> str:
    """Return a line that notifies those people; empty where there are none.

    It stands in the comment that waits, and goes when that is edited: GitHub notifies a person of a mention
    once.
    """
    if person := requester_of(run):
        return f"@{person}, you asked for this run."
    names = json.loads(run.settings or "{}").get("reviewers") or ()
    return f"{', '.join(f'@{name}' for name in names)}: no one else asked for this run." if names else ""
