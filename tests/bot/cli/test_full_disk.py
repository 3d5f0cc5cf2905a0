"""A full disk is said in a sentence, whichever command meets it, and so are too many open files."""

import errno
import os
from pathlib import Path

import click
from click.testing import CliRunner

from bot.cli import FolderGroup


def test_a_full_disk_is_named_and_what_to_do() -> None:
    group = FolderGroup("cardinal")
    write = click.Command("write", callback=lambda: Path("/dev/full").write_text("x", encoding="utf-8"))
    group.get_command = lambda *_: write  # type: ignore[method-assign]
    result = CliRunner().invoke(group, ["write"])
    assert (result.exit_code, "the disk is full: free some space" in result.output) == (2, True)


def test_too_many_open_files_are_named_and_what_to_do() -> None:
    def fail() -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/somewhere")

    group = FolderGroup("cardinal")
    group.get_command = lambda *_: click.Command("fail", callback=fail)  # type: ignore[method-assign]
    result = CliRunner().invoke(group, ["fail"])
    assert (result.exit_code, "too many files are open: raise the limit" in result.output) == (2, True)
