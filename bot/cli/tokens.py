"""`cardinal tokens`: the tokens of programs."""

from dataclasses import asdict
from datetime import timedelta

import click

from bot.cli import _home
from bot.cli._described import CommandGroup
from bot.cli._show import answer_rows, clean, json_option, show
from bot.system.clock import utc_now
from ledger.errors import CardinalError
from ledger.queue import api_tokens
from ledger.queue.api_tokens import MAX_NAME, MEANING, Scope


class UnknownTokenError(CardinalError):
    """No live token has that id."""

    def __init__(self, token_id: str) -> None:
        self.token_id = token_id
        super().__init__(f"no valid token with the id {clean(token_id)}: `cardinal tokens list` lists them")


class UnknownAccountError(CardinalError):
    """GitHub has no such account."""

    def __init__(self, login: str) -> None:
        self.login = login
        super().__init__(f"GitHub has no account {clean(login)}: name a person's or a machine account")


class NotListedError(CardinalError):
    """The account of a token is not on the operator's list of people."""

    def __init__(self, login: str) -> None:
        self.login = login
        line = f"{clean(login)} = {clean(login)}"
        super().__init__(
            f"{clean(login)} is not on the list in CARDINAL_SIGN_IN_LOGINS: add the line `{line}`"
        )


@click.group("tokens", cls=CommandGroup)
def command() -> None:
    """Create, list and revoke API tokens.

    A token acts as one GitHub account, with that account's rights, within its scope. People create their own
    on the page /tokens.
    """


@command.command("add")
@click.argument("name")
@click.option("--login", required=True, help="The GitHub account it acts as.")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.READ.value,
    show_default=True,
    help="; ".join(f"{scope}: {meaning}" for scope, meaning in MEANING.items()) + ".",
)
@click.option(
    "--days", type=click.IntRange(1, 365), default=30, show_default=True, help="Days until it expires."
)
@json_option
def _add(name: str, login: str, scope: str, days: int, as_json: bool) -> None:
    """Create a token and print it. It cannot be printed again.

    \b
    Example:
      cardinal tokens add ci --login acme-bot --scope act --days 30
    """
    from bot.github.api import roles
    from bot.github.client import Hub
    from bot.github.errors import NotFoundError
    from bot.state import served_boards
    from bot.system import people

    config, now = _home.settings(), utc_now()
    config.require_github()
    with _home.open_for_reading() as db:
        owner = served_boards.all_served(db, config)[0].owner
    try:
        user_id, exact = roles.account_of(Hub(config, utc_now).at(owner), login)
    except NotFoundError as error:
        raise UnknownAccountError(login) from error
    if not people.is_admitted(config, exact):
        raise NotListedError(exact)
    with _home.open_for_writing() as db:
        text, row = api_tokens.make(
            db,
            clean(name)[:MAX_NAME],
            login=exact,
            user_id=user_id,
            scopes=(scope,),
            now=now,
            lives=timedelta(days=days),
        )
    show({**asdict(row), "token": text}, as_json=as_json, text=lambda: (text,))


@command.command("list")
@json_option
def _list(as_json: bool) -> None:
    """List the valid tokens.

    \b
    Example:
      cardinal tokens list
    """
    from bot.web.api.operations import list_tokens  # help does not wait for the API

    answer = _home.run_operation(list_tokens, {})
    rows = answer_rows(answer["tokens"], list_tokens.COLUMNS, empty="no valid tokens")
    show(answer, as_json=as_json, text=lambda: rows)


@command.command("revoke")
@click.argument("token_id", metavar="ID")
@json_option
def _revoke(token_id: str, as_json: bool) -> None:
    """End a token at once.

    \b
    Example:
      cardinal tokens revoke 1f2e3d4c
    """
    with _home.open_for_writing() as db:
        ended = api_tokens.revoke(db, token_id, utc_now())
    if not ended:
        raise UnknownTokenError(token_id)
    show({"revoked": token_id}, as_json=as_json, text=lambda: (f"{clean(token_id)} is revoked",))
