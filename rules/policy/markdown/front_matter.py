"""Front matter of a Markdown file: YAML between two lines of `---` at its beginning, read strictly."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from rules.errors import PolicyError
from rules.policy import yaml_reader
from rules.policy.messages import cap, sentences

FENCE = "---"
M = TypeVar("M", bound=BaseModel)


def begins(text: str) -> bool:
    return text.split("\n", 1)[0].rstrip() == FENCE


def split(text: str) -> tuple[str, str]:
    """Return the front matter, each line at its place in the file, and the text after it.

    Raises PolicyError where it has no end, or the file does not begin with it.
    """
    rows = text.replace("\r\n", "\n").split("\n")
    end = next((at for at, row in enumerate(rows[1:], start=1) if row.rstrip() == FENCE), None)
    if end is None or not begins(text):
        raise PolicyError(("the front matter does not end: put `---` on its own line after it",))
    return "\n".join(("", *rows[1:end])), "\n".join(rows[end + 1 :])


def read(text: str, model: type[M], first: str) -> M:
    """Return the front matter; `first` shows how it begins. Raises PolicyError with all problems."""
    written = yaml_reader.read(text, first=first)
    try:
        return model.model_validate(written.tree)
    except ValidationError as error:
        raise PolicyError(cap(sentences(error, model, written))) from error
