"""`cardinal images`: the container images, made on this machine."""

from pathlib import Path

import click

from bot.admin.images import context


@click.command("images")
@click.argument("names", nargs=-1, type=click.Choice(context.NAMES), metavar="[IMAGE]...")
@click.option(
    "--from", "listed", type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    help="Fetch the images by the digests in this file: a release's images.txt.",
)  # fmt: skip
@click.option("--compose-file", is_flag=True, help="Print the path of these images' compose file.")
def command(names: tuple[str, ...], listed: Path | None, compose_file: bool) -> None:
    """Build or fetch the container images.

    Builds those that are out of date; with --from, fetches a release's. The images are agent, browser,
    cardinal and postgres; all by default. A Docker engine must be running.

    \b
    Examples:
      cardinal images agent
      cardinal images --from images.txt
      docker compose -f "$(cardinal images --compose-file)" up -d
    """
    if compose_file:
        click.echo(context.COMPOSE_FILE.resolve())
        return
    mine = {"IMAGES_NAME": "cardinal images"} | ({"IMAGES_FROM": str(listed)} if listed else {})
    raise SystemExit(context.build(names, mine))
