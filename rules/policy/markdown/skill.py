"""Reading a skill's SKILL.md: the few keys of its front matter, strictly, and its text."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from ledger.model.policy_settings import PolicyModel
from rules.errors import PolicyError, RulesError
from rules.policy.markdown import front_matter
from rules.text import code, plain

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
SKILL_BYTES = 16_000
Trigger = Annotated[str, Field(min_length=2, max_length=60)]
_HEAD_BYTES = 4_000


class SkillFileError(RulesError):
    """A SKILL.md is not valid; the text names the problem."""


def _text(value: object) -> object:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


class _Head(PolicyModel):
    """The front matter. The last four keys are those that other programs obey; here they mean nothing."""

    name: Annotated[str, Field(max_length=64)]
    description: Annotated[str, Field(min_length=1, max_length=1024)]
    triggers: Annotated[tuple[Trigger, ...], Field(max_length=20)] = ()
    version: Annotated[str, BeforeValidator(_text), Field(max_length=40)] = ""
    license: Any = None
    compatibility: Any = None
    metadata: Any = None
    allowed_tools: Any = Field(default=None, alias="allowed-tools")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A parsed SKILL.md; `text` is the part below its front matter."""

    name: str
    description: str
    triggers: tuple[str, ...]
    version: str
    text: str


def parse(folder: str, raw: bytes) -> SkillFile:
    """Return the parsed SKILL.md of the skill's `folder`. Raises SkillFileError."""
    if len(raw) > SKILL_BYTES:
        raise SkillFileError(f"its SKILL.md has {len(raw)} bytes; the limit is {SKILL_BYTES}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SkillFileError("its SKILL.md is not UTF-8") from error
    try:
        front, body = front_matter.split(text)
    except PolicyError as error:
        said = "its SKILL.md must begin with front matter between two --- lines"
        raise SkillFileError(said) from error
    if len(front.encode()) > _HEAD_BYTES:
        raise SkillFileError(f"its front matter has more than {_HEAD_BYTES} bytes")
    try:
        head = front_matter.read(front, _Head, "name: …")
    except PolicyError as error:
        raise SkillFileError(f"its front matter: {plain(error.problems[0], 200)}") from error
    if head.name.casefold() != folder.casefold():
        raise SkillFileError(
            f"its SKILL.md has the name {code(head.name, 64)}, which differs from its folder"
        )
    if not body.strip():
        raise SkillFileError("its SKILL.md has no text after the front matter")
    triggers = tuple(plain(trigger, 60) for trigger in head.triggers)
    return SkillFile(folder, plain(head.description, 1024), triggers, plain(head.version, 40), body.strip())
