"""The questions of `cardinal doctor`, from the docstrings of its checks."""

from bot.admin.doctor import Check, checks
from docs._make import wording
from ledger.parts import charter


def table() -> str:
    """Return each check's theme and question, in the order in which the doctor asks."""
    rows = ((f"`{_theme(check)}`", wording.cell(charter(check))) for check in checks())
    return wording.table(("theme", "it asks"), rows)


def _theme(check: Check) -> str:
    return str(check.__module__).rpartition(".")[2]
