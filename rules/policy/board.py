"""The part of a policy file that belongs to the whole board: columns, limits, roles, repositories."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ledger.model.policy_settings import Effort, Name, PolicyModel, positive, setting, whole_number
from rules.policy.column import ColumnPolicy, Dollars
from rules.policy.repository import RepositoryRules
from rules.policy.schedule import CardSchedule
from rules.policy.stages import Specialist, SpecialistName, Workflow, WorkflowName

Repository = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}$")]

ScheduleName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Allowed = Annotated[
    tuple[Name, ...],
    BeforeValidator(_as_tuple, json_schema_input_type=Name | tuple[Name, ...]),
    Field(min_length=1, max_length=100),
]


class BoardLimits(PolicyModel):
    """Limits of all columns together."""

    runs: int = whole_number(6, 1, 1000, "Runs at the same time on the board.", "Runs at once")
    runs_per_repository: int = whole_number(
        2, 1, 1000, "Runs at the same time in one repository.", "Runs at once in one repository"
    )
    usd_per_day: float = positive(
        50,
        1_000_000,
        "Dollars per day (UTC) on the whole board, including what runs have reserved.",
        "Dollars per day",
    )
    usd_per_card: Dollars = setting(None, "Dollars for all runs of one card together; no limit by default.")
    usd_per_person: Dollars = setting(
        None, "Dollars per day (UTC) for the runs one person started; no limit by default."
    )
    usd_total: Dollars = setting(None, "Dollars for the board in total, ever; no limit by default.")
    automatic_runs_per_hour: int = whole_number(
        6, 1, 100, "Runs of one card per hour; beyond that, a person has to start the next one."
    )
    commands_per_minute: int = whole_number(
        20,
        1,
        1000,
        "Commands per minute that the board accepts from one person, or from a program in their name.",
    )
    repairs: int = whole_number(
        2,
        0,
        20,
        "Consecutive runs that try to repair a pull request whose checks fail on GitHub; 0 for none.",
    )
    ci_wait_minutes: int = whole_number(
        60, 1, 1440, "Minutes until a pull request's checks are taken as they are, finished or not."
    )
    same_failures: int = whole_number(
        3,
        2,
        100,
        "Cards that may fail within an hour for the same reason, such as a bad key, before the board "
        "halts. The key with the same name under `repository:` counts the rounds of one run.",
    )
    minutes_per_run: int = whole_number(
        1440, 1, 1440, "The most minutes of work that a column, a label or a command may give to one run."
    )
    turns_per_run: int = whole_number(
        10_000, 1, 10_000, "The most turns that a column, a label or a command may give to one run."
    )
    points_per_hour: int = whole_number(
        2500, 100, 15_000, "GitHub's rate-limit points that Cardinal may use."
    )


class RepositoryChoice(PolicyModel):
    """How a card that is not tied to one repository finds it, and the rules in one without a file."""

    labels: dict[Name, Repository] = setting({}, "The repository of cards with a label.")
    home: Literal["own", "named"] | None = setting(
        None,
        "Whether issues in the board's home are about the home itself (`own`), or name another "
        "repository and ask if they do not (`named`). By default `named` if there are labels.",
    )
    without_policy: RepositoryRules = setting(
        RepositoryRules(),
        "The `repository:` part for repositories without a policy file. A repository's own file replaces it "
        "entirely.",
    )

    @property
    def are_named(self) -> bool:
        return self.home == "named" or (self.home is None and bool(self.labels))


class ModeChoice(PolicyModel):
    """How a card is worked on in another mode than its column says."""

    labels: dict[Name, Literal["fix", "investigate", "scratch"]] = setting(
        {"cardinal:fix": "fix", "cardinal:investigate": "investigate"},
        "The mode of cards with a label, or `scratch` for an empty [workspace]"
        "(#work-without-a-repository); if labels disagree, `investigate`.",
    )


# The board's limit that no run's setting of that name may be above.
CAPS: Mapping[str, str] = {
    "timeout_minutes": "minutes_per_run",
    "max_turns": "turns_per_run",
    "budget_usd": "usd_per_card",
}


class LabelSettings(PolicyModel):
    """What cards with a label have in place of their column's settings."""

    priority: Literal["urgent", "high", "normal", "low"] | None = setting(None, "The card's priority.")
    timeout_minutes: Annotated[int | None, Field(strict=True, ge=1, le=1440)] = setting(
        None, "Minutes of work for one run; by default, the column's."
    )
    max_turns: Annotated[int | None, Field(strict=True, ge=1, le=10_000)] = setting(
        None, "Turns of the agent in one run; by default, the column's."
    )
    budget_usd: Annotated[float | None, Field(strict=True, gt=0, le=10_000)] = setting(
        None, "Dollars for one run; by default, the column's."
    )
    model: Name | None = setting(None, "The model of the column's own agent; by default, the column's.")
    effort: Effort | None = setting(None, "How much the model thinks; by default, as in the column.")
    workflow: WorkflowName | None = setting(None, "The [workflow](#workflows); by default, the column's.")


class BoardRules(PolicyModel):
    """The `board:` part, read from the board's home repository."""

    home: Repository | None = setting(None, "This file's repository; optional.")
    columns: Annotated[dict[Name, ColumnPolicy], Field(min_length=1, max_length=50)] = Field(
        description="The columns, by their names on the board."
    )
    specialists: Annotated[dict[SpecialistName, Specialist], Field(max_length=50)] = setting(
        {}, "Agents with a model, persona and skills, [under names you choose](#specialists)."
    )
    workflows: Annotated[dict[WorkflowName, Workflow], Field(max_length=50)] = setting(
        {}, "Stages and routes [under names you choose](#workflows), for columns and cards."
    )
    limits: BoardLimits = setting(BoardLimits(), "Limits of all columns together.")
    commands: dict[Name, Allowed] = setting(
        {}, "The lowest role that may give a command, or a list of roles and people."
    )
    move: Allowed = setting(
        ("write",),
        "The lowest role that may move cards, or a list of roles and people. When anyone else drags, "
        "archives or closes a card, nothing starts, merges or is given up, and the card says so. Moves "
        "by GitHub's own workflows count for no one: if listed here, as "
        "`github-project-automation[bot]`, they can start work, except after a close, but never merge "
        "or give up.",
    )
    unknown_mover: Literal["wait", "allow"] | None = setting(
        None,
        "What to do while neither the issue's timeline nor a delivery says who moved a card: `wait` "
        "for the delivery or for someone with the right, or `allow` the move. By default `wait`; "
        "without webhooks, where no delivery comes, `allow`.",
    )
    repositories: RepositoryChoice = setting(
        RepositoryChoice(), "How to choose the repository of a card that does not name one."
    )
    private_issues: Literal["hidden", "named"] = setting(
        "hidden",
        "Whether what Cardinal and its agents write about a card may name issues in other, private "
        "repositories that it depends on or is part of: `hidden`, or `named` if everyone who can read "
        "one of the board's repositories can read them all.",
    )
    overlap: Literal["warn", "wait", "ignore"] = setting(
        "warn",
        "What to do when a run works on files that another card's active run or open pull request [also "
        "changes](#siblings): say so on the card (`warn`), hold back a run that has not started (`wait`), or "
        "nothing (`ignore`).",
    )
    rebase: Literal["on_merge", "never"] = setting(
        "on_merge",
        "Whether a finished branch is [rebased and checked again](#siblings), by a run without an "
        "agent, when another card's pull request in the same repository is merged.",
    )
    attention_on_top: bool = setting(
        False,
        "Whether a card that starts to need input, or fails, is moved to the top of its column on GitHub. "
        "People may drag it down again.",
    )
    modes: ModeChoice = setting(ModeChoice(), "Which labels choose a run's mode.")
    labels: Annotated[dict[Name, LabelSettings], Field(max_length=100)] = setting(
        {},
        "[Priority, limits](#priority-and-limits-of-a-card) and [workflow](#workflows) of cards with a "
        "label. Of two labels with the same setting, the first here counts.",
    )
    queue_order: Literal["position", "priority"] = setting(
        "position",
        "What counts first in a column's queue: a card's `position` in the column alone, or its "
        "[`priority`](#priority-and-limits-of-a-card), then its position.",
    )
    schedule: Annotated[dict[ScheduleName, CardSchedule], Field(max_length=50)] = setting(
        {}, "Cards [created on a schedule](#scheduled-cards), under names you choose."
    )

    def with_workflows(self) -> "BoardRules":
        """Return the rules where each column has the stages and routes of the workflow that it names."""
        columns = {
            name: column.with_workflow(column.workflow, self.workflows[column.workflow])
            if column.workflow in self.workflows
            else column
            for name, column in self.columns.items()
        }
        return self.model_copy(update={"columns": columns})
