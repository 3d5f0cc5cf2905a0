"""The time of day as an argument: what everything in `bot` takes instead of looking at the wall."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]  # returns the time, aware and in UTC
