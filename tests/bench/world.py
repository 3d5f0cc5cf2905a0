"""The processes that are measured: a forge in a process of its own, `cardinal up` beside it."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from forge.demo.launch import Scene, cardinal

STOP_S = 15


@contextmanager
def running(
    *, settings: dict[str, str] | None = None, more_env: Mapping[str, str] | None = None
) -> Iterator[Scene]:
    """Run forge and Cardinal, each in its own processes, until the block ends; their folder goes with them.

    `more_env` are variables for Cardinal's processes.
    """
    with tempfile.TemporaryDirectory(prefix="cardinal-bench-", ignore_cleanup_errors=True) as name:
        root = Path(name)
        with forge(root) as url, cardinal(url, root, settings=settings, more_env=more_env) as scene:
            yield scene


@contextmanager
def forge(root: Path) -> Iterator[str]:
    """Run a forge in a process of its own until the block ends; give its address."""
    command = [sys.executable, "-m", "forge", "--root", str(root / "forge")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            if not said:
                raise RuntimeError(f"the forge did not start: exit status {process.wait(STOP_S)}")
            yield said.split()[-1]
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
