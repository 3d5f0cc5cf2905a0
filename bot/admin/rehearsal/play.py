"""A whole rehearsal: it looks whether the repository is free, compares each belief, and cleans up."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from bot.admin.rehearsal import cards, changes, hooks, story, talk
from bot.admin.rehearsal.belief import Belief, BeliefVerdict, Comparison, NotTriedError, compare_belief
from bot.admin.rehearsal.remains import is_by_app, remove_remains
from bot.admin.rehearsal.report import RehearsalReport
from bot.admin.rehearsal.stage import RehearsalStage
from bot.github.api import repositories
from bot.github.client import Hub, repository_path
from bot.github.errors import ConflictError
from ledger.errors import CardinalError

# In the order of their acts: the last one of the cards closes the issue.
BELIEFS: tuple[Belief[RehearsalStage], ...] = (
    *talk.beliefs,
    *changes.beliefs,
    *cards.beliefs,
    *hooks.beliefs,
    *story.beliefs,
)
MAX_COMMITS = 20
MAX_PAGES = 10
MAX_S = 1800.0
OVER = "the time of the rehearsal was over"


class RepositoryInUseError(CardinalError):
    """The repository has things of others, so no rehearsal takes place there."""

    def __init__(self, repository: str, because: str, step: str) -> None:
        self.repository = repository
        super().__init__(f"nothing was done: {repository} {because}; {step}")


def require_free(hub: Hub, repository: str, *, yes: bool) -> str:
    """Return the repository's name as GitHub spells it. `yes` allows many commits.

    Raises RepositoryInUseError unless it was made for this.
    """
    another = "name a repository created for this purpose"
    repository, is_archived = repositories.look_up(hub, repository)
    if is_archived:
        raise RepositoryInUseError(repository, "is archived", another)
    root = repository_path(repository)
    for issue in hub.pages(f"{root}/issues", params={"state": "all"}, most=MAX_PAGES):
        if not is_by_app(hub, issue):
            raise RepositoryInUseError(repository, "has other people's issues or pull requests", another)
    try:
        commits = hub.rest("GET", f"{root}/commits", params={"per_page": MAX_COMMITS + 1}).body
    except ConflictError as error:
        raise RepositoryInUseError(repository, "has no commits", "add a README first") from error
    if len(commits) > MAX_COMMITS and not yes:
        because = f"has more than {MAX_COMMITS} commits"
        raise RepositoryInUseError(repository, because, f"{another}, or add --yes")
    return repository


def rehearse(
    stage: RehearsalStage, show: Callable[[Comparison], None], *, max_s: float = MAX_S
) -> RehearsalReport:
    """Compare all beliefs, clean up in any case, and return the report. `show` gets each finding."""
    began, before = time.monotonic(), dict[str, int]()
    findings: list[Comparison] = []
    removed: Mapping[str, int] = {}
    try:
        for first in ("server", "mail", "home", "board"):
            with suppress(NotTriedError):  # whoever needs it says so
                getattr(stage, first)
        before = _points_left_of_hour(stage.hub)
        for finding in _findings(stage, began + max_s):
            findings.append(finding)
            show(finding)
    finally:
        removed = remove_remains(stage)
    after = _points_left_of_hour(stage.hub)
    return RehearsalReport(
        server=stage.made["server"] if isinstance(stage.made["server"], str) else "unknown",
        beliefs=BELIEFS,
        findings=tuple(findings),
        deliveries=tuple(stage.mail.deliveries) if _has_mail(stage) else (),
        calls=stage.hub.calls,
        points=stage.hub.points,
        hour={name: before[name] - left for name, left in after.items() if name in before},
        removed=removed,
        seconds=time.monotonic() - began,
    )


def _findings(stage: RehearsalStage, end: float) -> Iterator[Comparison]:
    for belief in BELIEFS:
        if time.monotonic() < end:
            yield compare_belief(belief, stage)
        else:
            yield Comparison(
                belief.name, BeliefVerdict.NOT_TRIED, 0.0, because="the time of the rehearsal was over"
            )


def _has_mail(stage: RehearsalStage) -> bool:
    return not isinstance(stage.made.get("mail"), NotTriedError)


def _points_left_of_hour(hub: Hub) -> dict[str, int]:
    return {name: hour.remaining for name, hour in hub.budget.read_usage()[0].windows.items()}
