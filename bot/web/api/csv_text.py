"""Lists of the API as CSV (RFC 4180), for spreadsheets."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet computes what begins so. Source: owasp.org


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Return a head and a line for each row; a text that a spreadsheet would compute begins with `'`."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue()


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value
