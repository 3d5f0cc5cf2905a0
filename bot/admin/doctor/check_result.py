"""What a check gets and what it says."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from sqlalchemy import Engine

from bot.github.client import Hub
from bot.system.config import Config


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check found; `next_step` is empty when nothing has to be done.

    `mends` names the repair that `cardinal doctor --fix` knows for it; empty where a person must act.
    """

    name: str
    level: Level
    found: str
    next_step: str = ""
    mends: str = ""


@dataclass(frozen=True, slots=True)
class DoctorContext:
    """What the checks look at. `engine` is None while there is no ledger that can be read.

    `ledger_trouble` says why there is none although there should be one: what is wrong, and the next step.
    """

    config: Config
    engine: Engine | None
    hub: Hub
    now: datetime
    ledger_trouble: tuple[str, str] | None = None
