"""Input of the doctor's checks and their findings."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Engine

from bot.github.client import Hub
from bot.system.config import Config
from ledger.log import event_store
from ledger.views import boards
from ledger.views.boards import BoardRow


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check; `next_step` is empty when nothing has to be done.

    `mends` names the repair of `cardinal doctor --fix`; empty where a person must act.
    """

    name: str
    level: Level
    found: str
    next_step: str = ""
    mends: str = ""


def ok(name: str, found: str, next_step: str = "") -> CheckResult:
    """Return a good finding."""
    return CheckResult(name, Level.OK, found, next_step)


def warn(name: str, found: str, next_step: str, mends: str = "") -> CheckResult:
    """Return a finding to look after, while Cardinal works on."""
    return CheckResult(name, Level.WARN, found, next_step, mends)


def fail(name: str, found: str, next_step: str) -> CheckResult:
    """Return a finding that keeps Cardinal from its work."""
    return CheckResult(name, Level.FAIL, found, next_step)


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """Input of every check. `engine` is None while there is no readable ledger.

    `ledger_trouble`: why the ledger that should be there cannot be read, and the next step.
    """

    config: Config
    engine: Engine | None
    hub: Hub
    now: datetime
    ledger_trouble: tuple[str, str] | None = None

    def boards(self) -> tuple[BoardRow, ...]:
        """Return the boards of the ledger; none while there is no ledger."""
        if self.engine is None:
            return ()
        with event_store.reading(self.engine) as db:
            return boards.all_boards(db)
