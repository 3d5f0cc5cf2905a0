"""Clock: the time of day as an argument."""

from collections.abc import Callable
from datetime import datetime

Clock = Callable[[], datetime]  # returns the time, aware and in UTC
