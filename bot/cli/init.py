"""`cardinal init`: from nothing to an installed App and a board that is ready."""

import ipaddress
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click

from bot.admin.setup import progress
from bot.admin.setup.errors import MissingWishError, UnwritableError
from bot.admin.setup.progress import Registered
from bot.cli import _home
from bot.cli._show import clean
from bot.github.app_manifest import WEBHOOK_PATH
from bot.system import github_address
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.system.setting_types import BoardAddress, board_address

PUBLIC = re.compile(r"https?://[^\s/?#@\\]+/?")
OWNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,38}")
REPOSITORY = re.compile(r"[A-Za-z0-9_-]{1,39}/[A-Za-z0-9._-]{1,100}")
ASKED = "-"
REACHABLE = (
    "say how GitHub reaches this machine: --webhook https://your.host (or a relay's address), or "
    "--poll if it cannot"
)


@click.command("init")
@click.option("--org", default="", help="The organisation; not needed with --board.")
@click.option(
    "--board", "board_name", default="", help="The board, as OWNER/NUMBER; not needed if there is only one."
)
@click.option("--name", default="", help="The App's name, unique on GitHub.  [default: Cardinal OWNER]")
@click.option("--webhook", default="", help="The address at which GitHub reaches this machine, or a relay's.")
@click.option(
    "--public",
    default="",
    help="The address at which browsers reach this machine, for files of runs.  [default: as --webhook]",
)
@click.option("--poll", is_flag=True, help="Use no webhooks, because GitHub cannot reach this machine.")
@click.option("--columns", is_flag=True, help="Create the policy's columns that are missing.")
@click.option(
    "--policy-repository", default="", help="Repository with the policy file.  [default: OWNER/board]"
)
@click.option(
    "--existing", type=int, default=0, metavar="APP_ID", help="Use an App that was registered by hand."
)
@click.option(
    "--key", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Its private key file."
)
@click.option(
    "--secret", default="", help="Its webhook secret, or - to be prompted; by default a new one is set."
)
@click.option("--replace", is_flag=True, help="Replace the App that the settings belong to.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option(
    "--wait",
    "wait_s",
    type=click.FloatRange(1, 86400),
    default=1800,
    help="Seconds to wait for you on GitHub.",
)
def command(
    org: str, board_name: str, name: str, webhook: str, public: str, *, poll: bool, columns: bool,
    policy_repository: str, existing: int, key: Path | None, secret: str, replace: bool, opens: bool,
    wait_s: float,
) -> None:  # fmt: skip
    """Register the App, install it, and set up the board.

    You can stop it at any time: run it again and it continues.

    \b
    Examples:
      cardinal init --org acme --webhook https://cardinal.example.com
      cardinal init --board acme/1 --poll
    """
    from bot.admin.setup import flow

    config = _home.settings()
    address = _board(board_name, org, config)
    wishes = flow.Wishes(
        owner=address.owner,
        number=address.number if board_name else 0,
        name=name,
        webhook=_webhook(webhook, config),
        public_url=_public(public, webhook),
        poll=poll,
        columns=columns,
        replace=replace,
        policy_repository=policy_repository,
        existing=_existing(existing, key, secret),
        wait_s=wait_s,
        opens=opens,
    )
    if policy_repository and not REPOSITORY.fullmatch(policy_repository):
        raise MissingWishError("--policy-repository needs an owner and a name, such as acme/board")
    known = bool(config.app_id and not replace) or progress.read(config.home).app is not None
    if webhook and poll:
        raise MissingWishError("--webhook and --poll cannot be combined: drop one of them")
    if not (webhook or poll or known or existing):
        raise MissingWishError(REACHABLE)
    choose = _choose if sys.stdin.isatty() else None
    context = flow.SetUpContext(os.environ, Path.cwd(), lambda text: click.echo(clean(text)), utc_now, choose)
    try:
        flow.set_up_app(wishes, context)
    except OSError as error:  # of files: those of the network have sentences of their own
        raise UnwritableError(error) from error


def _board(board_name: str, org: str, config: Config) -> BoardAddress:
    """Return the board that was named, or the organisation with number 0."""
    if board_name:
        address = board_address(board_name)
        if not address:
            raise MissingWishError("--board needs an organisation and a project number, such as acme/1")
        if org and org.casefold() != address.owner.casefold():
            raise MissingWishError("--org and --board name different organisations: drop --org")
        return address
    owner = org or config.board.owner or progress.read(config.home).owner
    if not OWNER.fullmatch(owner):
        raise MissingWishError("say which organisation the board belongs to: --org acme, or --board acme/1")
    return BoardAddress(owner, 0)


def _webhook(given: str, config: Config) -> str:
    """Return the whole address; one without a path is this Cardinal's own server."""
    if not given:
        return ""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"\s", given):
        raise MissingWishError("--webhook needs an address, such as https://cardinal.example.com")
    if config.github_url == github_address.GITHUB_API and _is_local(parts.hostname):
        raise MissingWishError("GitHub cannot reach a local address: use a relay's address, or --poll")
    return given if parts.path not in ("", "/") or parts.query else f"{given.rstrip('/')}{WEBHOOK_PATH}"


def _public(given: str, webhook: str) -> str:
    """Return the address of the pages: the given one, else the webhook's host where that is Cardinal."""
    parts = urlsplit(given or webhook)
    if given and (not PUBLIC.fullmatch(given) or parts.scheme not in ("http", "https")):
        raise MissingWishError(
            "--public needs an address without a path, such as https://cardinal.example.com"
        )
    ours = parts.path in ("", "/", WEBHOOK_PATH) and not parts.query  # else it is a relay's
    host = parts.netloc.rpartition("@")[2]  # a name and password are for the webhook's door, not for people
    return f"{parts.scheme}://{host}" if ours and host else ""


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith((".localhost", ".local"))


def _existing(app_id: int, key: Path | None, secret: str) -> Registered | None:
    if not app_id:
        if key or secret:
            raise MissingWishError("--key and --secret need an App: add --existing APP_ID")
        return None
    if key is None:
        raise MissingWishError(
            "--existing needs the App's private key: create one on the App's page, under Private keys, "
            "and add --key FILE"
        )
    try:
        pem = key.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise MissingWishError(f"{key} is not a private key in PEM: {type(error).__name__}") from error
    if not pem.lstrip().startswith("-----BEGIN"):
        raise MissingWishError(f"{key} is not a private key in PEM: download it from the App's page")
    if secret == ASKED:  # others on this machine see the command line
        secret = click.prompt("Webhook secret", hide_input=True, err=True)
    return Registered(app_id, "", "", pem, secret)


def _choose(boards: Sequence[tuple[int, str]]) -> int:
    for number, title in boards:
        click.echo(f"  {number}  {clean(title)}")
    numbers = click.Choice([str(number) for number, _ in boards])
    return int(click.prompt("Which board", type=numbers, show_choices=False))
