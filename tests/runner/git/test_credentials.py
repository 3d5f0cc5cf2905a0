"""A git command waits for its credentials while their giver is away, within a bound."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from runner.errors import RemoteAwayError
from runner.git import credentials
from runner.run.exits import StopRequested
from runner.run.run_spec import MadeCommit


@dataclass(slots=True)
class AwayRemote:
    """Gives credentials once it was asked as often as it names waits."""

    waits_s: list[float]
    limited: bool = False
    url: str = "file:///nowhere"

    def git_environment(self) -> Mapping[str, str]:
        if self.waits_s:
            raise RemoteAwayError("away", self.waits_s.pop(0), limited=self.limited)
        return {"GIT_CONFIG_COUNT": "0"}

    def make_commit(self, tree: str, parents: tuple[str, ...], message: str, /) -> MadeCommit:
        raise AssertionError("no commit is asked for here")


def test_who_is_away_for_a_moment_is_waited_for_and_the_claim_is_kept() -> None:
    beats: list[int] = []
    remote = AwayRemote([0.0, 0.01])
    assert credentials.fresh(remote, lambda: beats.append(1)) == {"GIT_CONFIG_COUNT": "0"}
    assert remote.waits_s == []
    assert beats == [1]


def test_who_is_away_for_longer_than_the_bound_is_an_error_at_once() -> None:
    with pytest.raises(RemoteAwayError, match="no credentials for the repository: away"):
        credentials.fresh(AwayRemote([credentials.AWAY_S + 1]), lambda: None)


def test_a_spent_limit_is_waited_for_until_its_reset() -> None:
    class ResetComesError(Exception):
        """The wait has begun."""

    def wait() -> None:
        raise ResetComesError

    with pytest.raises(ResetComesError):
        credentials.fresh(AwayRemote([credentials.AWAY_S + 1], limited=True), wait)
    with pytest.raises(RemoteAwayError):
        credentials.fresh(AwayRemote([credentials.LIMITED_S + 1], limited=True), wait)


def test_a_stop_ends_the_wait() -> None:
    def stop() -> None:
        raise StopRequested("cancel", "ann")

    with pytest.raises(StopRequested):
        credentials.fresh(AwayRemote([600.0]), stop)
