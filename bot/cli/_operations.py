"""Operations of the API as commands: arguments and options from their input, output as lines or JSON."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from bot.cli import CliError, _api, _bulk, _following
from bot.cli._bulk import JobPlace
from bot.cli._following import NOT_DONE, NotDoneError
from bot.cli._names import ISSUE, UnlistedNameError
from bot.cli._show import answer_lines, clean, json_option
from bot.web.api.sending import ApiProblemError, call_once, operations

SHORT: Mapping[str, str] = {
    "create_job": "create",
    "get_job": "show",
    "get_stats": "stats",
    "give_command": "command",
    "list_events": "events",
    "list_inbox": "inbox",
    "list_jobs": "list",
}
MAX_WAIT_S = 7 * 24 * 3600
WAIT = "Follow new events for up to this many seconds. For a run, until it ends: the exit code is its result."
JOB = ("owner", "repository", "number")
READ = "read"  # the scope of operations that change nothing
Operation = Mapping[str, Any]
NOT_YET = "would be done"


def operations_by_name() -> dict[str, str]:
    """Return the operation of each command."""
    return {SHORT.get(name, name.replace("_", "-")): name for name in operations()}


def command_of(name: str, operation: str) -> click.Command:
    """Return the command for an operation."""
    part = operations()[operation]

    help_text = f"{part['about']}\n\n\b\nExample:\n  {_example(name, part)}"

    @click.command(name, help=help_text, params=list(_params(part)))
    @json_option
    def command(
        as_json: bool,
        key: str = "",
        job: str | None = "",
        wait: int | None = None,
        filter: Sequence[str] = (),
        dry_run: bool = False,
        most: int = _bulk.MOST,
        **given: Any,
    ) -> None:
        fields = {field: value for field, value in given.items() if value not in (None, ())}
        fields = {field: list(it) if isinstance(it, tuple) else it for field, it in fields.items()}
        if (job is None) == (not filter):
            raise click.UsageError("Give exactly one of JOB, `-` and --filter.")
        try:
            if filter or job == "-" or dry_run:
                of_many = bool(filter) or job == "-"
                jobs = _bulk.job_names(_call, filter, most) if of_many else [JobPlace(str(job))]
                _many(operation, fields, key, jobs, dry_run, as_json)
                return
            if wait:
                _following.follow(operation, fields, wait, as_json=as_json)
                return
            document = _call(operation, {**fields, **(_place(JobPlace(job)) if job else {})}, key)
        except ApiProblemError as error:
            fault: type[CliError] = NotDoneError if error.status in NOT_DONE else CliError
            raise fault(clean(str(error))) from error
        _print(document, part["columns"], as_json=as_json)

    return command


def _many(
    operation: str,
    fields: Mapping[str, Any],
    key: str,
    jobs: Sequence[JobPlace],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Do it for each job, or only name them. The worst fault is the exit code."""
    _api.api_address()  # without it, each would fail the same
    if not jobs:
        click.echo("no jobs match, so nothing was done", err=True)

    def do(job: JobPlace, own: str) -> dict[str, Any]:
        given = {**fields, **_place(job)}
        if not dry_run:
            return _call(operation, given, own)
        from bot.web.api.operation import OPERATIONS, checked  # as the server would check it

        checked(OPERATIONS.load(operation).Input, given)
        return {"answer": NOT_YET}

    worst = _bulk.each(jobs, key, do, as_json=as_json)
    if worst:
        click.get_current_context().exit(worst)


def _call(operation: str, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    url, token = _api.api_address()
    return call_once(url, token, operation, fields, key)


def _place(place: JobPlace) -> dict[str, str]:
    match = ISSUE.fullmatch(place.job)
    if match is None:
        raise UnlistedNameError("card", place.job)
    owner, _, repository = match["repository"].partition("/")
    board = {"board": place.board} if place.board else {}
    return {"owner": owner, "repository": repository, "number": match["number"], **board}


def _is_job(part: Operation) -> bool:
    """Tell whether the operation is about one job."""
    return set(JOB) <= set(part["required"])


def _example(name: str, part: Operation) -> str:
    """Return the operation's example as a command."""
    given = dict(part["example"])
    job = "{owner}/{repository}#{number}".format(**{it: given.pop(it) for it in JOB}) if _is_job(part) else ""
    places = [given.pop(field) for field in part["fields"] if field in part["required"] and field in given]
    options = (f"--{field} {shlex.quote(str(value))}" for field, value in given.items())
    words = [shlex.quote(str(value)) for value in (*places, *([job] if job else []))]
    return " ".join(("cardinal job", name, *words, *options))


def _params(part: Operation) -> Iterator[click.Parameter]:
    is_job = _is_job(part)
    fields = {name: it for name, it in part["fields"].items() if not (is_job and name in JOB)}
    for name in fields:
        if name in part["required"]:
            yield click.Argument([name])
    if is_job:
        yield click.Argument(["job"], required=False)
    for name, schema in fields.items():
        if name not in part["required"]:
            yield _option(name, schema)
    if is_job:
        yield from _bulk.OPTIONS
    if part["streams"]:
        yield click.Option(["--wait"], type=click.IntRange(1, MAX_WAIT_S), help=WAIT)
    if part["scope"] != READ:
        yield click.Option(
            ["--key"],
            default="",
            help="Repeating a command with the same key within a day has no further effect.",
        )


def _option(name: str, schema: Mapping[str, Any]) -> click.Option:
    kind, about = schema.get("type", ""), schema.get("description")
    if kind == "boolean":
        return click.Option([f"--{name}"], is_flag=True, default=None, help=about)
    of = click.INT if kind == "integer" else click.STRING
    return click.Option([f"--{name}"], type=of, multiple=kind == "array", help=about)


def _print(document: Mapping[str, Any], columns: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=2))
        return
    if not any(document.values()):
        click.echo("nothing matches", err=True)
    for line in answer_lines(document, columns):
        click.echo(line)
    if document.get("request") and not document["number"] and not document["problem"]:
        key = clean(str(document["request"]))
        click.echo(f"the card will be created shortly: `cardinal job get-request {key}` will show its number")
