"""`cardinal audit`: verification of the event log, and the trail of one run."""

import json
from pathlib import Path

import click

from bot.admin.audit import markdown as text
from bot.admin.audit import published_heads
from bot.admin.audit import trail as audit_trail
from bot.admin.audit import verify as audit_proof
from bot.admin.support_bundle import secrets_of
from bot.cli import _home
from bot.cli._described import CommandGroup
from bot.cli._show import json_option, show
from bot.github.client import Hub
from bot.github.errors import GithubError
from bot.system.clock import utc_now
from bot.system.config import ConfigError
from ledger.errors import BrokenChainError
from ledger.lifecycle.private_files import write_file
from ledger.log import hash_chain


@click.group("audit", cls=CommandGroup)
def command() -> None:
    """Work with the event log."""


@command.command("verify")
@click.option(
    "--file",
    "file",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Check an exported trail against the log instead.",
)
@json_option
def verify(file: Path | None, as_json: bool) -> None:
    """Check the whole event log.

    Every event's digest is compared with the one before it, and with the log heads that Cardinal's checks
    recorded on GitHub. Exit code 1 if the chain is broken, if GitHub has a different head, or if an exported
    trail differs from the log.

    \b
    Examples:
      cardinal audit verify
      cardinal audit verify --file r12.json
    """
    try:
        if file is not None:
            _verify_file(file, as_json=as_json)
            return
        with _home.open_for_reading() as db:
            report = hash_chain.verify_chain(db)
        compared, why_not = _compare()
    except BrokenChainError as error:
        broken = {"whole": False, "broken_at": error.seq}
        show(broken, as_json=as_json, text=lambda error=error: (str(error),))  # type: ignore[misc]
        raise SystemExit(1) from error
    differs, heads = (compared.differs, compared.heads) if compared else ((), None)
    result = {"whole": not differs, "events": report.events, "head": report.head, "github": heads}
    result |= {"differs": differs, "not_compared": why_not}
    whole = f"{report.events} events, {'other than on GitHub' if differs else 'whole'}, head {report.head}"
    last = why_not or f"compared with {heads} heads on GitHub"
    show(result, as_json=as_json, text=lambda: (whole, *differs, last))
    if differs:
        raise SystemExit(1)


def _compare() -> tuple[published_heads.Compared | None, str]:
    """Return the comparison with GitHub's copies of the log's head, or why there is none."""
    settings = _home.settings()
    try:
        settings.require_app()
        with _home.ledger_opened() as engine:
            return published_heads.compare(engine, Hub(settings, utc_now)), ""
    except ConfigError:
        return None, "not compared with GitHub: no App in the settings"
    except GithubError as error:
        return None, f"not compared with GitHub: {error}"


@command.command("export")
@click.argument("run", metavar="RUN")
@click.option("--format", "form", type=click.Choice(["json", "md"]), default="json", show_default=True)
@click.option(
    "--to", "target", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this file."
)
def export(run: str, form: str, target: Path | None) -> None:
    """Print the audit trail of a run.

    It has the request, the work, the decisions, and each event with its digest. Only JSON can be verified;
    Markdown is for reading.

    \b
    Examples:
      cardinal audit export r12 --to r12.json
      cardinal audit export r12 --format md
    """
    settings = _home.settings()
    with _home.open_for_reading() as db:
        known_run = _home.find_run(db, run)
        document = audit_trail.make_trail(db, known_run.run_id, at=utc_now(), secrets=secrets_of(settings))
    written = text.write(document) if form == "md" else json.dumps(document, indent=1) + "\n"
    if target is None:
        click.echo(written, nl=False)
        return
    write_file(target, written.encode())
    click.echo(f"{len(document['events'])} events of {known_run.run_id} are in {target}")


def _verify_file(file: Path, *, as_json: bool) -> None:
    trail = audit_proof.read(file)
    with _home.open_for_reading() as db:
        differs = audit_proof.differences(db, trail, secrets=secrets_of(_home.settings()))
    result = {"whole": not differs, "run": trail.run, "events": len(trail.events), "differs": differs}
    good = (f"{len(trail.events)} events of {trail.run}, as the log has them",)
    show(result, as_json=as_json, text=lambda: differs or good)
    if differs:
        raise SystemExit(1)
