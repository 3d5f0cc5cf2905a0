"""Commands as `commands.json` describes them: help and completion import nothing else."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
from click.exceptions import NoSuchCommand

FILE = Path(__file__).with_name("commands.json")
HELP = frozenset({"-h", "--help"})
Load = Callable[[], click.Command]


class DescribedOption(click.Option):
    """An option with the line that help has for it."""

    def __init__(self, record: Sequence[str] | None, **how: Any) -> None:
        super().__init__(**how)
        self._record = record

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:  # noqa: ARG002 -- click's
        """Return the line."""
        return (self._record[0], self._record[1]) if self._record else None


class _Described:
    """The part that described commands and groups share."""

    load: Load
    usage: Sequence[str]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the words behind the command's name."""
        return list(self.usage)


class DescribedCommand(_Described, click.Command):
    """A command that is loaded once it is to run."""

    def __init__(self, about: Mapping[str, Any], load: Load) -> None:
        super().__init__(**_words(about))
        self.usage, self.load = about["usage"], load

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Print help, complete words, or leave the words to the command itself."""
        completes = bool(extra.get("resilient_parsing"))
        if completes or HELP & set(args):
            context = super().make_context(info_name, list(args), parent, **extra)
            if completes:
                return context
        return self.load().make_context(info_name, args, parent, **extra)


class CommandGroup(click.Group):
    """A group of commands that shows its help when it is called without one, and guesses at a wrong word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words; without any, print the help and end well."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command and its words. Raises NoSuchCommand with those that are spelt alike."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            names = dict.fromkeys(self.list_commands(ctx))
            raise NoSuchCommand(error.command_name, possibilities=names, ctx=ctx) from None


class DescribedGroup(_Described, CommandGroup):
    """A group whose commands are described, too."""

    def __init__(self, about: Mapping[str, Any], load: Load) -> None:
        super().__init__(**_words(about))
        self.usage, self.load = about["usage"], load
        for name, inner in about["commands"].items():
            self.add_command(as_described(inner, partial(_inside, load, name)), name)


def as_described(about: Mapping[str, Any], load: Load) -> click.Command:
    """Return the command of a description; `load` returns the one that can run."""
    return DescribedGroup(about, load) if "commands" in about else DescribedCommand(about, load)


@cache
def descriptions() -> Mapping[str, Any]:
    """Return the descriptions of the top commands by name."""
    read: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return read


def describe_command(command: click.Command, context: click.Context) -> dict[str, Any]:
    """Return the text for `as_described`, of a command that can run."""
    about: dict[str, Any] = {
        "name": command.name,
        "help": command.help,
        "short_help": command.short_help,
        "hidden": command.hidden,
        "usage": command.collect_usage_pieces(context),
        "params": [_param(param, context) for param in command.params],
    }
    if isinstance(command, click.Group):
        inside = {name: command.get_command(context, name) for name in command.list_commands(context)}
        about["commands"] = {
            name: describe_command(inner, click.Context(inner, parent=context, info_name=name))
            for name, inner in inside.items()
            if inner is not None
        }
    return about


def _inside(load: Load, name: str) -> click.Command:
    group = load()
    assert isinstance(group, click.Group)
    command = group.get_command(click.Context(group), name)
    assert command is not None, name
    return command


def _words(about: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: about.get(name) for name in ("name", "help", "short_help", "hidden")}
    return {**kept, "params": [_make_parameter(it) for it in about["params"]]}


def _param(param: click.Parameter, context: click.Context) -> dict[str, Any]:
    about: dict[str, Any] = {
        "opts": [*param.opts, *param.secondary_opts],
        "nargs": param.nargs,
        "required": param.required,
        "type": _type(param.type),
    }
    if isinstance(param, click.Option):
        flags = {"is_flag": param.is_flag, "multiple": param.multiple, "hidden": param.hidden}
        about |= {
            "record": param.get_help_record(context),
            **{name: True for name, it in flags.items() if it},
        }
    return about


def _type(kind: click.ParamType[Any]) -> Any:
    if isinstance(kind, click.Choice):
        return [str(choice) for choice in kind.choices]
    return "path" if isinstance(kind, click.Path | click.File) else ""


def _make_parameter(about: Mapping[str, Any]) -> click.Parameter:
    how: dict[str, Any] = {
        "param_decls": about["opts"],
        "nargs": about["nargs"],
        "required": about["required"],
    }
    kinds: dict[Any, click.ParamType[Any]] = {"path": click.Path(), "": click.STRING}
    how["type"] = click.Choice(about["type"]) if isinstance(about["type"], list) else kinds[about["type"]]
    if "record" not in about:
        return click.Argument(**how)
    if about.get("is_flag"):
        del how["type"], how["nargs"]
    more = {name: True for name in ("is_flag", "multiple", "hidden") if about.get(name)}
    return DescribedOption(about["record"], **how, **more)
