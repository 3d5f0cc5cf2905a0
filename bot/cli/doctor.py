"""`cardinal doctor`: what is wrong here, and what to do about it."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from bot import bundle, mending
from bot.checkup import Finding, Level, Patient, examine
from bot.cli import _desk
from bot.cli._show import json_option, line, show
from bot.github.hub import Hub


def _now() -> datetime:
    return datetime.now(UTC)


@click.command("doctor")
@click.option(
    "--fix", is_flag=True, help="Repair what is safe: fields, column descriptions, lost deliveries."
)
@click.option(
    "--bundle",
    "archive",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write findings, settings and logs, without secrets, into this .tar.gz.",
)
@json_option
def command(fix: bool, archive: Path | None, as_json: bool) -> None:
    """Check settings, ledger, machine, GitHub, board and policy. Exit code 1 when something fails."""
    config = _desk.settings()
    try:
        engine = _desk.open_engine(config)
    except _desk.NoLedgerError:
        engine = None
    patient = Patient(config, engine, Hub(config, _now), _now())
    try:
        findings = list(examine(patient))
        mended = list(mending.mend(patient, findings)) if fix else []
        if archive is not None:
            size = bundle.write(archive, patient, findings)
            click.echo(f"{archive}: {size} bytes; look through it before you send it", err=True)
    finally:
        if engine is not None:
            engine.dispose()
    show(findings, as_json=as_json, text=lambda: _lines(findings, mended))
    raise SystemExit(1 if any(one.level is Level.FAIL for one in findings) else 0)


def _lines(findings: Sequence[Finding], mended: Sequence[str]) -> Iterable[str]:
    for one in findings:
        step = f" → {one.next_step}" if one.next_step else ""
        yield f"{one.level:<5} {one.name:<14} {line(one.found)}{step}"
    yield from (f"fixed {line(one)}" for one in mended)
