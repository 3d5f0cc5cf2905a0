"""For programs under faketime: its 0.9.10 breaks the system call of `time.sleep` where seconds are true."""

import select
import time

time.sleep = lambda seconds: select.select((), (), (), seconds) and None  # type: ignore[assignment]
