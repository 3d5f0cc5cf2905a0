"""`cardinal doctor`: faults of this installation, each with the next step."""

import os
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
from sqlalchemy import Engine, make_url
from sqlalchemy.exc import DBAPIError

from bot.admin import support_bundle
from bot.admin.doctor import CheckResult, DoctorContext, examine, mend
from bot.admin.examination import Examiner, keep_results
from bot.cli import _home
from bot.cli._show import clean, json_option, screen, show
from bot.github.client import Hub
from bot.system import program
from bot.system.clock import utc_now
from bot.system.config import Config, ConfigError
from bot.system.host_name import host_name
from ledger.db.tables import ExaminationSubject
from ledger.errors import CardinalError, LedgerError, OlderLedgerError
from ledger.queue.examinations import Level
from rules.text import sentence

CORRECT = "correct it in the home's env file, or in the environment"


class BundleError(CardinalError):
    """The archive could not be written."""

    def __init__(self, path: Path, because: str) -> None:
        self.path = path
        super().__init__(
            f"cannot write the archive to {path}: {because}; name a file in a folder you may write to"
        )


@click.command("doctor")
@click.option(
    "--fix",
    is_flag=True,
    help="Make safe repairs: fields, column descriptions, lost deliveries, repositories with a new name.",
)
@click.option(
    "--bundle",
    "archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write results, settings and logs, without secrets, into this .tar.gz.",
)
@json_option
def command(fix: bool, archive: Path | None, as_json: bool) -> None:
    """Check settings, ledger, machine, GitHub, board and policy. Exit code 1 when something fails.

    \b
    Examples:
      cardinal doctor
      cardinal doctor --bundle help.tar.gz
    """
    try:
        config = _home.settings()
    except ConfigError as error:  # nothing else can be looked at without them
        wrong = [CheckResult("settings", Level.FAIL, problem, CORRECT) for problem in error.problems]
        show([result.document() for result in wrong], as_json=as_json, text=lambda: _lines(wrong, ()))
        raise SystemExit(1) from None
    engine, trouble = _ledger(config)
    context = DoctorContext(config, engine, Hub(config, utc_now), utc_now(), trouble)
    try:
        results = list(examine(context))
        mended = list(mend(context, results)) if fix else []
        show([result.document() for result in results], as_json=as_json, text=lambda: _lines(results, mended))
        if engine is not None:
            _keep(config, engine, results)
        if archive is not None:
            _pack(archive, context, results)
    finally:
        if engine is not None:
            engine.dispose()
    raise SystemExit(1 if any(result.level is Level.FAIL for result in results) else 0)


def _keep(config: Config, engine: Engine, results: Sequence[CheckResult]) -> None:
    """Keep the results for the page Health; where the ledger takes none, that is said."""
    try:
        for subject in ExaminationSubject:
            keep_results(engine, host_name(config), subject, Examiner.DOCTOR, results)
    except (DBAPIError, OSError) as error:
        click.echo(f"the results could not be saved for the Health page: {clean(str(error))}", err=True)


def _ledger(config: Config) -> tuple[Engine | None, tuple[str, str] | None]:
    """Return the ledger, or the trouble with it and the next step."""
    try:
        return _home.open_engine(config), None
    except _home.NoLedgerError:
        return None, None
    except OlderLedgerError as error:
        return None, (str(error), f"start `{program.of_home(config.home)}`")
    except LedgerError as error:
        return None, (str(error), "do as the message says")
    except DBAPIError as error:
        because = f"it cannot be opened: {' '.join(str(error.orig).split())[:300]}"
        if make_url(config.database_url).get_backend_name() == "sqlite":
            if not os.access(config.home, os.W_OK):
                return None, (because, "give this user write access to the home")
            return None, (
                because,
                "run `cardinal restore FILE` with a back-up; the current ledger is set aside",
            )
        return None, (because, "start that database, or correct CARDINAL_DATABASE_URL")


def _pack(archive: Path, context: DoctorContext, results: Sequence[CheckResult]) -> None:
    try:
        size = support_bundle.write(archive, context, results)
    except OSError as error:
        raise BundleError(archive, error.strerror or str(error)) from error
    click.echo(f"{archive}: {size} bytes; review it before you send it", err=True)


def _lines(results: Sequence[CheckResult], mended: Sequence[str]) -> Iterable[str]:
    """Yield a line for each result, in a terminal below its heads; a step that several have is said once."""
    width = screen().width
    for position, result in enumerate(results):
        steps_next = {following.next_step for following in results[position + 1 : position + 2]}
        is_told = result.next_step and result.next_step not in steps_next
        step = f" → {sentence(result.next_step)}" if is_told else ""
        head = f"{result.level:<5} {result.name:<14} "
        text = f"{sentence(clean(result.message))}{step}"
        yield from textwrap.wrap(
            text, width, initial_indent=head, subsequent_indent=" " * len(head), break_long_words=False
        )
    yield from (f"fixed {clean(repaired)}" for repaired in mended)
