"""Operations of the API as commands, for one job and for many; events as they come.

Arguments and options are those of the operation's input, the output is lines or JSON.
"""

import hashlib
import json
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Any, NamedTuple

import click

from bot.cli import CliError
from bot.cli._metadata import parse_pairs
from bot.cli._names import ISSUE, UnlistedNameError
from bot.cli._show import answer_lines, clean, json_option, text_block
from bot.system.env_file import PREFIX, read_settings
from bot.web.api.sending import BUSY, ApiProblemError, call_once, operations
from ledger.errors import CardinalError
from ledger.states import Ending
from rules.text import alternatives

NOT_DONE = frozenset({403, 404, 409, 410, 415})  # of the API: it is refused, or not there
FILTERS = ("board", "column", "state", "repository", "person", "label", "agent", "search")
MOST, MAX_MOST = 100, 1000  # jobs at once
WAITS, WAIT_S = 6, 15.0  # for one job, where the API is busy or takes no more commands this minute
Call = Callable[[str, Mapping[str, Any], str], dict[str, Any]]
OPTIONS = (
    click.Option(
        ["--filter"],
        multiple=True,
        metavar="NAME=VALUE",
        help=f"Instead of JOB: all jobs that match, by {alternatives(FILTERS)}. Repeat it to narrow further.",
    ),
    click.Option(["--dry-run"], is_flag=True, help="Only list the jobs that would be affected."),
    click.Option(
        ["--most"],
        type=click.IntRange(1, MAX_MOST),
        default=MOST,
        show_default=True,
        help="Do nothing if more jobs than this match.",
    ),
)
SHORT: Mapping[str, str] = {
    "create_job": "create",
    "claim_job": "claim",
    "get_job": "show",
    "get_stats": "stats",
    "give_command": "command",
    "hand_in_run": "hand-in",
    "heartbeat_run": "heartbeat",
    "list_events": "events",
    "list_inbox": "inbox",
    "list_jobs": "list",
}
MAX_WAIT_S = 7 * 24 * 3600
WAIT = "Follow new events for up to this many seconds. For a run, until it ends: the exit code is its result."
JOB = ("owner", "repository", "number")
BOARD = ("owner", "number")  # that the only one may leave out
READ = "read"  # the scope of operations that change nothing
Operation = Mapping[str, Any]
NOT_YET = "would be done"
HANDS_OVER, METADATA = "complete", "metadata"  # a command, and the field of it beside its text


def api_address() -> tuple[str, str]:
    """Return the address and the token, without reading any other setting. Raises CliError."""
    settings = read_settings(os.environ, Path.cwd())
    if settings.mistakes:
        raise CliError("; ".join(settings.mistakes))
    url, public_url, token = (
        settings.texts.get(PREFIX + name, "") for name in ("URL", "PUBLIC_URL", "TOKEN")
    )
    url = url or public_url
    wanted = (
        (url, "CARDINAL_URL to the address of a Cardinal"),
        (
            token,
            f"CARDINAL_TOKEN to a token: sign in at {url or 'that address'} and create one on /tokens",
        ),
    )
    missing = [what for text, what in wanted if not text]
    if missing:
        raise CliError(f"set {', and '.join(missing)}")
    if not url.startswith(("http://", "https://")):
        raise CliError("CARDINAL_URL begins with http:// or https://: set it to the address of a Cardinal")
    return url.rstrip("/"), token


class NotDoneError(CliError):
    """The API did not do it, or the run did not succeed: exit code 1."""

    exit_code = 1


def follow(operation: str, fields: Mapping[str, Any], wait_s: int, *, as_json: bool) -> None:
    """Print each event. Raises ApiProblemError, ApiUnreachableError, CliError."""
    from bot.web.api.following import follow_once  # streams take more than a call

    url, token = api_address()
    is_over = follow_once(url, token, operation, fields, printer(as_json), wait_s=wait_s)
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


class JobPlace(NamedTuple):
    """A job by its issue, and by its board where that is known."""

    job: str
    board: str = ""


def job_names(call: Call, filters: Sequence[str], most: int) -> list[JobPlace]:
    """Return the jobs of the filters, or of standard input. Raises CliError where there are more."""
    rows = (row.split(maxsplit=1) for row in sys.stdin)
    job_places = _filter(call, filters) if filters else (JobPlace(*row) for row in rows if row)
    listed = list(islice(_once(job_places), most + 1))
    if len(listed) > most:
        raise CliError(f"more than {most} jobs match, so nothing was done: narrow it down, or raise --most")
    return listed


def _once(given: Iterable[JobPlace]) -> Iterator[JobPlace]:
    job_places = set[JobPlace]()
    for job in given:
        if job not in job_places:
            job_places.add(job)
            yield job


def _filter(call: Call, filters: Sequence[str]) -> Iterator[JobPlace]:
    page_size = operations()["list_jobs"]["fields"]["limit"]["maximum"]
    fields: dict[str, Any] = {"limit": page_size}
    for given in filters:
        name, _, value = given.partition("=")
        if name not in FILTERS or not value or name in fields:
            raise CliError(
                f"--filter {clean(given)}: write NAME=VALUE, each NAME once: {alternatives(FILTERS)}"
            )
        fields[name] = value
    for _ in range(MAX_MOST // page_size + 1):
        page = call("list_jobs", fields, "")
        for it in page["jobs"]:
            if it["number"]:
                yield JobPlace(f"{it['repository']}#{it['number']}", it["board"])
        if not page["next"]:
            return
        fields["after"] = page["next"]
    raise CliError("too many cards match, including drafts, so nothing was done: narrow the filter")


def each(
    jobs: Sequence[JobPlace], key: str, do: Callable[[JobPlace, str], dict[str, Any]], *, as_json: bool
) -> int:
    """Do it for each job, with a key of its own; return the worst exit code. A fault stops no other job."""
    worst, key = 0, key or secrets.token_hex(16)  # a second try may follow an answer of 503 to an act
    for job in jobs:
        own = hashlib.sha256(f"{key} {' '.join(job)}".encode()).hexdigest()
        document, fault = dict[str, Any](), ""
        try:
            document = _patiently(lambda: do(job, own))  # noqa: B023 -- it is called at once
            _require_done(document)
        except NotDoneError as error:
            fault, worst = error.message, max(worst, 1)
        except CardinalError as error:
            fault = clean(str(error))
            refused = isinstance(error, ApiProblemError) and error.status in NOT_DONE
            worst = max(worst, 1 if refused else 2)
        _report(job, document, fault, as_json=as_json)
    return worst


def _patiently(do: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do it, and again while the API has no room for it; with its key it is done once."""
    for _ in range(WAITS):
        try:
            return do()
        except ApiProblemError as error:
            if error.status not in BUSY:
                raise
        sleep(WAIT_S)
    return do()


def _require_done(document: Mapping[str, Any]) -> None:
    """Raise NotDoneError where a command changed nothing."""
    if document.get("done") is False:
        raise NotDoneError(clean(str(document["answer"])))


def _report(place: JobPlace, document: Mapping[str, Any], fault: str, *, as_json: bool) -> None:
    """Print the line of one job."""
    if as_json:
        click.echo(json.dumps({**place._asdict(), "fault": fault, "output": document or None}))
    else:
        click.echo(
            f"{clean(place.job)}: {fault or clean(str(document.get('answer', 'done')))}", err=bool(fault)
        )


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
        most: int = MOST,
        **given: Any,
    ) -> None:
        fields = {field: value for field, value in given.items() if value not in (None, ())}
        of = part["fields"]
        fields = {
            field: (parse_pairs(it) if of[field].get("type") == "object" else list(it))
            if isinstance(it, tuple)
            else it
            for field, it in fields.items()
        }
        if (job is None) == (not filter):
            raise click.UsageError("Give exactly one of JOB, `-` and --filter.")
        if _is_board(part) and len(fields.keys() & set(BOARD)) == 1:
            raise click.UsageError("Give OWNER and NUMBER, or neither where there is one board.")
        try:
            if _is_board(part) and not fields.keys() & set(BOARD):
                fields |= _only_board()
            if filter or job == "-" or dry_run:
                of_many = bool(filter) or job == "-"
                jobs = job_names(_call, filter, most) if of_many else [JobPlace(str(job))]
                _many(operation, fields, key, jobs, dry_run, as_json=as_json)
                return
            if wait:
                follow(operation, fields, wait, as_json=as_json)
                return
            document = _call(operation, {**fields, **(_place(JobPlace(job)) if job else {})}, key)
        except ApiProblemError as error:
            fault: type[CliError] = NotDoneError if error.status in NOT_DONE else CliError
            raise fault(clean(str(error))) from error
        if as_json or document.get("done") is not False:
            _print(document, part["columns"], as_json=as_json)
        _require_done(document)

    return command


def _many(
    operation: str,
    fields: Mapping[str, Any],
    key: str,
    jobs: Sequence[JobPlace],
    dry_run: bool,
    *,
    as_json: bool,
) -> None:
    """Do it for each job, or only name them. The worst fault is the exit code."""
    api_address()  # without it, each would fail the same
    if len(jobs) > 1 and fields.get("command") == HANDS_OVER and fields.keys() & {"text", METADATA}:
        raise CliError(
            f"`{HANDS_OVER}` with a text or metadata is for one card, whose hand-over it is, and"
            f" {len(jobs)} match: give it for each of them, or leave both out"
        )
    if not jobs:
        click.echo("no jobs match, so nothing was done", err=True)

    def do(job: JobPlace, own: str) -> dict[str, Any]:
        given = {**fields, **_place(job)}
        if not dry_run:
            return _call(operation, given, own)
        from bot.web.api.operation import OPERATIONS, check_fields  # as the server would check it

        check_fields(OPERATIONS.load(operation).Input, given)
        return {"answer": NOT_YET}

    worst = each(jobs, key, do, as_json=as_json)
    if worst:
        click.get_current_context().exit(worst)


def _call(operation: str, fields: Mapping[str, Any], key: str) -> dict[str, Any]:
    url, token = api_address()
    return call_once(url, token, operation, fields, key)


def _only_board() -> dict[str, str]:
    """Return the place of the only board in sight. Raises CliError where there is none, or a choice."""
    boards = [str(it["board"]) for it in _call("list_boards", {}, "")["boards"]]
    if len(boards) != 1:
        listed = f"name one as OWNER NUMBER: {alternatives(map(clean, boards))}" if boards else "none is here"
        raise CliError(f"there is not one board to take: {listed}")
    owner, _, number = boards[0].partition("/")
    return {"owner": owner, "number": number}


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


def _is_board(part: Operation) -> bool:
    """Tell whether the operation is about one board."""
    return set(BOARD) == set(part["required"])


def _example(name: str, part: Operation) -> str:
    """Return the operation's example as a command."""
    given = dict(part["example"])
    job = "{owner}/{repository}#{number}".format(**{it: given.pop(it) for it in JOB}) if _is_job(part) else ""
    places = [given.pop(field) for field in part["fields"] if field in part["required"] and field in given]
    options = (f"{_flag(field)} {shlex.quote(str(value))}" for field, value in given.items())
    args = [shlex.quote(str(value)) for value in (*places, *([job] if job else []))]
    return " ".join(("cardinal job", name, *args, *options))


def _params(part: Operation) -> Iterator[click.Parameter]:
    is_job = _is_job(part)
    fields = {name: it for name, it in part["fields"].items() if not (is_job and name in JOB)}
    for name in fields:
        if name in part["required"]:
            yield click.Argument([name], required=not _is_board(part))
    if is_job:
        yield click.Argument(["job"], required=False)
    for name, schema in fields.items():
        if name not in part["required"]:
            yield _option(name, schema)
    if is_job:
        yield from OPTIONS
    if part["streams"]:
        yield click.Option(["--wait"], type=click.IntRange(1, MAX_WAIT_S), help=WAIT)
    if part["scope"] != READ:
        yield click.Option(
            ["--key"],
            default="",
            help="Repeating a command with the same key within a day has no further effect.",
        )


def _flag(field: str) -> str:
    """Return the field's option, with dashes as on any command line."""
    return f"--{field.replace('_', '-')}"


def _option(name: str, schema: Mapping[str, Any]) -> click.Option:
    kind, about = schema.get("type", ""), schema.get("description")
    if kind == "boolean":
        return click.Option([_flag(name)], is_flag=True, default=None, help=about)
    if kind == "object":
        return click.Option([_flag(name)], multiple=True, metavar="NAME=VALUE", help=about)
    of = click.INT if kind == "integer" else click.STRING
    return click.Option([_flag(name)], type=of, multiple=kind == "array", help=about)


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
