"""A persona as people write it: Markdown with front matter, read strictly."""

import hashlib
from dataclasses import dataclass

from pydantic import Field

from ledger.model.policy_settings import Name, PolicyModel, setting
from rules.errors import PersonaError, PolicyError
from rules.policy.markdown import front_matter
from rules.policy.repository import Line
from rules.policy.stages import StageTools
from rules.text import code

MAX_BYTES = 16 * 1024


class PersonaFrontMatter(PolicyModel):
    """The front matter of a persona."""

    name: Name = Field(description="Its name: that of its file.")
    description: Line = Field(description="Its purpose, in a sentence.")
    tools: StageTools = setting(StageTools(), "Its permissions; they can only narrow those of a stage.")
    model: Name | None = setting(None, "The model to use; the column must allow it.")


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona that was read. `digest` is the SHA-256 of its file."""

    name: str
    description: str
    tools: StageTools
    model: str
    text: str
    digest: str


def parse_persona(name: str, text: str) -> Persona:
    """Return the persona in the file `name`.md; PersonaError with a sentence for each problem."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise _wrong(name, f"the file is larger than {MAX_BYTES // 1024} KiB")
    if not front_matter.begins(text):
        raise _wrong(
            name, "line 1: a persona must begin with `---`, its name and description, and another `---`"
        )
    try:
        head, body = front_matter.split(text)
        front = front_matter.read(head, PersonaFrontMatter, "name: …")
    except PolicyError as error:
        raise _wrong(name, *error.problems) from error
    if front.name != name:
        raise _wrong(name, f"line 2: the name is {code(front.name)}, but the file is called {code(name)}")
    said = body.strip()
    if not said:
        end = head.count("\n") + 2
        raise _wrong(name, f"line {end}: there is no text after the front matter: describe who the agent is")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Persona(
        name=name,
        description=front.description,
        tools=front.tools,
        model=front.model or "",
        text=said,
        digest=digest,
    )


def _wrong(name: str, *problems: str) -> PersonaError:
    return PersonaError(tuple(f"persona {code(name)}: {problem}" for problem in problems))
