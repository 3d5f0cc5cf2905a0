"""A persona as people write it: Markdown with front matter, read strictly."""

import hashlib
from dataclasses import dataclass

from pydantic import Field, ValidationError

from rules.errors import PersonaError, PolicyError
from rules.policy.messages import capped, sentences
from rules.policy.repository import Line, Name, PolicyModel, setting
from rules.policy.stages import StageTools
from rules.policy.yaml_reader import Written, read
from rules.text import code

MAX_BYTES = 16 * 1024
_FENCE = "---"


class PersonaFrontMatter(PolicyModel):
    """The front matter of a persona."""

    name: Name = Field(description="Its name: that of its file.")
    description: Line = Field(description="What it is for, in a sentence.")
    tools: StageTools = setting(StageTools(), "What it may do; it can only narrow a stage.")
    model: Name | None = setting(None, "The model that it wants; the column must know it.")


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
    rows = text.replace("\r\n", "\n").split("\n")
    if rows[0].rstrip() != _FENCE:
        raise _wrong(name, "line 1: a persona begins with `---`, its name and description, and `---` again")
    end = next((at for at, row in enumerate(rows[1:], start=1) if row.rstrip() == _FENCE), None)
    if end is None:
        raise _wrong(name, "the front matter has no end: put `---` on a line of its own behind it")
    front = _front(name, "\n".join(("", *rows[1:end])))
    if front.name != name:
        raise _wrong(name, f"line 2: its name is {code(front.name)}, but its file is called {code(name)}")
    said = "\n".join(rows[end + 1 :]).strip()
    if not said:
        raise _wrong(name, f"line {end + 1}: nothing stands behind the front matter: say who the agent is")
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return Persona(name, front.description, front.tools, front.model or "", said, digest)


def _front(name: str, text: str) -> PersonaFrontMatter:
    written = Written({}, {})
    try:
        written = read(text, first="name: …")
        return PersonaFrontMatter.model_validate(written.tree)
    except PolicyError as error:
        raise PersonaError(tuple(f"persona {code(name)}: {problem}" for problem in error.problems)) from error
    except ValidationError as error:
        problems = capped(sentences(error, PersonaFrontMatter, written))
        raise PersonaError(tuple(f"persona {code(name)}: {problem}" for problem in problems)) from error


def _wrong(name: str, problem: str) -> PersonaError:
    return PersonaError((f"persona {code(name)}: {problem}",))
