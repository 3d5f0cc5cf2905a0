"""`cardinal rehearse`: whether this GitHub does as Cardinal believes, in a repository made for it."""

import json
import os
import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from sqlalchemy import Engine

from bot.admin.rehearsal import play
from bot.admin.rehearsal.belief import Comparison
from bot.admin.rehearsal.counting import CountingHub
from bot.admin.rehearsal.mail import ListedDelivery
from bot.admin.rehearsal.remains import remove_remains
from bot.admin.rehearsal.report import line_of
from bot.admin.rehearsal.stage import Nobody, Participant, PersonAct, RehearsalStage
from bot.admin.rehearsal.watch import Watch
from bot.cli import CliError, _home
from bot.cli._show import clean, json_option, show
from bot.system import lock_file
from bot.system.clock import utc_now
from bot.system.config import Config
from bot.web.capture import SHOWN_HEADERS, redact_payload


class _AtTerminal:
    """The person at this terminal."""

    def does(self, act: PersonAct, number: int, column: str = "") -> bool:
        """Print the act, and return the answer."""
        click.echo(f"Please {act.format(number=number, column=clean(column))}.", err=True)
        return click.confirm("Done?", default=True, err=True)


@click.command("rehearse")
@click.option(
    "--repository", required=True, metavar="OWNER/NAME", help="A repository created for this purpose."
)
@click.option("--clean", "cleans", is_flag=True, help="Only remove what a killed rehearsal left over.")
@click.option("--yes", is_flag=True, help="Also accept a repository with many commits.")
@click.option("--no-person", is_flag=True, help="Skip everything a person must do.")
@click.option(
    "--report",
    "report_file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the report to this file, without names and texts.",
)
@click.option(
    "--samples",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write the received deliveries to this folder, without names and texts.",
)
@click.option(
    "--patience",
    default=60,
    show_default=True,
    type=click.IntRange(1, 600),
    help="Seconds to wait for GitHub.",
)
@json_option
def command(
    repository: str,
    cleans: bool,
    yes: bool,
    no_person: bool,
    report_file: Path | None,
    samples: Path | None,
    patience: int,
    as_json: bool,
) -> None:
    """Check that your GitHub behaves as Cardinal expects.

    It works in that repository and on cards of its own on the board. It leaves about ten closed issues
    there. Exit code 1 if GitHub behaves differently.

    \b
    Examples:
      cardinal rehearse --repository acme/throw-away --report rehearsal.json
      cardinal rehearse --repository acme/throw-away --clean
    """
    config = _home.settings()
    config.require_installation()
    engine = _engine(config)
    try:
        stage = _stage(config, engine, repository, patience, with_person=not no_person and sys.stdin.isatty())
        if cleans:
            removed = remove_remains(stage)
            show(
                removed, as_json=as_json, text=lambda: [f"{count} {kind}" for kind, count in removed.items()]
            )
            raise SystemExit(1 if removed.get("left") else 0)
        stage.repository = play.require_free(stage.hub, repository, yes=yes)

        def print_finding(finding: Comparison) -> None:
            click.echo(f"{finding.verdict:<18} {clean(line_of(finding))}", err=as_json)

        report = play.rehearse(stage, print_finding)
    finally:
        if engine is not None:
            engine.dispose()
    show(report.document(), as_json=as_json, text=report.summary)
    if report_file is not None:
        report_file.write_text(json.dumps(report.document(), indent=1) + os.linesep, encoding="utf-8")
    if samples is not None:
        write_samples(samples, report.deliveries)
    raise SystemExit(1 if report.otherwise or report.removed.get("left") else 0)


def _engine(config: Config) -> Engine | None:
    """Return this home's ledger; None before Cardinal ran here."""
    try:
        return _home.open_engine(config)
    except _home.NoLedgerError:
        return None


def _stage(
    config: Config, engine: Engine | None, repository: str, patience_s: int, *, with_person: bool
) -> RehearsalStage:
    if repository.partition("/")[0].casefold() != config.board.owner.casefold():
        raise CliError(f"name a repository owned by {config.board.owner}, as the board is")
    hub = CountingHub(config, utc_now, owner=config.board.owner)
    hub.begin()
    is_up = lock_file.read_presence(config.home) is not None
    watch = Watch(engine, *config.board, is_up) if engine is not None else None
    person: Participant = _AtTerminal() if with_person else Nobody()
    return RehearsalStage(
        hub=hub,
        address=config.board,
        repository=repository,
        watch=watch,
        person=person,
        patience_s=float(patience_s),
    )


def write_samples(folder: Path, deliveries: Sequence[ListedDelivery]) -> None:
    """Write one file for each kind of delivery, of the first that came."""
    folder.mkdir(parents=True, exist_ok=True)
    salt, done = secrets.token_hex(16), set[str]()
    for delivery in deliveries:
        name = f"{delivery.event}-{delivery.action}.json"
        if name in done:
            continue
        done.add(name)
        headers = {key.lower(): str(text) for key, text in delivery.headers.items()}
        document = {
            "event": delivery.event,
            "action": delivery.action,
            "headers": {key: text for key, text in headers.items() if key in SHOWN_HEADERS},
            "payload": redact_payload(delivery.payload, salt),
        }
        (folder / name).write_text(json.dumps(document, indent=1), encoding="utf-8")
