"""Workflows: stages and routes under a name, which columns and cards use."""

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from ledger.model.policy_settings import Name, PolicyModel, setting
from rules.policy.stages import MAX, Stage

NO_WORKFLOW = "none"  # as a command says it
Outcome = Literal["on_success", "on_failure", "on_changes_requested"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


class MoveTo(PolicyModel):
    """Where a card goes."""

    move: Name = Field(description="The column to move the card to.")


def _stay_or_move(value: object) -> object:
    if value == "stay":
        return None
    if isinstance(value, str):
        raise ValueError("write stay, or {move: <column>}")
    return value


Route = Annotated[
    MoveTo | None, BeforeValidator(_stay_or_move, json_schema_input_type=MoveTo | Literal["stay"])
]


def _refuse_none(name: str) -> str:
    if name == NO_WORKFLOW:
        raise ValueError(
            f"`{NO_WORKFLOW}` cannot be a workflow's name: `/cardinal workflow none` undoes a choice"
        )
    return name


WorkflowName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$"), AfterValidator(_refuse_none)]


class Workflow(PolicyModel):
    """Stages, with what happens to the card afterwards, [under a name](#workflows) for columns and cards."""

    stages: Annotated[tuple[Stage, ...], Field(min_length=1, max_length=MAX)] = Field(
        description="The stages of a run, starting with the first."
    )
    on_success: Route = setting(None, "As in a column, whose own applies by default.")
    on_failure: Route = setting(None, "As in a column, whose own applies by default.")
    on_changes_requested: Route = setting(None, "As in a column, whose own applies by default.")


def find_routes(rules: PolicyModel) -> dict[str, MoveTo | None]:
    """Return the routes that a column or workflow gives; None for `stay`."""
    return {name: getattr(rules, name) for name in OUTCOMES if name in rules.model_fields_set}
