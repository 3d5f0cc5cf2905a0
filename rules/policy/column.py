"""The policy of one column: its agent, actions on entry and exit, permissions and limits."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from ledger.model.policy_settings import (
    Effort,
    HostSecret,
    Name,
    Names,
    Pipelines,
    PolicyModel,
    Resources,
    positive,
    setting,
    whole_number,
)
from ledger.model.run_modes import FIX, PLACES
from rules.policy.messages import unknown
from rules.policy.network import Network
from rules.policy.repository import Lines
from rules.policy.roles import LOGIN
from rules.policy.stages import (
    MARK,
    MAX,
    McpChoice,
    Permission,
    Route,
    Specialist,
    Stage,
    Workflow,
    WorkflowName,
    find_routes,
)
from rules.registry import ARCHETYPES

Dollars = Annotated[float | None, Field(strict=True, gt=0, le=1_000_000)]
# A person, or a team as owner/name.
Reviewer = Annotated[str, Field(pattern=f"^{LOGIN.pattern}(/{LOGIN.pattern})?$")]
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
# `agent`, `agent/model` (models may have slashes of their own), or `@specialist`.
AgentChoice = Annotated[
    str, Field(pattern=r"^([a-z][a-z0-9_-]{0,39}(/[A-Za-z0-9._:/@-]{1,100})?|@[a-z0-9][a-z0-9-]{0,39})$")
]
OF_CARD = "card"  # in place of a folder's name
Step = Annotated[dict[str, Any], Field(json_schema_extra={"format": "action"})]
Steps = Annotated[tuple[Step, ...], Field(max_length=20)]


def _other_agent(value: object) -> object:
    if not isinstance(value, dict):
        return value
    if set(value) != {"with"}:
        raise ValueError("write {with: <agent>} or {with: <agent>/<model>}")
    return value["with"]


class Tools(PolicyModel):
    """Permissions of the agent, by class of tool."""

    edit: Permission = setting("allow", "Change files of the workspace.")
    run: Permission = setting("allow", "Run commands in the workspace.")
    commit: Permission = setting("allow", "Commit to the card's branch.")
    network: Network = setting((), "`none`, a list of host names, or `full`.")
    ask: Lines = setting((), "Patterns of tool calls that a person must approve first.")
    mcp: McpChoice = setting(
        None,
        "[Tool servers](instructions.md#tool-servers), or single tools (`server__tool`); by default all of "
        "the repository's.",
        "Tool servers",
    )


class ColumnPolicy(PolicyModel):
    """The rules of one column of the board."""

    archetype: str = Field(
        description="The kind of column: an [archetype](#what-a-column-can-be).", title="Kind of column"
    )
    mode: Literal["fix", "investigate"] = setting(
        "fix", "`fix` ends in a pull request; `investigate` reads only and reports findings."
    )
    workspace: Literal["clone", "scratch", "folder"] = setting(
        "clone",
        "Where its agents work: in a `clone` of the repository; or without a pull request, since report and "
        "files are the result, in [an empty place](#work-without-a-repository) (`scratch`) or in a `folder` "
        "that lives on.",
    )
    folder: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")] = setting(
        "card",
        "With `workspace: folder`, the folder's name on the board; `card` for one of each card, which its "
        "sub-cards share.",
    )
    folder_mb: int = whole_number(
        100, 1, 2000, "Megabytes of files without a repository; a run that leaves more fails."
    )
    checks: Lines = setting(
        (),
        "Commands that judge the work of a run without a clone, in a copy of its files; without any, a "
        "person does.",
        "Checks of work without a repository",
    )
    agent: Name = setting("claude", "The agent that works on cards here.")
    model: Name = setting("default", "The agent's model, as the agent's own command line names it.")
    effort: Effort | None = setting(
        None,
        "How much the model of the column's own agent [thinks](agents.md#which-model): `low`, `medium` or "
        "`high`; by default, as the model does.",
    )
    agents: Annotated[tuple[AgentChoice, ...], Field(max_length=20)] = setting(
        (),
        "Other agents that `/cardinal agent` or a label may choose for a card, each `agent`, "
        "`agent/model` or a [specialist](#specialists), `@name`.",
    )
    models: Annotated[tuple[Name, ...], Field(max_length=50)] = setting(
        (), "Additional models its agents may request; all others are refused."
    )
    instructions: Annotated[str, Field(max_length=8000)] = setting(
        "", "Instructions for every agent here, in addition to the card."
    )
    skills: Names = setting((), "[Skills](instructions.md#skills) for each of its runs.")
    recent_work: int = whole_number(
        0,
        0,
        10,
        "How many of its newest finished runs an agent is told of: of the same agent or specialist, in the "
        "same repository of the board.",
        "Recent work that it is told of",
    )
    reviewers: Annotated[tuple[Reviewer, ...], Field(max_length=10)] = setting(
        (),
        "People (`login`) and teams (`owner/team`) to mention when a run that no person requested "
        "needs someone.",
    )
    plan_approval: Literal["required", "off"] = setting(
        "required", "Whether a person must approve the plan before work begins.", "Approval of the plan"
    )
    concurrency: int = whole_number(3, 1, 100, "Runs at the same time in this column.", "Runs at once")
    budget_usd: float = positive(
        2.00, 10_000, "Dollars for one run; it pauses and asks when reached.", "Dollars for one run"
    )
    usd_per_day: Dollars = setting(
        None, "Dollars per day (UTC) for all runs in this column; no limit by default.", "Dollars per day"
    )
    timeout_minutes: int = whole_number(
        30, 1, 1440, "Minutes of work for one run; it pauses and asks when reached.", "Minutes for one run"
    )
    max_turns: int = whole_number(60, 1, 10_000, "Turns of the agent in one run.")
    max_tokens: int = whole_number(
        0, 0, 10**12, "Tokens of one run, input and output; it pauses and asks when reached; 0 for no limit."
    )
    silence_minutes: float = positive(5, 1440, "Minutes without a sign of life before a run has failed.")
    max_output_mb: int = whole_number(50, 1, 10_000, "Megabytes the agent may print before it is stopped.")
    retries: int = whole_number(
        2, 0, 20, "How often a run is resumed after its worker, git, the sandbox or the agent was killed."
    )
    retry: Annotated[
        AgentChoice | None,
        BeforeValidator(_other_agent, json_schema_input_type=dict[Literal["with"], AgentChoice]),
    ] = setting(
        None,
        "{with: <agent>}, one of `agents`, which [makes the next attempt](agents.md#which-model) when "
        "an agent has failed; by default, none does.",
    )
    runs_on: Annotated[tuple[Label, ...], Field(max_length=20)] = setting(
        (), "Labels a host needs to work on its runs (`CARDINAL_LABELS`); any host if empty."
    )
    tools: Tools = setting(
        Tools(),
        "The agent's permissions: `allow`; `ask` a person first, each time; or `deny`.",
        "What its agents may do",
    )
    secrets: Annotated[tuple[HostSecret, ...], Field(max_length=20)] = setting(
        (),
        "[Secrets](sandbox.md#secrets-for-hosts) that the proxy adds to requests; agents never see them.",
    )
    resources: Resources = setting(Resources(), "How much of the machine one run may use.")
    stages: Annotated[tuple[Stage, ...], Field(max_length=MAX)] = setting(
        (), "The stages of a run, starting with the first; if empty, plan, then work."
    )
    workflow: WorkflowName | None = setting(
        None, "The [workflow](#workflows) whose stages and routes apply, in place of `stages`."
    )
    on_entry: Steps | None = setting(
        None,
        "Actions when a card enters; in an execution column, `start_run` by default.",
        "When a card enters",
    )
    on_exit: Steps = setting((), "Actions when a card leaves.", "When a card leaves")
    on_success: Route = setting(
        None,
        "What to do once a run has succeeded: `stay`, or {move: <column>}.",
        "After success, move to",
    )
    on_failure: Route = setting(
        None,
        "What to do once a run has failed, no `retry` follows, and the cause is the card's own: `stay`, or "
        "{move: <column>}.",
        "After failure, move to",
    )
    on_changes_requested: Route = setting(
        None,
        "What to do when a review asks for changes, also in a column of reviews: `stay`, or {move: "
        "<column>}. In an execution column, a revision starts there.",
        "When a review asks for changes, move to",
    )
    publish: Literal["end", "early"] = setting(
        "end",
        "`end` opens the pull request when the checks have passed; `early` opens a draft and [keeps "
        "pushing](#work-that-is-seen-early) what the guardrails allow: every 2 minutes while an agent works, "
        "and at the end of each turn and stage.",
    )
    pipelines: Pipelines = setting(Pipelines(), "How far its agents may create and link cards on their own.")
    sub_issues: Literal["ignore", "wait"] = setting(
        "ignore",
        "Whether a new run of a card whose issue has sub-issues [waits](#cards-of-cards) until their "
        "cards are done or their issues closed (`wait`), or starts anyway (`ignore`).",
    )
    on_leave: Literal["ask", "cancel", "finish"] = setting(
        "ask",
        "What to do with an active run when its card is dragged out; one that has not started is dropped.",
    )

    @field_validator("archetype")
    @classmethod
    def _known_archetype(cls, archetype: str) -> str:
        if archetype not in ARCHETYPES.names():
            raise ValueError(unknown("value", archetype, ARCHETYPES.names()))
        return archetype

    @property
    def entry_actions(self) -> tuple[dict[str, Any], ...]:
        """The actions on entry, with the archetype's own where the policy gives none."""
        return ARCHETYPES.load(self.archetype).ENTRY_ACTIONS if self.on_entry is None else self.on_entry

    @property
    def run_mode(self) -> str:
        """The mode of its runs, where neither a label nor a command says another."""
        return self.mode_of(self.mode)

    def mode_of(self, mode: str) -> str:
        """Return `mode`, or that of its workspace for runs that were to fix something in a clone."""
        return self.workspace if mode == FIX and self.workspace in PLACES else mode

    @property
    def plan_required(self) -> bool:
        return self.plan_approval == "required"

    def with_workflow(self, name: str, workflow: Workflow) -> "ColumnPolicy":
        """Return the rules with the stages of a workflow, and the routes that it has."""
        return self.model_copy(update={"workflow": name, "stages": workflow.stages, **find_routes(workflow)})

    def played_by(self, choice: str, specialists: Mapping[str, Specialist]) -> "ColumnPolicy":
        """Return the rules with the agent and model of a `choice` that `agents` has, else as they are; a
        specialist brings persona and skills.

        Models that stages name, and the effort, are those of the column's own agent: another agent plays
        with its own.
        """
        if choice not in self.agents:
            return self
        if not choice.startswith(MARK):
            return self.with_agent(choice)
        name = choice.removeprefix(MARK)
        specialist = specialists[name]
        column = self.with_agent(specialist.choice)
        skills = tuple(dict.fromkeys((*self.skills, *specialist.skills)))
        stages, effort = column.stages or specialist.stages(name), specialist.effort or column.effort
        return column.model_copy(update={"skills": skills, "stages": stages, "effort": effort})

    def with_agent(self, choice: str) -> "ColumnPolicy":
        """Return the rules as `agent` or `agent/model` plays them, whether `agents` has it or not."""
        agent, _, model = choice.partition("/")
        if agent == self.agent:
            return self.model_copy(update={"model": model or self.model})
        stages = tuple(stage.model_copy(update={"model": None}) for stage in self.stages)
        others = {"agent": agent, "model": model or "default", "effort": None, "stages": stages}
        return self.model_copy(update=others)

    def to_json(self) -> str:
        """Return the rules as JSON, as `RunQueued.settings` keeps them; `model_validate_json` reads it."""
        return self.model_dump_json()
