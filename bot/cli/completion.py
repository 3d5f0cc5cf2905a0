"""`cardinal completion`: words that a shell completes by itself."""

import click
from click.shell_completion import get_completion_class

from bot.cli import CliError


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    Examples:
      eval "$(cardinal completion bash)"     # in ~/.bashrc; zsh in ~/.zshrc
      cardinal completion fish > ~/.config/fish/completions/cardinal.fish
    """
    completion = get_completion_class(shell)
    if completion is None:
        raise CliError(f"there is no completion for {shell}: use another shell")
    click.echo(completion(context.find_root().command, {}, "cardinal", "_CARDINAL_COMPLETE").source())
