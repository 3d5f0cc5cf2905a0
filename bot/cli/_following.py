"""Events as they come, in a shell: of a run until it is over, which is the exit code."""

import json
from collections.abc import Mapping
from typing import Any

import click

from bot.cli import CliError, _api
from bot.cli._show import clean, text_block
from bot.web.api.sending import call_once
from ledger.states import Ending

NOT_DONE = frozenset({403, 404, 409, 410, 415})  # of the API: it is refused, or not there


class NotDoneError(CliError):
    """The API did not do it, or the run did not succeed: exit code 1."""

    exit_code = 1


def follow(operation: str, fields: Mapping[str, Any], wait_s: int, *, as_json: bool) -> None:
    """Print each event. Raises ApiProblemError, ApiUnreachableError, CliError."""
    from bot.web.api.following import follow_once  # streams take more than a call

    url, token = _api.api_address()
    is_over = follow_once(url, token, operation, fields, printer(as_json), wait_s)
    if "run" not in fields:
        return
    run = str(fields["run"])
    if not is_over:
        raise CliError(
            f"{run} has not ended after {wait_s} s: follow it again, or run `cardinal job get-run {run}`"
        )
    document = call_once(url, token, "get_run", {"run": run})
    ending, reason = str(document["ending"]), str(document["reason"])
    if ending != Ending.SUCCEEDED:
        raise NotDoneError(clean(": ".join(filter(None, (f"{run} {ending}", reason)))))


def printer(as_json: bool) -> Any:
    """Return the printer of an event."""

    def show(event: dict[str, Any]) -> None:
        if as_json:
            click.echo(json.dumps(event))
            return
        if "text" not in event:
            click.echo("older events are left out: `cardinal job list` shows the current state", err=True)
            return
        number = event.get("number")
        job = f"{event['repository']}#{number}" if number else ""
        click.echo(
            " ".join(filter(None, (clean(str(event["at"]))[:19], clean(job), clean(str(event["text"])))))
        )
        for row in text_block(str(event.get("output", ""))):
            click.echo(row)

    return show
