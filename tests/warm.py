"""The program `cardinal` in processes of its own that are forked where it is imported already."""

import multiprocessing
import os
import sys
from collections.abc import Mapping
from functools import cache
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import TextIO

from bot.cli import main

IMPORTED = ("tests.warm", "bot.admin.setup.flow", "bot.cli.init")


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(IMPORTED))
    return context


class Program:
    """A command of `cardinal` that runs; what it prints comes from `stdout`, errors too."""

    def __init__(self, words: tuple[str, ...], *, cwd: Path, env: Mapping[str, str]) -> None:
        printed, prints = _context().Pipe(duplex=False)
        self._process = _context().Process(target=_play, args=(words, cwd, dict(env), prints), daemon=True)
        self._process.start()
        prints.close()
        self.stdout: TextIO = os.fdopen(os.dup(printed.fileno()), encoding="utf-8")
        printed.close()

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def wait(self, timeout: float) -> int:
        """Return the exit code, once it ends; raises TimeoutError after so many seconds."""
        self._process.join(timeout)
        if (code := self.poll()) is None:
            raise TimeoutError(f"cardinal still runs after {timeout} s")
        return code


def _play(words: tuple[str, ...], cwd: Path, env: dict[str, str], prints: Connection) -> None:
    os.dup2(prints.fileno(), 1)
    os.dup2(prints.fileno(), 2)
    prints.close()
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8")
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    main(list(words), prog_name="cardinal")
