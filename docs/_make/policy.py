"""The policy file's reference, made from the models that read it."""

import re
from collections.abc import Iterator, Set
from functools import cache, partial
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, BeforeValidator

from bot.repo_config import personas as built_in
from docs._make import wording
from ledger.parts import charter
from rules.policy.markdown.persona import parse_persona
from rules.policy.model import DEFAULT_TEXT, Policy
from rules.policy.repository import Guarded, Guardrails
from rules.registry import ACTIONS, ARCHETYPES, PROFILES
from runner.guards.builtin import GUARDS

DOCS = Path(__file__).parents[1]
PAGES = ("policy.md", "checks.md", "instructions.md", "boards.md")
_LINK = re.compile(r"\]\((?P<page>[a-z-]+\.md)?(?:#(?P<anchor>[a-z-]+))?\)")


def keys() -> str:
    """Return every part of the policy with a table of its keys, each part once, from the outside inwards."""
    models = tuple(_models(Policy))
    parts = {model.__name__.lower() for model in models}
    return _LINK.sub(partial(_of_page, parts), "\n\n".join(map(_part, models)))


def actions() -> str:
    """Return every action with its settings and the columns that it fits."""
    parts = []
    for name, part in ACTIONS.all():
        fits = ", ".join(f"`{kind}`" for kind, archetype in ARCHETYPES.all() if part.fits(archetype))
        what = charter(part).removeprefix(f"{name}: ")
        text = f"### Action: {name}\n\n{what[0].upper()}{what[1:]} Fits columns of kind {fits}."
        parts.append(f"{text}\n\n{_table(part.Settings)}")
    return _LINK.sub(partial(_of_page, set()), "\n\n".join(parts))


def _of_page(parts: Set[str], link: re.Match[str]) -> str:
    """Return the link to a part of this reference, or to the section of a page that explains it."""
    page, anchor = link["page"], link["anchor"]
    if not page and anchor in parts:
        return link[0]
    return f"](../{page or _page_of(anchor)}{f'#{anchor}' if anchor else ''})"


@cache
def _page_of(anchor: str) -> str:
    heading = re.compile(rf"^#+ {anchor.replace('-', '[ -]')}$", re.MULTILINE | re.IGNORECASE)
    return next(name for name in PAGES if heading.search((DOCS / name).read_text(encoding="utf-8")))


def personas() -> str:
    """Return the built-in personas with what each is for, and what it may not do."""
    rows = []
    for name in built_in.list_built_in():
        persona = parse_persona(name, built_in.read_built_in(name))
        narrowed = ", ".join(f"`{tool}: {may}`" for tool, may in persona.tools.model_dump().items() if may)
        rows.append((f"`{name}`", wording.cell(persona.description), narrowed or "all that its stage may do"))
    return wording.table(("persona", "what it does", "tools"), rows)


def profiles() -> str:
    """Return a table of the built-in profiles with the lines that each suggests, and its skills."""
    rows = []
    for name, part in PROFILES.all():
        listed = (part.SETUP, part.FAST, part.FULL, (part.START, part.ADDRESS), part.SKILLS)
        lines = (wording.cell("; ".join(f"`{one}`" for one in tier if one)) for tier in listed)
        rows.append((f"`{name}`", charter(part), *(line or "none" for line in lines)))
    return wording.table(("profile", "for", "setup", "fast", "full", "reproduction", "skills"), rows)


def default() -> str:
    """Return the policy that applies without a file."""
    return f"```yaml\n{DEFAULT_TEXT.strip()}\n```"


def _models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    found, waiting = [], [model]
    while waiting:
        one = waiting.pop(0)
        if one in found:
            continue
        found.append(one)
        for field in one.model_fields.values():
            waiting += [inner for inner in _inside(field.annotation) if inner not in waiting]
    yield from found


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for one in get_args(annotation):
        yield from _inside(one)


def _part(model: type[BaseModel]) -> str:
    return f"### {model.__name__}\n\n{wording.doc(model)}\n\n{_table(model)}"


def _table(model: type[BaseModel]) -> str:
    rows = list[tuple[str, ...]]()
    for name, field in model.model_fields.items():
        required = field.is_required()
        default = "**required**" if required else wording.default(field.default)
        limits = wording.limits(field)
        written = any(
            isinstance(one, BeforeValidator) for one in field.metadata
        )  # people may write it otherwise
        what = (
            "see the meaning"
            if written
            else wording.kind(field.annotation) + (f", {limits}" if limits else "")
        )
        rows.append((f"`{name}`", wording.cell(what), default, wording.cell(str(field.description))))
    if model is Guardrails:
        rows += _guards()
    return wording.table(("key", "value", "default", "meaning"), rows)


def _guards() -> Iterator[tuple[str, ...]]:
    for name, guard in GUARDS.all():
        meaning = wording.cell(f"{guard.FINDS}: ask a person, allow or deny them.")
        yield f"`{name}`", wording.kind(Guarded), f"`{guard.ACTION}`", meaning
