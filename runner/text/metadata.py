"""Metadata from outside: checked, and without tokens, hidden characters and the codes of a terminal. Pure."""

from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from ledger.model.metadata import Metadata, change_texts, describe_problem
from runner.text.given import clean_text


def clean_metadata(value: object) -> object:
    """Return the metadata as it may be kept. A mark can be longer than what it stands for, so the size counts
    with all marks.

    Raises PydanticCustomError, with the remedy, where it does not fit.
    """
    because = describe_problem(value)
    if because or not isinstance(value, dict):
        raise _unfit(because)
    cleaned = change_texts(value, clean_text)
    if because := describe_problem(cleaned):
        raise _unfit(because)
    return cleaned


def _unfit(because: str) -> PydanticCustomError:
    return PydanticCustomError("metadata", "{because}", {"because": because})


SentMetadata = Annotated[Metadata, BeforeValidator(clean_metadata)]
