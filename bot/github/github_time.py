"""GitHub's time: this machine's clock, put right by what GitHub's answers say where it is far off."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from bot.system.clock import Clock

SLACK = timedelta(seconds=30)  # an answer is on its way for some seconds


class GithubTime:
    """GitHub's time, as all processes see it whose clocks go as fast as GitHub's.

    GitHub judges the App's word by its own clock, and says when its tokens expire by that.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.behind = timedelta()  # this machine's clock

    def __call__(self) -> datetime:
        return self._clock() + self.behind

    def learn(self, headers: Mapping[str, str]) -> None:
        """Take over the time of an answer. Source: RFC 9110, 6.6.1."""
        try:
            there = parsedate_to_datetime(headers["date"]).astimezone(UTC)
        except (KeyError, ValueError):  # a proxy may leave it out
            return
        behind = there - self._clock()
        self.behind = behind if abs(behind) > SLACK else timedelta()
