"""The reference pages: settings, slash commands, the command line and events, made from the code."""

import dataclasses
import importlib
import re
from collections.abc import Iterable, Iterator
from types import ModuleType, NoneType
from typing import Any, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from bot import cli as command_line
from bot.cli import _described
from bot.system.config import Config
from bot.system.env_file import PREFIX
from docs._make import wording
from ledger import codec
from ledger.event import Event
from ledger.parts import charter
from rules.registry import COMMANDS, SlashCommand

WIDTH = 100
TAKEN = {
    "none": "no text",
    "optional": "optional words, on the first line",
    "text": "a text",
    "optional text": "an optional text",
}


def settings() -> str:
    """Return the table of the operator's settings."""
    fields: dict[str, FieldInfo] = Config.__pydantic_fields__  # type: ignore[attr-defined]
    rows = []
    for name, field in fields.items():
        default = "see the meaning" if field.is_required() else wording.default(field.default)
        limits = wording.limits(field)
        meaning = " ".join(filter(None, (str(field.description), f"({limits})" if limits else "")))
        rows.append((f"`{PREFIX}{name.upper()}`", default, wording.cell(meaning)))
    return wording.table(("setting", "default", "meaning"), rows)


def commands() -> str:
    """Return the slash commands, one section each."""
    rows, sections = [], []
    for name, part in COMMANDS.all():
        usage = part.USAGE.replace("|", "\\|")
        rows.append((f"[`{usage}`](#cardinal-{name})", charter(part), f"`{part.ROLE}`"))
        sections.append(_command(name, part))
    head = ("command", "what it does", "lowest role")
    return "\n\n".join((wording.table(head, rows), *sections))


def _command(name: str, part: SlashCommand) -> str:
    lines = [
        f"## /cardinal {name}",
        f"{charter(part)} {wording.doc(part.handle)}",
        f"    {part.USAGE}",
    ]
    facts = f"Lowest role: `{part.ROLE}`. Takes {TAKEN[part.TAKES]}."
    if part.MOVES:
        facts += " It needs the right to [move cards](policy-keys.md#boardrules), too."
    for other in part.ALSO:
        facts += f" It needs the role of `/cardinal {other}`, too."
    for word, needed in part.SCOPES.items():
        facts += f" With `{word}` it needs the role of `/cardinal {needed}`, too."
    if part.INSTEAD:
        facts += f" {part.INSTEAD}"
    return "\n\n".join((*lines, facts))


def cli() -> str:
    """Return the help of every command of the command line."""
    top = _context(command_line.main, "cardinal", None)
    return "\n\n".join(f"## {path}\n\n```text\n{text}\n```" for path, text in _helps(command_line.main, top))


def _helps(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path, re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = _whole(command, context, name)
            yield from _helps(found, _context(found, name, context))


def described_commands() -> str:
    """Return `bot/cli/commands.json`: what help and completion have of each command."""
    top = _context(command_line.main, "cardinal", None)
    found = {name: command_line.load_command(name) for name in command_line.main.list_commands(top)}
    about = {name: _described.describe_command(it, _context(it, name, top)) for name, it in found.items()}
    for name, part in command_line.COMMANDS.all():
        about[name]["reads"] = part.READS
    return wording.json_lines(about)


def _whole(group: click.Group, context: click.Context, name: str) -> click.Command:
    """Return a command of a group, not as it is described but as it runs."""
    if group is command_line.main:
        return command_line.load_command(name)
    found = group.get_command(context, name)
    assert found is not None, name
    return found


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(
        command,
        parent=parent,
        info_name=name,
        max_content_width=WIDTH,
        terminal_width=WIDTH,
        help_option_names=["-h", "--help"],
    )


def events() -> str:
    """Return every event kind with its fields, by family."""
    parts = []
    for family, kinds in sorted(codec.families().items()):
        module = importlib.import_module(kinds[0].__module__)
        parts.append(f"## {family}\n\n{wording.doc(module)} Defined in `ledger/events/{family}.py`.")
        parts += [_event(kind) for kind in sorted((*kinds, *_values(module)), key=_place)]
    return "\n\n".join(parts)


def _values(module: ModuleType) -> Iterator[type]:
    classes = [one for one in vars(module).values() if isinstance(one, type)]
    own = (one for one in classes if one.__module__ == module.__name__ and dataclasses.is_dataclass(one))
    yield from (one for one in own if not issubclass(one, Event))


def _place(kind: type) -> int:
    return list(vars(importlib.import_module(kind.__module__))).index(kind.__name__)


def _event(kind: type) -> str:
    fields = dataclasses.fields(kind)
    shown = ", ".join(f"`{field.name}` {_type_name(field.type)}" for field in fields)
    return f"### {kind.__name__}\n\n{wording.doc(kind)}\n\n{shown}"


def _type_name(annotation: Any) -> str:
    inside = [one for one in get_args(annotation) if one not in (Ellipsis, NoneType)]
    if get_origin(annotation) is tuple:
        return f"list of {_type_name(inside[0])}"
    if get_origin(annotation) is dict:
        return "dictionary"
    if inside:
        return f"{_type_name(inside[0])} or null"
    return str(annotation.__name__)


def names_of_cli() -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield every command path of the command line with the options that it knows."""
    top = click.Context(command_line.main, info_name="cardinal")
    waiting: list[tuple[click.Command, click.Context]] = [(command_line.main, top)]
    while waiting:
        command, context = waiting.pop()
        options = (option for one in command.params for option in (*one.opts, *one.secondary_opts))
        yield context.command_path, ("-h", "--help", *options)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                found = _whole(command, context, name)
                waiting.append((found, click.Context(found, parent=context, info_name=name)))
