"""The gate's witnesses of a command, in a person's words. Pure."""

from typing import Protocol

from ledger.events.witness import Canary


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
