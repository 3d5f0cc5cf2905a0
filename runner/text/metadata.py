"""Metadata from outside: checked, and without tokens, hidden characters and the codes of a terminal. Pure."""

from typing import Annotated

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from ledger.metadata import Metadata, change_texts, describe_problem
from runner.text.given import clean_text


def clean_metadata(value: object) -> object:
    """Return the metadata as it may be kept; what it returned once stays as it is.

    Raises PydanticCustomError, with the remedy, where it does not fit.
    """
    because = describe_problem(value)
    if because or not isinstance(value, dict):
        raise PydanticCustomError("metadata", "{because}", {"because": because})
    return change_texts(value, clean_text)


SentMetadata = Annotated[Metadata, BeforeValidator(clean_metadata)]
