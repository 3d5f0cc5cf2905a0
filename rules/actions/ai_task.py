"""ai_task: one bounded call of a model with a template; its answer is posted on the card."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from rules.card.prompt_template import unknown_fields
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import ConvertDraft, Decision, RunTask
from rules.policy.model import Policy
from rules.policy.repository import PolicyModel
from rules.registry import Archetype
from rules.snapshot import Snapshot


class Settings(PolicyModel):
    """The prompt and the model."""

    action: Literal["ai_task"] = Field(description="`ai_task`.")
    prompt: Annotated[str, Field(min_length=1, max_length=8000)] = Field(
        description="The template; %{title}, %{description}, %{conversation} and %{labels} are filled in."
    )
    model: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        "small", description="The model that answers, as the agent names it."
    )

    @field_validator("prompt")
    @classmethod
    def _known_fields(cls, prompt: str) -> str:
        unknown = unknown_fields(prompt)
        if unknown:
            raise ValueError(f"unknown field {unknown[0]}: known are %{{title}}, %{{description}} …")
        return prompt


def fits(archetype: Archetype) -> bool:
    """Fit everywhere."""
    return True


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, occasion: RuleTrigger) -> Decision:
    """Ask once for this occasion; a draft issue is converted first, for the answer needs a place."""
    convert = (ConvertDraft(snapshot.card_id),) if snapshot.is_draft else ()
    task = RunTask(snapshot.card_id, occasion.rule, settings.prompt, settings.model, occasion.key)
    return Decision((*convert, task), (f"{occasion.rule} asks a model",))


def headline(settings: Settings) -> str:
    """Say it for the column's header."""
    return "asks a model about the card"
