"""How often mere progress may be written: the longer a run takes, the rarer, for GitHub counts every edit."""

from datetime import timedelta
from typing import TYPE_CHECKING

from bot.outbox.contract import TooSoonError
from ledger.states import RunState
from ledger.views.remotes import RemoteRow
from ledger.views.runs import RunRow

if TYPE_CHECKING:
    from bot.outbox.context import OutboxContext

SHARE_OF_CLAIM = 0.1
LONGEST_WAIT_S = 60.0


def wait_for_more(context: "OutboxContext", run: RunRow, last: RemoteRow) -> None:
    """Raise TooSoonError while the last edit is younger than the least wait, or a tenth of the claim."""
    began = None if run.state is RunState.QUEUED else run.claimed_at
    age_s = (context.clock() - began).total_seconds() if began else 0.0
    wait_s = min(max(context.config.progress_every_s, age_s * SHARE_OF_CLAIM), LONGEST_WAIT_S)
    due_at = last.at + timedelta(seconds=wait_s)
    if due_at > context.clock():
        raise TooSoonError(due_at, "only progress: the next edit can wait")
