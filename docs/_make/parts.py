"""The kinds of parts: the one file that adds each, and its members, from the contracts themselves."""

from typing import Any

from bot import cli
from bot.admin.doctor import THEMES
from bot.frontends import FRONT_ENDS
from bot.ingest.events import EVENTS
from bot.outbox.handlers import ACTS
from bot.web.api.operation import OPERATIONS
from bot.web.pages import PAGES
from docs._make import wording
from ledger.parts import Registry
from ledger.views import VIEWS
from rules.registry import ACTIONS, ARCHETYPES, COMMANDS, HANDLERS, PROFILES
from runner.agents import AGENTS
from runner.guards.builtin import GUARDS
from runner.workspaces import BACKENDS

KINDS: tuple[Registry[Any], ...] = (
    *(COMMANDS, ARCHETYPES, ACTIONS, HANDLERS, PROFILES),
    *(AGENTS, BACKENDS, GUARDS, VIEWS),
    *(EVENTS, ACTS, FRONT_ENDS, THEMES, PAGES, OPERATIONS, cli.COMMANDS),
)


def table() -> str:
    """Return each kind of part with its file, and the members that it must and may have."""
    heads = ("to add", "write", "it has", "it may have")
    held = "frozen dataclasses derived from `Event`, with what is known of each"
    family = ("event family", "`ledger/events/<name>.py`", held, "")
    return wording.table(heads, (*(_row(kind) for kind in KINDS), family))


def file_of(kind: Registry[Any]) -> str:
    """Return the file that adds a part of the kind."""
    return f"{kind.folder.replace('.', '/')}/<name>.py"


def _row(kind: Registry[Any]) -> tuple[str, ...]:
    has, may = (
        ", ".join(f"`{name}`" for name, required in kind.members().items() if required is wanted)
        for wanted in (True, False)
    )
    held = f"`{kind.holds}`, with {has}" if kind.holds else has or "functions marked `@answers(Kind)`"
    return kind.kind, f"`{file_of(kind)}`", held, may
