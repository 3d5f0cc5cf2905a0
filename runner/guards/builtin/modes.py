"""Modes of files: a new executable bit is a program that somebody may start."""

from collections.abc import Iterator

from runner.guards.contract import EXECUTABLE, LINK, SUBMODULE, Breach, Change, breach
from runner.run.run_spec import Guards

FINDS = "Files that become executable, and odd modes of files"
ACTION = "ask"
_PLAIN = "100644"
_ADVICE = "take the executable bit away with `git update-index --chmod=-x`"
_ODD = "give the file an ordinary mode"


def look(change: Change, rules: Guards) -> Iterator[Breach]:
    """Yield files that became executable, and modes that git does not give itself."""
    rule = f"modes: {rules.action('modes')}"
    for one in change.touched:
        if one.mode == EXECUTABLE and one.before_mode != EXECUTABLE:
            yield breach(one, rule, "becomes executable", _ADVICE)
        elif one.is_file and one.mode not in (_PLAIN, EXECUTABLE):
            yield breach(one, rule, f"has the odd mode {one.mode}", _ODD)
        elif one.before_mode in (LINK, SUBMODULE) and one.is_file:
            yield breach(one, rule, "was no file before", "leave what stood there")
