"""`cardinal artifacts`: files that a run left for people."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from bot.cli import _home
from bot.cli._show import answer_rows, json_option, show, text_block
from bot.web.api.jobs import RunName
from bot.web.api.operations import list_artifacts
from bot.web.api.operations.list_artifacts import Artifact
from ledger.errors import CardinalError
from ledger.lifecycle.private_files import write_file
from ledger.log import event_store

SHORTEST = 6


class NoArtifactError(CardinalError):
    """The run has no such file, or it is not in the store any more."""

    def __init__(self, run: str, digest: str, because: str) -> None:
        self.run, self.digest = run, digest
        super().__init__(f"{run} has no artifact {digest[:80]}: {because}")


READS = True


@click.command("artifacts")
@click.argument("run", metavar="RUN")
@click.option("--get", "digest", metavar="DIGEST", help="Print one file, given the start of its digest.")
@click.option(
    "--to", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write the file here instead."
)
@json_option
def command(run: str, digest: str | None, target: Path | None, as_json: bool) -> None:
    """List the files of a run.

    These are the logs of its checks, the patch of its branch, its report and its briefing.

    \b
    Examples:
      cardinal artifacts r12
      cardinal artifacts r12 --get 3fa9c1 --to log.txt
    """
    with _home.open_request() as request:
        with event_store.reading(request.site.engine) as db:
            run_name = RunName(run=_home.find_run(db, run).run_id)
        artifact_list = list_artifacts.run(request, run_name)
    if digest is None:
        answer = artifact_list.model_dump(mode="json")
        rows = answer_rows(answer["artifacts"], list_artifacts.COLUMNS, empty=f"{run} has no files")
        show(answer, as_json=as_json, text=lambda: rows)
        return
    raw = _content(run, digest, artifact_list.artifacts)
    if target is not None:
        write_file(target, raw)
    elif sys.stdout.isatty():  # a program wrote it: it may steer a terminal
        click.echo("\n".join(text_block(raw.decode("utf-8", "replace"))))
    else:
        sys.stdout.buffer.write(raw)


def _content(run: str, digest: str, files: Sequence[Artifact]) -> bytes:
    if len(digest) < SHORTEST:
        raise NoArtifactError(run, digest, f"give at least {SHORTEST} letters of the digest")
    named = {row.digest: row for row in files if row.digest.startswith(digest)}
    if len(named) != 1:
        because = "it matches more than one file" if named else f"`cardinal artifacts {run}` lists its files"
        raise NoArtifactError(run, digest, because)
    (row,) = named.values()
    if row.dropped:
        raise NoArtifactError(run, digest, row.gone)
    raw = _home.read_blob(row.digest)
    if raw is None:
        raise NoArtifactError(run, digest, "the file is missing from the store, or damaged on its disk")
    return raw
