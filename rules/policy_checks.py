"""What a policy must hold beyond the shape of its keys: names that must exist, actions that must fit."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from ledger.states import Archetype
from rules import registry
from rules.policy_board import BoardRules
from rules.policy_column import ColumnPolicy
from rules.policy_problems import located, sentences, unknown
from rules.policy_yaml import Path, Written
from rules.roles import Role
from rules.words import alternatives, code

ACTIONS = "rules.actions"
COMMANDS = "rules.commands"
# Commands that a policy may already name, before the file that carries them out is there.
LATER = ("agent", "fix", "investigate", "ok", "skills")


def command_names() -> tuple[str, ...]:
    """Return every command as people type it."""
    return tuple(name.replace("_", "-") for name in registry.names(COMMANDS))


def board_problems(board: BoardRules, written: Written) -> Iterator[str]:
    """Yield a sentence for each name that leads nowhere and each action that does not fit its column."""
    at: Path = ("board",)
    folded: dict[str, str] = {}
    for name, column in board.columns.items():
        where = (*at, "columns", name)
        twin = folded.setdefault(name.casefold(), name)
        if twin != name:
            yield located(written, where, f"differs from {code(twin)} only by upper and lower case")
        yield from _column_problems(board, column, written, where)
    known = (*command_names(), *LATER)
    for name, allowed in board.commands.items():
        where = (*at, "commands", name)
        if name not in known:
            yield located(written, where, unknown("command", name, tuple(sorted(known))))
        for word in allowed:
            if word.startswith("@") and word[1:] in set(Role):
                yield located(written, where, f"{code(word)} is a role: write it without @")


def _column_problems(board: BoardRules, column: ColumnPolicy, written: Written, where: Path) -> Iterator[str]:
    move = column.on_success
    if move is not None and move.move not in board.columns:
        yield located(
            written, (*where, "on_success", "move"), unknown("column", move.move, tuple(board.columns))
        )
    stages = tuple(stage.name for stage in column.stages)
    for index, stage in enumerate(column.stages):
        for name in stage.next:
            if name not in stages:
                yield located(written, (*where, "stages", index, "next"), unknown("stage", name, stages))
    if len(set(stages)) < len(stages):
        yield located(written, (*where, "stages"), "two stages have the same name")
    for key, steps in (("on_entry", column.on_entry or ()), ("on_exit", column.on_exit)):
        for index, step in enumerate(steps):
            yield from _step_problems(column.archetype, step, written, (*where, key, index))


def _step_problems(
    archetype: Archetype, step: dict[str, Any], written: Written, where: Path
) -> Iterator[str]:
    name = step.get("action")
    if not isinstance(name, str) or name not in registry.names(ACTIONS):
        yield located(written, where, unknown("action", str(name), registry.names(ACTIONS)))
        return
    part = registry.part(ACTIONS, name)
    settings: type[BaseModel] = part.Settings
    try:
        settings.model_validate(step)
    except ValidationError as error:
        yield from sentences(error, settings, written, where)
    if archetype not in part.ARCHETYPES:
        fitting = alternatives(sorted(part.ARCHETYPES))
        yield located(written, where, f"{name} fits columns of kind {fitting}, not {archetype}")
