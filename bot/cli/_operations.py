"""Operations of the API as commands: arguments and options from their input, output as lines or JSON."""

import hashlib
import json
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click
from pydantic.fields import FieldInfo

from bot.cli import CliError, _api, _following, _home
from bot.cli._following import NotDoneError
from bot.cli._show import json_option, line, table
from bot.web.api.client import ApiProblemError, call_once
from bot.web.api.jobs import JobName
from bot.web.api.operation import OPERATIONS, Operation
from ledger.errors import CardinalError
from ledger.parts import charter
from ledger.queue.api_tokens import Scope

SHORT: Mapping[str, str] = {
    "create_job": "create",
    "get_job": "show",
    "get_stats": "stats",
    "give_command": "command",
    "list_events": "events",
    "list_inbox": "inbox",
    "list_jobs": "list",
}
NOT_DONE = frozenset({403, 404, 409, 410, 415})
MAX_WAIT_S = 7 * 24 * 3600
WAIT = "Go on with what comes for so many seconds at most; of a run to its end, which is the exit code."
JOB = ("owner", "repository", "number")


def named() -> dict[str, str]:
    """Return the operation of each command."""
    return {SHORT.get(name, name.replace("_", "-")): name for name in OPERATIONS.names()}


def command_of(name: str, operation: str) -> click.Command:
    """Return the command for an operation."""
    part = OPERATIONS.load(operation)

    help_text = f"{charter(part)}\n\n\b\nExample:\n  {_example(name, part)}"

    @click.command(name, help=help_text, params=list(_params(part)))
    @json_option
    def command(as_json: bool, key: str = "", job: str = "", wait: int | None = None, **given: Any) -> None:
        fields = {field: value for field, value in given.items() if value not in (None, ())}
        fields = {field: list(it) if isinstance(it, tuple) else it for field, it in fields.items()}
        if job == "-":
            names = [row.strip() for row in sys.stdin if row.strip()]
            _each(operation, fields, names, key, as_json)
            return
        try:
            if wait:
                _following.follow(operation, fields, wait, as_json=as_json)
                return
            document = _call(operation, {**fields, **(_place(job) if job else {})}, key)
        except ApiProblemError as error:
            fault: type[CliError] = NotDoneError if error.status in NOT_DONE else CliError
            raise fault(line(str(error))) from error
        _print(document, as_json=as_json)

    return command


def _each(operation: str, fields: Mapping[str, Any], names: Iterable[str], key: str, as_json: bool) -> None:
    """Do it for each job; a fault is reported, and the next one is done. The worst fault is the exit code."""
    _api.place()  # without it, each would fail the same
    worst = 0
    for name in names:
        own = hashlib.sha256(f"{key} {name}".encode()).hexdigest() if key else ""
        try:
            document, fault = _call(operation, {**fields, **_place(name)}, own), ""
        except CardinalError as error:
            document, fault = {}, line(str(error))
            refused = isinstance(error, ApiProblemError) and error.status in NOT_DONE
            worst = max(worst, 1 if refused else 2)
        if as_json:
            click.echo(json.dumps({"job": name, "fault": fault, "output": document or None}))
        else:
            click.echo(f"{line(name)}: {fault or line(str(document.get('answer', 'done')))}", err=bool(fault))
    if worst:
        click.get_current_context().exit(worst)


def _call(operation: str, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    url, token = _api.place()
    return call_once(url, token.reveal(), operation, fields, key)


def _place(job: str) -> dict[str, str]:
    match = _home.ISSUE.fullmatch(job)
    if match is None:
        raise _home.UnlistedNameError("card", job)
    owner, _, repository = match["repository"].partition("/")
    return {"owner": owner, "repository": repository, "number": match["number"]}


def _example(name: str, part: Operation) -> str:
    """Return the operation's example as a command."""
    given = dict(part.EXAMPLE)
    is_job = issubclass(part.Input, JobName)
    job = "{owner}/{repository}#{number}".format(**{it: given.pop(it) for it in JOB}) if is_job else ""
    required = {field for field, it in part.Input.model_fields.items() if it.is_required()}
    places = [given.pop(field) for field in part.Input.model_fields if field in required & given.keys()]
    options = (f"--{field} {shlex.quote(str(value))}" for field, value in given.items())
    words = [shlex.quote(str(value)) for value in (*places, *([job] if job else []))]
    return " ".join(("cardinal job", name, *words, *options))


def _params(part: Operation) -> Iterator[click.Parameter]:
    is_job = issubclass(part.Input, JobName)
    fields = {name: it for name, it in part.Input.model_fields.items() if not (is_job and name in JOB)}
    for name, field in fields.items():
        if field.is_required():
            yield click.Argument([name])
    if is_job:
        yield click.Argument(["job"])
    for name, field in fields.items():
        if not field.is_required():
            yield _option(name, field)
    if part.stream is not None:
        yield click.Option(["--wait"], type=click.IntRange(1, MAX_WAIT_S), help=WAIT)
    if part.SCOPE is not Scope.READ:
        yield click.Option(["--key"], default="", help="The same command with this key acts once a day.")


def _option(name: str, field: FieldInfo) -> click.Option:
    kind = click.INT if field.annotation is int else click.STRING
    is_list = str(field.annotation).startswith("list")
    return click.Option([f"--{name}"], type=kind, multiple=is_list, help=field.description)


def _print(document: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    for name, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            heads = [head for head, cell in value[0].items() if not isinstance(cell, list | dict)]
            for row in table(heads, [[it[head] for head in heads] for it in value], empty=""):
                click.echo(row)
        elif value not in (None, "", [], {}) and (name, value) != ("number", 0):
            click.echo(f"{name}: {line(value if isinstance(value, str) else json.dumps(value))}")
    if document.get("request") and not document["number"] and not document["problem"]:
        key = line(str(document["request"]))
        click.echo(f"its card is made soon: `cardinal job get-request {key}` has its number then")
