"""Witnesses of the gate: they say beside its exit code whether a command passed."""

from dataclasses import dataclass
from enum import StrEnum

from ledger.events.run import RunEvent


class Canary(StrEnum):
    """The outcome of Cardinal's tests that must fail."""

    FAILED = "failed"  # as it must
    UNHEARD = "unheard"  # the command does not name it as failing
    ABSENT = "absent"  # there was none


@dataclass(frozen=True, slots=True)
class CheckWitnessed(RunEvent):
    """The witnesses of a command of the gate that ended with exit code 0, on `head`.

    `runner` is the test runner whose summary was read, empty where there is none; `passed` of its tests
    passed. On the commit at which the branch left the default branch, `base`, it ran `base_tests`, which is 0
    where that is not known. `unit` is the thing that the runner counts. `canary` is failed, unheard or
    absent, `why`
    says why it is not failed. `believed`: the command counts as passed. `duration_s` has the
    runs on `base` in it.
    """

    iteration: int
    tier: str
    command: str
    head: str
    base: str
    runner: str
    unit: str
    passed: int
    base_tests: int
    canary: str
    believed: bool
    why: str
    duration_s: float
