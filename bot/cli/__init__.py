"""Command line: one file per command, found by its name."""

import errno
import gc as collector  # a command has that name
import sys
from functools import partial
from typing import TYPE_CHECKING, Protocol

import click

from bot.cli import _described
from bot.cli._described import CommandGroup
from ledger.errors import CardinalError
from ledger.parts import Registry

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError


class CliError(click.ClickException):
    """A failure as one sentence for a person; ends with exit code 2."""

    exit_code = 2

    def format_message(self) -> str:
        """Return the sentence."""
        return self.message


def _database_errors() -> "tuple[type[DBAPIError], ...]":
    """Return SQLAlchemy's errors, none where it was not imported: git's hooks do not wait for that."""
    loaded = sys.modules.get("sqlalchemy.exc")
    return (loaded.DBAPIError,) if loaded else ()


class CliCommand(Protocol):
    """A file of this folder; its name is the word after `cardinal`."""

    command: click.Command


COMMANDS = Registry[CliCommand]("command-line command", __name__, CliCommand, dashes=True)


class FolderGroup(CommandGroup):
    """The group whose commands are the files of this folder; a file is imported once its command is to run."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the names of all commands, in order."""
        return list(COMMANDS.names())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's
        """Return the command; None when no file has its name."""
        if cmd_name not in COMMANDS.names():
            return None
        about = _described.descriptions().get(cmd_name)
        load = partial(_load, cmd_name)
        return _described.describe(about, load) if about else load()

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; an error that Cardinal raised on purpose becomes one sentence, no traceback."""
        try:
            return super().invoke(ctx)
        except CardinalError as error:
            raise CliError(str(error)) from error
        except _database_errors() as error:
            because = str(error.orig).splitlines()[0] if error.orig is not None else "no reason given"
            raise CliError(f"the ledger's database cannot be used: {because}") from error
        except (BrokenPipeError, ConnectionError):
            raise  # click's own, or a bug
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise CliError("the disk is full: make room there, then do it again") from error
            if error.filename is None:
                raise
            raise CliError(f"{error.filename}: {error.strerror}; look who may write there") from error


def _load(name: str) -> click.Command:
    collector.disable()  # imports leave little garbage, and searching for it slows the start
    try:
        return COMMANDS.load(name).command
    finally:
        collector.enable()


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from bot.system import release

        click.echo(" ".join(filter(None, ("cardinal", release.version(), release.commit()))))
        context.exit()


@click.group("cardinal", cls=FolderGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Print the version, and the commit where it is known.",
)  # fmt: skip
def main() -> None:
    """Cardinal: every column of a project board is a policy, every card can hire a coding agent.

    Begin with `cardinal demo` to watch it, `cardinal try` in your own clone, or `cardinal init` for GitHub.
    """
