"""For programs under faketime: its 0.9.10 breaks the system call of `time.sleep` where seconds are true."""

import select
import time
from typing import Any


def _sleep(seconds: Any, /) -> None:
    select.select((), (), (), seconds)


time.sleep = _sleep
