"""Cards by the clock: a schedule of the policy file, its mistakes, and its next times."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field, model_validator

from ledger.model.column_names import column_key
from ledger.model.policy_settings import ColumnName, Name, Names, PolicyModel, setting, whole_number
from rules.policy.column import ColumnPolicy
from rules.policy.messages import locate, unknown
from rules.policy.repository import TimeZone
from rules.policy.yaml_reader import Path, Written
from rules.text import code

FIELDS = 5  # of a cron expression: minutes are the shortest step
_EVERY = re.compile(r"[1-9][0-9]{0,3}[hdw]")
_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)

_SPANS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def _cron(text: str) -> str:
    try:
        if len(text.split()) != FIELDS:
            raise ValueError(
                "a time needs five fields: minute, hour, day of the month, month, day of the week"
            )
        next(CronSim(text, _SOME_TIME))
    except StopIteration as error:  # cronsim looks 50 years ahead
        raise ValueError("names a time that never comes: correct its day or month") from error
    except CronSimError as error:
        raise ValueError(f"is not a valid time: {error}. Use five fields, such as 0 3 * * 1-5") from error
    return text


def _every(text: str) -> str:
    if not _EVERY.fullmatch(text):
        raise ValueError(f"{code(text)} is not a time span: write a number with h, d or w, such as 12h")
    return text


_REPOSITORY = r"^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}$"
_BRANCH = r"^[^\s~^:?*\[\\]{1,200}$"


class FailedWorkflow(PolicyModel):
    """A workflow of GitHub Actions that fails on a branch, other than for a pull request."""

    workflow: Name = Field(description="The workflow's name, or its file below `.github/workflows`.")
    branch: Annotated[str, Field(pattern=_BRANCH)] = setting("main", "The branch.")
    repository: Annotated[str, Field(pattern=_REPOSITORY)] | None = setting(
        None, "The workflow's repository, owned by the board's owner; by default the card's."
    )


class LabeledIssue(PolicyModel):
    """An issue that gets a label from anybody but Cardinal."""

    label: Name = Field(description="The label.")
    repository: Annotated[str, Field(pattern=_REPOSITORY)] | None = setting(
        None, "The issue's repository, owned by the board's owner; by default the card's."
    )


class CardTrigger(PolicyModel):
    """The event that makes a card in place of the clock: one of these."""

    workflow_failed: FailedWorkflow | None = setting(None, "A workflow that fails.")
    labeled: LabeledIssue | None = setting(None, "An issue that gets a label.")

    @model_validator(mode="after")
    def _has_one(self) -> "CardTrigger":
        if (self.workflow_failed is None) == (self.labeled is None):
            raise ValueError("needs one event: use either workflow_failed or labeled")
        return self


class CardSchedule(PolicyModel):
    """A card that is made by the clock, `cron` or `every`, or `on` an event; and its contents."""

    cron: Annotated[str, Field(max_length=100), AfterValidator(_cron)] | None = setting(
        None, "When, in cron format: minute, hour, day of the month, month, day of the week."
    )
    every: Annotated[str, AfterValidator(_every)] | None = setting(
        None, "Instead of `cron`: hours, days or weeks between cards, such as `12h`, `3d` or `1w`."
    )
    on: CardTrigger | None = setting(None, "Instead of both: the event that creates a card.")
    time_zone: TimeZone = setting("UTC", "The time zone of `cron`, such as `Europe/Berlin`.")
    title: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="The card's title.")
    body: Annotated[str, Field(max_length=20_000)] = setting("", "The card's description.")
    column: ColumnName | None = setting(None, "The column for new cards; by default the first inbox.")
    repository: Annotated[str, Field(pattern=_REPOSITORY)] | None = setting(
        None, "The issue's repository, owned by the board's owner; by default the board's home."
    )
    labels: Names = setting((), "Labels of the issue.")
    open_cards: int = whole_number(
        1, 1, 20, "How many of its cards may be open at once; no more are created until one closes."
    )

    @model_validator(mode="after")
    def _has_one_timing(self) -> "CardSchedule":
        if sum(it is not None for it in (self.cron, self.every, self.on)) != 1:
            raise ValueError("needs a time: use either cron, every or on")
        return self

    @property
    def timing(self) -> str:
        """When it is due, as one text: another one sets the schedule anew."""
        return f"{self.cron} {self.time_zone}" if self.cron else f"every {self.every}"


def trigger_at(schedule: CardSchedule, home: str, repository: str) -> CardTrigger | None:
    """Return the event that the schedule waits for, if it waits for one of that repository."""
    if schedule.on is None:
        return None
    wanted = schedule.on.workflow_failed or schedule.on.labeled
    place = (wanted and wanted.repository) or schedule.repository or home
    return schedule.on if place.casefold() == repository.casefold() else None


def schedule_problems(
    schedules: Mapping[str, CardSchedule],
    columns: Mapping[str, ColumnPolicy],
    owner: str | None,
    written: Written,
    at: Path,
) -> Iterator[str]:
    """Yield a sentence for each column that is none, and each repository of another owner than the home's."""
    names = set(map(column_key, columns))
    for name, schedule in schedules.items():
        if schedule.column is not None and column_key(schedule.column) not in names:
            yield locate(written, (*at, name, "column"), unknown("column", schedule.column, tuple(columns)))
        elsewhere = (
            schedule.repository and owner and schedule.repository.split("/")[0].lower() != owner.lower()
        )
        if elsewhere:
            yield locate(written, (*at, name, "repository"), f"must be owned by {owner}, the board's owner")


def next_after(schedule: CardSchedule, last: datetime, now: datetime) -> datetime:
    """Return the first time after `now`; a span counts from `last`, so that it keeps its hour.

    A time that a clock leaves out when summer begins comes at once after; one that it shows twice comes once.
    """
    if schedule.cron:
        local = now.astimezone(ZoneInfo(schedule.time_zone))
        return next(CronSim(schedule.cron, local)).astimezone(UTC)
    text = schedule.every or ""
    span = int(text[:-1]) * _SPANS[text[-1]]
    return last + span * max(1, (now - last) // span + 1)


def coming(schedule: CardSchedule, now: datetime, most: int) -> tuple[datetime, ...]:

    def times() -> Iterator[datetime]:
        at = now
        while True:
            at = next_after(schedule, at, at)
            yield at

    return tuple(islice(times(), most))
