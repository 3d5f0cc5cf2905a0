"""The part of a policy file that belongs to the whole board: columns, limits, roles, repositories."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from rules.policy.column import ColumnPolicy, Dollars
from rules.policy.repository import Name, PolicyModel, RepositoryRules, positive, setting, whole_number
from rules.policy.schedule import CardSchedule
from rules.policy.stages import Specialist, SpecialistName

Repository = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}/[A-Za-z0-9._-]{1,100}$")]

ScheduleName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Allowed = Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(min_length=1, max_length=100)]


class BoardLimits(PolicyModel):
    """Limits of all columns together."""

    runs: int = whole_number(6, 1, 1000, "Runs at the same time on the board.")
    runs_per_repository: int = whole_number(2, 1, 1000, "Runs at the same time in one repository.")
    usd_per_day: float = positive(
        50, 1_000_000, "Dollars a day (UTC) on the whole board, with those that runs have reserved."
    )
    usd_per_card: Dollars = setting(None, "Dollars for all runs of one card together; left out, no limit.")
    usd_per_person: Dollars = setting(
        None, "Dollars a day (UTC) for the runs that one person started; left out, no limit."
    )
    usd_total: Dollars = setting(None, "Dollars of the board in all, ever; left out, no limit.")
    automatic_runs_per_hour: int = whole_number(
        6, 1, 100, "Runs of one card in an hour beyond which none starts without a person's command."
    )
    commands_per_minute: int = whole_number(
        20,
        1,
        1000,
        "Commands of one person, or a program in their name, that the board obeys in a minute.",
    )
    repairs: int = whole_number(
        2, 0, 20, "Runs in a row that repair a pull request whose checks are red on GitHub; 0: none."
    )
    ci_wait_minutes: int = whole_number(
        60, 1, 1440, "Minutes until a pull request's checks are taken as they are, finished or not."
    )
    same_failures: int = whole_number(
        3,
        2,
        100,
        "Cards that fail within an hour for one cause, a bad key say, before the board halts."
        " The key of that name under `repository:` is about the rounds of one run.",
    )
    points_per_hour: int = whole_number(
        2500, 100, 15_000, "GitHub's rate-limit points that Cardinal may use."
    )


class RepositoryChoice(PolicyModel):
    """How a card that is not tied to one repository finds it, and the rules in one without a file."""

    labels: dict[Name, Repository] = setting({}, "The repository of cards with a label.")
    home: Literal["own", "named"] | None = setting(
        None,
        "Whether issues of the board's home are about the home itself (`own`) or name another "
        "repository, and ask where they do not (`named`); unset: `named` where there are labels.",
    )
    without_policy: RepositoryRules = setting(
        RepositoryRules(),
        "The `repository:` part of the repositories that have no policy file. In one that has a file, only"
        " that counts.",
    )

    @property
    def are_named(self) -> bool:
        return self.home == "named" or (self.home is None and bool(self.labels))


class ModeChoice(PolicyModel):
    """How a card is worked on in another mode than its column says."""

    labels: dict[Name, Literal["fix", "investigate"]] = setting(
        {"cardinal:fix": "fix", "cardinal:investigate": "investigate"},
        "The mode of cards with a label; two that disagree mean `investigate`.",
    )


class BoardRules(PolicyModel):
    """The `board:` part, read from the board's home repository."""

    home: Repository | None = setting(None, "This file's repository; it may be left out.")
    columns: Annotated[dict[Name, ColumnPolicy], Field(min_length=1, max_length=50)] = Field(
        description="The columns by the names that the board gives them."
    )
    specialists: Annotated[dict[SpecialistName, Specialist], Field(max_length=50)] = setting(
        {}, "Agents with model, persona and skills [by names of your own](#specialists)."
    )
    limits: BoardLimits = setting(BoardLimits(), "Limits of all columns together.")
    commands: dict[Name, Allowed] = setting(
        {}, "The lowest role for a command, or a list of roles and people."
    )
    move: Allowed = setting(
        ("write",),
        "The lowest role for moving cards, or a list of roles and people. What anybody else"
        " drags, archives or closes starts nothing, merges nothing and gives nothing up, and the card says"
        " so. GitHub's own workflows are nobody's drag: named here, as `github-project-automation[bot]`,"
        " they can start work, but behind a close they start nothing, and they never merge or give up.",
    )
    unknown_mover: Literal["wait", "allow"] | None = setting(
        None,
        "What a card does while neither its issue's timeline nor a delivery names who moved it:"
        " `wait` for the delivery or for somebody who may, or `allow` the move; unset: `wait`, but `allow`"
        " without webhooks, where no delivery ever comes.",
    )
    repositories: RepositoryChoice = setting(
        RepositoryChoice(), "How a card without a repository of its own finds one."
    )
    private_issues: Literal["hidden", "named"] = setting(
        "hidden",
        "Whether what Cardinal and its agents write about a card may name the issues of other, private"
        " repositories that it waits for or is a part of: `hidden`, or `named` where whoever reads one"
        " repository of the board may read them all.",
    )
    overlap: Literal["warn", "wait", "ignore"] = setting(
        "warn",
        "Treatment of a run that works on files that a live run or an open pull request of another card"
        " [changes as well](#siblings): the card says so (`warn`), a run that has not begun waits (`wait`),"
        " or nothing (`ignore`).",
    )
    rebase: Literal["on_merge", "never"] = setting(
        "on_merge",
        "Whether a finished branch is [rebased and checked again](#siblings), by a run without an agent, when"
        " another card's pull request of the same repository is merged.",
    )
    modes: ModeChoice = setting(ModeChoice(), "How labels choose a run's mode.")
    schedule: Annotated[dict[ScheduleName, CardSchedule], Field(max_length=50)] = setting(
        {}, "Cards that are [made by the clock](#scheduled-cards), by names of your own."
    )
