"""ai_task: one bounded call of a model with a template; its answer is posted, or sets the rule's fields."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from ledger.model.policy_settings import Name, Names, PolicyModel, setting
from rules.card.trigger import RuleTrigger
from rules.intents.outbound import ConvertDraft, Decision, RunTask
from rules.policy.model import Policy
from rules.registry import Archetype
from rules.snapshot import Snapshot

FIELDS = ("title", "description", "conversation", "labels")
_FIELD = re.compile(r"%\{([^}\n]{0,40})\}")
LabelName = Annotated[str, Field(min_length=1, max_length=50)]  # as at GitHub


def unknown_fields(template: str) -> tuple[str, ...]:
    """Return the fields that a template names and nobody knows, as written."""
    return tuple(f"%{{{name}}}" for name in _FIELD.findall(template) if name not in FIELDS)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its fields filled in; a value is never read as a template."""
    return _FIELD.sub(lambda match: values.get(match[1], match[0]), template)


class Settings(PolicyModel):
    """The prompt, the model, and the fields that the answer may set."""

    action: Literal["ai_task"] = Field(description="`ai_task`.")
    prompt: Annotated[str, Field(min_length=1, max_length=8000)] = Field(
        description="The template; %{title}, %{description}, %{conversation} and %{labels} are filled in."
    )
    model: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        "small", description="The model that answers, as the agent names it."
    )

    labels: Annotated[tuple[LabelName, ...], Field(max_length=50)] = setting(
        (), "Labels that the answer may add to the issue; it cannot remove any or choose others."
    )
    field: Name | None = setting(
        None, "A single-select field of the project, in which the answer chooses an option while it is empty."
    )
    options: Names = setting((), "The options of `field` that the answer may choose.")
    brief: bool = setting(
        False,
        "Whether the answer also briefs the card's next runs, as [material to judge](#rules-that-learn).",
    )

    expand: bool = setting(
        False,
        "Whether the answer writes the issue's description out. The old one stays below it, folded; one that"
        " people edit meanwhile stays as it is.",
    )

    @model_validator(mode="after")
    def _field_with_options(self) -> Self:
        if (self.field is None) != (not self.options):
            raise ValueError("`field` and `options` go together: name both, or none")
        if self.field is not None and self.field.casefold() == "status":
            raise ValueError("the field Status is the card's column, which people choose: name another field")
        return self

    @field_validator("prompt")
    @classmethod
    def _require_known_fields(cls, prompt: str) -> str:
        unknown = unknown_fields(prompt)
        if unknown:
            raise ValueError(f"unknown field {unknown[0]}: known are %{{title}}, %{{description}} …")
        return prompt


def fits(archetype: Archetype) -> bool:
    return True


def plan(policy: Policy, snapshot: Snapshot, settings: Settings, trigger: RuleTrigger) -> Decision:
    """Ask once for this occasion; a draft issue is converted first, for the answer needs a place."""
    convert = (ConvertDraft(snapshot.card_id),) if snapshot.is_draft else ()
    task = RunTask(
        card_id=snapshot.card_id,
        rule=trigger.rule,
        prompt=settings.prompt,
        model=settings.model,
        occasion=trigger.key,
        labels=settings.labels,
        field=settings.field or "",
        options=settings.options,
        brief=settings.brief,
        expand=settings.expand,
    )
    return Decision((*convert, task), (f"{trigger.rule} asks a model",))


def headline(settings: Settings) -> str:
    sets = (
        ("labels", settings.labels),
        (str(settings.field), settings.field),
        ("a brief", settings.brief),
        ("the description", settings.expand),
    )
    named = ", ".join(name for name, wanted in sets if wanted)
    return f"asks a model about the card{f' (sets {named})' if named else ''}"
