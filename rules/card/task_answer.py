"""Answers of `ai_task` rules that set something: the form that the model fills in, and its reading."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from ledger.events.conversation import TaskAnswered
from ledger.model.strict_json import StrictJsonError, parse_json
from rules.errors import RulesError
from rules.intents.outbound import RunTask
from rules.text import alternatives, code, plain

MAX_CHARACTERS = 4_000  # of each text
_FENCE = "```"


class TaskAnswerError(RulesError):
    """The model's answer does not fit its rule; `because` says how it differs."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(
            f"its answer is not in the form that the rule wants ({because}): drag the card here again, or"
            " name a stronger `model` in the rule"
        )


class _Form(BaseModel):
    """The keys that a rule can want; a key that it does not want is not read."""

    comment: Annotated[str, Field(max_length=MAX_CHARACTERS)] = ""
    labels: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    option: str = ""
    brief: Annotated[str, Field(max_length=MAX_CHARACTERS)] = ""
    body: Annotated[str, Field(max_length=MAX_CHARACTERS)] = ""


def form(task: RunTask) -> str:
    """Return the request for a JSON object with the keys that the rule wants; empty for a plain answer."""
    keys = {"comment": "what people read on the card, in Markdown; may be empty"}
    if task.labels:
        keys["labels"] = f"a list, perhaps empty, of those that fit: {json.dumps(task.labels)}"
    if task.field:
        keys["option"] = f"{task.field}: one of {json.dumps(task.options)}, or empty where none fits"
    if task.brief:
        keys["brief"] = (
            f"what the engineer who works on the card next should know, {MAX_CHARACTERS} characters"
        )
    if task.expand:
        keys["body"] = (
            "the card's description written out in Markdown: goal, acceptance criteria, scope, and nothing"
            f" that the card does not say; {MAX_CHARACTERS} characters, empty where it needs none"
        )
    if len(keys) == 1:
        return ""
    lines = "\n".join(f"- `{key}`: {meaning}" for key, meaning in keys.items())
    return f"Answer with one JSON object and nothing else. Its keys:\n{lines}"


def read(task: RunTask, text: str, *, replaces: str = "") -> TaskAnswered:
    """Return the event of an answer. `replaces` is the digest of the description that the model read.

    Raises TaskAnswerError where it is not in the rule's form.
    """
    if not form(task):
        return TaskAnswered(task.card_id, task.rule, text)
    filled = _parse_form(text)
    strange = sorted({*filled.labels} - {*task.labels}) if task.labels else []
    if strange:
        raise TaskAnswerError(f"{code(strange[0], 50)} is none of its labels")
    if task.field and filled.option and filled.option not in task.options:
        raise TaskAnswerError(f"{code(filled.option, 50)} is not {alternatives(task.options)}")
    return TaskAnswered(
        task.card_id,
        task.rule,
        filled.comment,
        labels=tuple(dict.fromkeys(filled.labels)) if task.labels else (),
        field=task.field if filled.option else "",
        option=filled.option if task.field else "",
        brief=filled.brief.strip() if task.brief else "",
        body=filled.body.strip() if task.expand else "",
        replaces=replaces if task.expand else "",
    )


def _parse_form(text: str) -> _Form:
    text = text.strip()
    if text.startswith(_FENCE):  # models wrap JSON in a block of code
        text = text.partition("\n")[2].rstrip().removesuffix(_FENCE)
    try:
        answer: Any = parse_json(text)
        return _Form.model_validate(answer, strict=False)
    except StrictJsonError as error:
        raise TaskAnswerError(f"it is not JSON: {plain(error.because, 100)}") from error
    except ValidationError as error:
        wrong = error.errors()[0]
        where = ".".join(str(part) for part in wrong["loc"])
        raise TaskAnswerError(
            f"{code(where, 40)}: {wrong['msg']}" if where else "it is not an object"
        ) from error
