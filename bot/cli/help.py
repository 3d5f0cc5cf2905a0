"""`cardinal help`: the help of a command, as `--help` prints it."""

import click

from bot.cli import CliError


@click.command("help")
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    """Print the help of Cardinal, or of a command.

    \b
    Examples:
      cardinal help
      cardinal help audit verify
    """
    root = context.find_root()
    place, topic = root, root.command
    for word in words:
        inner = topic.get_command(place, word) if isinstance(topic, click.Group) else None
        if inner is None:
            raise CliError(f"no command `{place.command_path} {word}`: `cardinal help` lists them")
        place, topic = click.Context(inner, info_name=word, parent=place), inner
    click.echo_via_pager(topic.get_help(place) + "\n")
