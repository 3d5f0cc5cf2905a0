"""Modes of files: a new executable bit is a program that somebody may start."""

from collections.abc import Iterator

from runner.guards.contract import EXECUTABLE, LINK, SUBMODULE, Breach, Change, breach
from runner.run.run_spec import Guards

FINDS = "Files that become executable, and odd modes of files"
ACTION = "ask"
_PLAIN = "100644"
_ADVICE = "take the executable bit away with `git update-index --chmod=-x`"
_ODD = "give the file an ordinary mode"


def find_breaches(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield files that became executable, and modes that git does not give itself."""
    rule = f"modes: {rules.action('modes')}"
    for touched in change.touched:
        if touched.mode == EXECUTABLE and touched.before_mode != EXECUTABLE:
            yield breach(touched, rule, "becomes executable", _ADVICE)
        elif touched.is_file and touched.mode not in (_PLAIN, EXECUTABLE):
            yield breach(touched, rule, f"has the odd mode {touched.mode}", _ODD)
        elif touched.before_mode in (LINK, SUBMODULE) and touched.is_file:
            yield breach(touched, rule, "was no file before", "leave what stood there")
