"""One operation on many jobs: from standard input or a filter, a line for each, within a cap."""

import hashlib
import json
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from time import sleep
from typing import Any, NamedTuple

import click

from bot.cli import CliError
from bot.cli._following import NOT_DONE
from bot.cli._show import clean
from bot.web.api.sending import BUSY, ApiProblemError, operations
from ledger.errors import CardinalError
from rules.text import alternatives

FILTERS = ("board", "column", "state", "repository", "person", "label", "search")
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


class JobPlace(NamedTuple):
    """A job by its issue, and by its board where that is known."""

    job: str
    board: str = ""


def job_names(call: Call, filters: Sequence[str], most: int) -> list[JobPlace]:
    """Return the jobs of the filters, or of standard input. Raises CliError where there are more."""
    rows = (row.split(maxsplit=1) for row in sys.stdin)
    given = _filtered(call, filters) if filters else (JobPlace(*row) for row in rows if row)
    listed = list(islice(_once(given), most + 1))
    if len(listed) > most:
        raise CliError(f"more than {most} jobs match, so nothing was done: narrow it down, or raise --most")
    return listed


def _once(given: Iterable[JobPlace]) -> Iterator[JobPlace]:
    known = set[JobPlace]()
    for job in given:
        if job not in known:
            known.add(job)
            yield job


def _filtered(call: Call, filters: Sequence[str]) -> Iterator[JobPlace]:
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


def _report(place: JobPlace, document: Mapping[str, Any], fault: str, *, as_json: bool) -> None:
    """Print the line of one job."""
    if as_json:
        click.echo(json.dumps({**place._asdict(), "fault": fault, "output": document or None}))
    else:
        click.echo(
            f"{clean(place.job)}: {fault or clean(str(document.get('answer', 'done')))}", err=bool(fault)
        )
