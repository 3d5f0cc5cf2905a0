"""`cardinal images`: the container images, made on this machine."""

import os
import subprocess
import tempfile
from pathlib import Path

import click

from bot.admin.images import context

LIMIT_S = 2 * 3600


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
    original = context.script("images").resolve()
    if compose_file:
        click.echo(context.COMPOSE_FILE.resolve())
        return
    with tempfile.TemporaryDirectory(prefix="cardinal-images-") as scratch:
        folder = Path(scratch, "context")
        context.copy_to(folder)
        # One build at a time, over all copies: they lock the original.
        mine = {"IMAGES_NAME": "cardinal images"}
        mine |= {"IMAGES_LOCK": os.environ.get("IMAGES_LOCK", str(original))}
        mine |= {"IMAGES_FROM": str(listed)} if listed else {}
        built = subprocess.run(
            ["bash", str(folder / "scripts/images"), *names],
            env=os.environ | mine,
            timeout=LIMIT_S,
            check=False,
        )
    raise SystemExit(built.returncode)
