"""Command line: one file per command, found by its name."""

import errno
import sys
from functools import partial
from typing import TYPE_CHECKING, Protocol

import click

from bot.cli import _described
from bot.cli._described import CommandGroup
from ledger.errors import CardinalError
from ledger.parts import Registry, part_names

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
    READS: bool = False  # it changes nothing and asks nothing: the running Cardinal carries it out


COMMANDS = Registry[CliCommand]("command-line command", __name__, CliCommand, dashes=True)


ALSO = {"logs": "log"}  # names that other programs have for a command


class FolderGroup(CommandGroup):
    """The commands are the files of this folder, and each slash command without a file of its name.

    A file is imported once its command is to run.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the names of all commands, in order."""
        return [*COMMANDS.names(), *verbs()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's
        """Return the command; None when nothing has its name."""
        name = ALSO.get(cmd_name, cmd_name)
        if name not in COMMANDS.names() and name not in verbs():
            return None
        about = _described.descriptions().get(name)
        return _described.as_described(about, partial(load_command, name)) if about else load_command(name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the rows of files and, apart, those of slash commands."""
        for title, names in (("Commands", COMMANDS.names()), ("Commands on a card or a run", verbs())):
            known = ((name, self.get_command(ctx, name)) for name in names)
            width = formatter.width - 6 - max(map(len, names))
            with formatter.section(title):
                formatter.write_dl([(name, it.get_short_help_str(width)) for name, it in known if it])

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
                step = "free some space, or remove files where `df -i` says that none are left"
                raise CliError(f"the disk is full: {step}, then run this again") from error
            if error.errno in (errno.EMFILE, errno.ENFILE):
                step = "raise the limit that `ulimit -n` shows, then run this again"
                raise CliError(f"too many files are open: {step}") from error
            if error.filename is None:
                raise
            raise CliError(f"{error.filename}: {error.strerror}; check who may write there") from error


def verbs() -> tuple[str, ...]:
    """Return the slash commands that no file of this folder is named after."""
    names = (name.replace("_", "-") for name in part_names("rules.commands"))
    return tuple(name for name in names if name not in COMMANDS.names())


def load_command(name: str) -> click.Command:
    """Return the command as it runs, with all that it imports."""
    if name in COMMANDS.names():
        command = COMMANDS.load(name).command
    else:
        from bot.cli import _operator

        command = _operator.verb(name)
    logging = sys.modules.get("logging")
    if logging and not logging.getLogger().handlers:  # else a log's lines would stand among a command's own
        logging.getLogger().addHandler(logging.NullHandler())
    return command


def _print_version(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from bot.system import release

        click.echo(" ".join(filter(None, ("cardinal", release.version(), release.commit()))))
        context.exit()


@click.group("cardinal", cls=FolderGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
    help="Print the version, and the commit if known.",
)  # fmt: skip
def main() -> None:
    """Cardinal: every column of a project board is a policy, every card can hire a coding agent.

    Start with `cardinal demo` to watch it, `cardinal try` in your own clone, or `cardinal init` for GitHub.
    """
