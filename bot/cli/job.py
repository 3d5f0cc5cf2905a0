"""`cardinal job`: the API's operations as commands, for scripts and for people elsewhere."""

import click

from bot.cli._described import CommandGroup


class OperationGroup(CommandGroup):
    """The group whose commands are the operations of the API; they are loaded when one is wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 -- click's
        """Return the names of all commands, in order."""
        from bot.cli import _operations

        return sorted(_operations.operations_by_name())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 -- click's
        """Return the command; None when no operation has its name."""
        from bot.cli import _operations

        operation = _operations.operations_by_name().get(cmd_name)
        return None if operation is None else _operations.command_of(cmd_name, operation)


@click.group("job", cls=OperationGroup)
def command() -> None:
    """Use the API: list, show, make and command jobs.

    It uses CARDINAL_URL with CARDINAL_TOKEN. A JOB is OWNER/REPOSITORY#NUMBER; `-` reads jobs from standard
    input, one per line, followed by the board if the issue is on several; --filter selects all that match.
    If one job fails, the others continue; when the rate limit is reached, it waits.

    Exit codes: 0 done; 1 refused, not found, or the run that --wait followed did not succeed; 2 bad
    arguments, no response, or timeout.

    \b
    Examples:
      cardinal job list --state needs_input
      cardinal job command answer acme/shop#12 --text 2
      cardinal job follow-run r12 --wait 3600
      cardinal job command archive --filter column=Done --filter state=done --dry-run
      cardinal job list --column Tasks --json |
        jq -r '.jobs[] | "\\(.repository)#\\(.number) \\(.board)"' | cardinal job command cancel -
    """
