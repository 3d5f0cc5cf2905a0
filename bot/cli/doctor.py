"""`cardinal doctor`: what is wrong here, and what to do about it."""

from datetime import UTC, datetime

import click

from bot.checkup import Level, Patient, examine
from bot.cli import _desk
from bot.cli._show import json_option, line, show
from bot.github.hub import Hub


def _now() -> datetime:
    return datetime.now(UTC)


@click.command("doctor")
@json_option
def command(as_json: bool) -> None:
    """Check settings, ledger, Redis, GitHub, board and policy. Exit code 1 when something fails."""
    config = _desk.settings()
    try:
        engine = _desk.open_engine(config)
    except _desk.NoLedgerError:
        engine = None
    findings = list(examine(Patient(config, engine, Hub(config, _now), _now())))
    if engine is not None:
        engine.dispose()
    lines = [
        f"{one.level:<5} {one.name:<14} {line(one.found)}" + (f" → {one.next_step}" if one.next_step else "")
        for one in findings
    ]
    show(findings, as_json=as_json, text=lambda: lines)
    raise SystemExit(1 if any(one.level is Level.FAIL for one in findings) else 0)
