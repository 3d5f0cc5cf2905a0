"""A workflow of GitHub Actions failed: a schedule of the policy may want a card for it.

Source: docs.github.com/webhooks/webhook-events-and-payloads#workflow_run.
"""

from dataclasses import dataclass

from bot.ingest.card_triggers import CardTriggered
from bot.ingest.events._payload import Payload, moment, number, own, text, text_or_empty
from bot.ingest.facts import Fact
from rules.policy.schedule import CardTrigger

SUBJECT = ("workflow_run",)
FAILED = ("failure", "timed_out", "startup_failure")
OWN_CAUSES = ("push", "schedule", "workflow_dispatch", "repository_dispatch", "workflow_run")


@dataclass(frozen=True, slots=True)
class WorkflowFailed(CardTriggered):
    """A workflow, by its name and its file, failed on a branch of the repository."""

    workflow: frozenset[str]
    branch: str

    def meets(self, trigger: CardTrigger) -> bool:
        workflow = trigger.workflow_failed
        return workflow is not None and workflow.branch == self.branch and workflow.workflow in self.workflow


def read(payload: Payload, *, bot_id: int) -> tuple[Fact, ...]:
    """Return a failure on a branch of the repository's own; pull requests have their own checks.

    A failure after Cardinal's own push makes no card: the merge of that could fail again, and so on.
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
    at, event = moment(payload, f"{run}.updated_at"), f"run-{number(payload, f'{run}.id')}"
    cause = f"It failed: {text(payload, f'{run}.html_url')}"
    branch = text_or_empty(payload, f"{run}.head_branch")
    return (
        WorkflowFailed(repository=repository, event=event, cause=cause, at=at, workflow=names, branch=branch),
    )
