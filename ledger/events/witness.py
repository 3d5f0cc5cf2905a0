"""Witnesses of the gate: they say beside its exit code whether a command passed."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from ledger.event import Zoom
from ledger.events.run import RunEvent


class Canary(StrEnum):
    """The outcome of Cardinal's tests that must fail."""

    FAILED = "failed"  # as it must
    UNHEARD = "unheard"  # the command does not name it as failing
    ABSENT = "absent"  # there was none


@dataclass(frozen=True, slots=True)
class CheckWitnessed(
    RunEvent, zoom=Zoom.ACTIVITY, shows_payload=True, section="witnesses", affects_dispatch=False
):
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

    def describe(self) -> str:
        return f"{self.tier}: {self.command}: {witness_text(self)}"


class Witnessed(Protocol):
    """The witnesses' fields of CheckWitnessed and of its view."""

    @property
    def command(self) -> str: ...
    @property
    def canary(self) -> str: ...
    @property
    def runner(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def passed(self) -> int: ...
    @property
    def base_tests(self) -> int: ...
    @property
    def believed(self) -> bool: ...
    @property
    def why(self) -> str: ...


def witness_text(said: Witnessed) -> str:
    """Return one line for people; empty where no witness was asked."""
    if not said.canary:
        return ""
    if not said.believed:
        return f"not believed: {said.why}"
    why = f": {said.why}" if said.why else ""
    if not said.runner:
        return f"believed by its exit code alone{why}"
    fewer = f", {said.base_tests} on the default branch" if is_fewer(said) else ""
    counted = f"{said.runner}: {said.passed} {said.unit}{'' if said.passed == 1 else 's'} passed{fewer}"
    if said.canary == Canary.FAILED:
        return f"{counted}; a test that must fail was added and did fail"
    return f"{counted}; no test that must fail was added{why}"


def is_fewer(said: Witnessed) -> bool:
    """Whether fewer tests passed than there are on the default branch: a question to people."""
    return bool(said.runner) and said.passed < said.base_tests
