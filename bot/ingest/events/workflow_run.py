"""A workflow of GitHub Actions failed: a schedule of the policy may want a card for it.

Source: docs.github.com/webhooks/webhook-events-and-payloads#workflow_run.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from bot.ingest.events._payload import Payload, moment, own, text, text_or_empty
from bot.ingest.facts import Fact
from bot.reactor import scheduled_cards
from bot.state import policies, served_boards
from ledger.event import Event
from ledger.log import event_store
from rules.policy.schedule import awaits

if TYPE_CHECKING:
    from bot.bootstrap import Services
    from bot.ingest.resolve import Resolution

SUBJECT = ("workflow_run",)
FAILED = ("failure", "timed_out", "startup_failure")
OWN_CAUSES = ("push", "schedule", "workflow_dispatch", "repository_dispatch", "workflow_run")


@dataclass(frozen=True, slots=True)
class WorkflowFailed(Fact):
    """A workflow, by its name and its file, failed on a branch of the repository; `url` shows its run."""

    repository: str
    workflow: frozenset[str]
    branch: str
    url: str
    at: datetime

    def resolve(self, services: "Services", resolution: "Resolution") -> None:
        """Request the cards of all schedules that wait for it, each board's once."""
        with event_store.reading(services.engine) as db:
            waiting = [
                (board.board_id, name, schedule)
                for board in served_boards.every(db, services.config)
                if board.board_id and self.repository.partition("/")[0].casefold() == board.owner.casefold()
                for name, schedule in policies.in_force(db, board.board_id).board.schedule.items()
                if awaits(schedule, board.home_repository, self.repository, self.workflow, self.branch)
            ]

        def request(db: Connection) -> tuple[Event, ...]:
            for board_id, name, schedule in waiting:
                scheduled_cards.request(
                    db,
                    board_id,
                    name,
                    schedule,
                    due_at=self.at,
                    next_at=self.at,
                    now=services.now(),
                    cause=f"It failed: {self.url}",
                )
            return ()

        if waiting:
            resolution.makers.append(request)


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return a failure on a branch of the repository's own; pull requests have their own checks.

    What Cardinal's own push broke makes no card, whose merge could break it again, and so on.
    """
    if own(payload, bot_id) or text_or_empty(payload, "action") != "completed":
        return ()
    repository, run = text(payload, "repository.full_name"), "workflow_run"
    own_branch = text_or_empty(payload, f"{run}.head_repository.full_name") == repository
    caused = text_or_empty(payload, f"{run}.event") in OWN_CAUSES
    if not own_branch or not caused or text_or_empty(payload, f"{run}.conclusion") not in FAILED:
        return ()
    file = text_or_empty(payload, f"{run}.path").partition("@")[0].rpartition("/")[2]
    names = frozenset(filter(None, (text_or_empty(payload, f"{run}.name"), file)))
    branch, url = text_or_empty(payload, f"{run}.head_branch"), text(payload, f"{run}.html_url")
    return (WorkflowFailed(repository, names, branch, url, moment(payload, f"{run}.updated_at")),)
