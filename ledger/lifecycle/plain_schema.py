"""Is a SQLite file nothing but plain tables? Asked of a file from elsewhere before anything of it is used."""

import re
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from pysqlite3 import dbapi2 as sqlite

from ledger.db.transactions import WAIT_S
from ledger.errors import BackupError
from ledger.lifecycle.migrations import m0001_core, m0007_editions

READ_S = 10.0
EVERY = 1000  # instructions of SQLite's machine between two looks at the clock
MAX_PARTS, MAX_CHARS = 5_000, 20_000  # tables, indexes and triggers, and the text of each
_SHOWN = 60
_SCHEMA = (
    "SELECT type, name, CASE WHEN length(sql) > ? THEN NULL ELSE coalesce(sql, '') END"
    " FROM sqlite_schema LIMIT ?"
)
_KNOWN = frozenset((*m0001_core.SQLITE_GUARDS, *m0007_editions.SQLITE_GUARDS))
_TOKEN = re.compile(
    r"""\s+|'(?:[^']|'')*+'|"(?:[^"]|"")*+"|[A-Za-z_][A-Za-z0-9_]*+|[0-9]++|<>|<=|>=|[(),<>=]"""
)
_WORD = re.compile(r"[A-Za-z_]")
# Each of these begins an expression in a table, or may take for ever in an index.
_PROGRAMS = frozenset(
    (
        "AS",
        "CASE",
        "CAST",
        "CHECK",
        "COLLATE",
        "EXISTS",
        "GENERATED",
        "GLOB",
        "LIKE",
        "MATCH",
        "REGEXP",
        "SELECT",
    )
)
_BEFORE_BRACKETS = frozenset(("AND", "IN", "NOT", "OR", "WHERE"))


def require_plain(file: Path) -> None:
    """Raise BackupError where the file's schema has more than plain tables, their indexes and Cardinal's own
    triggers.

    A view, a trigger, a check, a generated column or an index on an expression is a program, which reading or
    checking the file would run, perhaps without end; a virtual table reads any file or table.
    """
    for kind, name, text in _parts(file):
        if why := _why_not_plain(kind, text):
            shown = "".join(sign if sign.isprintable() else "?" for sign in name[:_SHOWN])
            raise BackupError(
                f"{file.name} is no plain ledger of Cardinal: {why}, {shown!r}. Nothing of it was"
                " used. If the file is yours and you know what it is, drop it from a copy of the file,"
                " then use the copy"
            )


def _parts(file: Path) -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and text of each part of the schema, read only and for READ_S at most."""
    if not file.is_file():
        raise BackupError(f"{file} is no file")
    until = time.monotonic() + READ_S
    try:
        with closing(sqlite.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT_S)) as db:
            db.set_progress_handler(lambda: time.monotonic() > until, EVERY)
            db.execute("PRAGMA trusted_schema = OFF")
            rows = db.execute(_SCHEMA, (MAX_CHARS, MAX_PARTS + 1)).fetchall()
    except sqlite.DatabaseError as error:
        raise BackupError(f"{file} cannot be read as a ledger: {error}") from error
    if len(rows) > MAX_PARTS:
        raise BackupError(f"{file.name} has more than {MAX_PARTS} tables and indexes: no ledger has")
    for kind, name, text in rows:
        yield str(kind), str(name), "\0" if text is None else str(text)


def _why_not_plain(kind: str, text: str) -> str:
    """Return why a part of the schema is no plain table or index; empty for these."""
    if text in _KNOWN:
        return ""
    if kind not in ("table", "index"):
        return f"it has a {kind}"
    if kind == "index" and not text:
        return ""  # SQLite's own, of a key
    words = _words(text)
    if words is None:
        return f"it has a {kind} that Cardinal never writes"
    begins = words[:2] if kind == "table" else [word for word in words[:3] if word != "UNIQUE"][:2]
    if begins != ["CREATE", kind.upper()]:
        return f"it has a {kind} of another kind ({' '.join(words[:3])[:_SHOWN].lower()})"
    if programs := sorted(_PROGRAMS.intersection(words)):
        return f"it has a {kind} with an expression ({programs[0].lower()})"
    pairs = list(pairwise(words))
    if ("DEFAULT", "(") in pairs:
        return "it has a table with an expression (default)"
    calls = [word for word, after in pairs if after == "(" and word.isidentifier()]
    if kind == "index" and any(word not in _BEFORE_BRACKETS for word in calls[1:]):  # the first is its table
        return "it has an index with an expression"
    return ""


def _words(text: str) -> list[str] | None:
    """Return keywords and bare names in capitals, signs, and a quote for each text; None for other things."""
    words, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at, word = token.end(), token[0]
        if not word.isspace():
            words.append(word.upper() if _WORD.match(word) else word[0] if word[0] in "'\"" else word)
    return words
