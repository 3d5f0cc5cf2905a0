"""Support bundle: results, settings without secrets, counts and logs; redacted and small."""

import io
import json
import platform
import tarfile
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from bot.admin.doctor import CheckResult, DoctorContext
from bot.system.config import Config
from bot.system.logs import scrub
from bot.system.secret import secrets_in
from ledger.lifecycle.private_files import write_file
from ledger.log import event_store
from ledger.queries.standstill import UNDONE_AFTER
from ledger.queue import inbox, outbox

MAX_LOG_BYTES = 256 * 1024  # of each log, from its end
MAX_LOGS = 20


def write(path: Path, context: DoctorContext, results: Iterable[CheckResult]) -> int:
    """Write the archive, readable by this user alone; return its size in bytes. An older one is replaced."""
    secrets = tuple(secrets_of(context.config))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in _texts(context, results):
            content = scrub(text, secrets).encode()
            entry = tarfile.TarInfo(f"cardinal-bundle/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o600, int(context.now.timestamp())
            archive.addfile(entry, io.BytesIO(content))
    write_file(path, packed.getvalue())
    return len(packed.getvalue())


def _texts(context: DoctorContext, results: Iterable[CheckResult]) -> Iterator[tuple[str, str]]:
    yield "findings.json", json.dumps([result.document() for result in results], indent=1)
    shown = {field.name: str(getattr(context.config, field.name)) for field in fields(context.config)}
    yield "settings.json", json.dumps(shown, indent=1)
    machine = {"python": platform.python_version(), "system": platform.platform(), "at": str(context.now)}
    yield "machine.json", json.dumps(machine, indent=1)
    if context.engine is not None:
        with event_store.reading(context.engine) as db:
            counts = {"events": event_store.last_seq(db), "inbox": inbox.delivery_counts(db)}
            stuck = outbox.stuck(db, context.now, UNDONE_AFTER.total_seconds(), limit=50)
            late = [(entry.act, entry.attempts, entry.error) for entry in stuck]
        yield "ledger.json", json.dumps({**counts, "outbox_late": late}, indent=1, default=str)
    for log in sorted((context.config.home / "logs").glob("*.log"))[:MAX_LOGS]:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - MAX_LOG_BYTES))
            yield f"logs/{log.name}", file.read(MAX_LOG_BYTES).decode("utf-8", "replace")


def secrets_of(config: Config) -> Iterator[str]:
    """Return every secret of the settings, and the passwords in addresses: those of databases."""
    yield from secrets_in(config)
    for address in (config.database_url, config.redis_url or ""):
        parts = urlsplit(address)
        written = parts.netloc.rpartition("@")[0].partition(":")[2]
        in_query = (value for name, value in parse_qsl(parts.query) if "password" in name.lower())
        yield from filter(None, (written, unquote(written), *in_query))
