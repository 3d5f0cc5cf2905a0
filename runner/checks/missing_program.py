"""Finds the program that a check needs and its place does not have: no agent can mend that."""

import re
import shutil
from collections.abc import Iterator

from runner.exec.child import finish
from runner.session.context import RunContext
from runner.workspaces.contract import Workspace

LOCAL = "local"  # see Workspace.image
NOT_FOUND = 127  # a shell's exit code where a command is not there: POSIX, Shell Command Language, 2.8.2
_PLACES, _THERE = "/usr/bin and /usr/local/bin", "install it there, or drop the check"
_LOOK_S, _MAX_BYTES, _MAX_NAMES = 20.0, 10_000, 20
_PARTS = re.compile(r"&&|\|\||[;|&\n()]")
_SET = re.compile(r"[A-Za-z_]\w*=")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,60}")
_BEFORE = frozenset(("env", "exec", "time", "nice", "nohup", "command", "if", "then", "!", "{"))
# Shells say `sh: 1: go: not found` or `line 3: go: command not found`, env(1) `'go': No such file`.
_SAID = re.compile(
    r"(?:^|: )['‘]?(?P<name>[A-Za-z0-9][\w.+-]{0,60})['’]?: (?:command )?(?:not found|No such file)", re.ASCII
)
_LOOK = 'for name; do command -v "$name" >/dev/null || { printf %s "$name"; exit 0; }; done'


def find_missing(run: RunContext, room: Workspace, command: str, output: str) -> str:
    """Return the program that a command with exit code 127 needs and the room does not have, or nothing.

    Raises SpawnError, WorkspaceError and StopRequested.
    """
    names = tuple(dict.fromkeys((*_find_names(output), *programs_of(command))))[:_MAX_NAMES]
    if not names:
        return ""
    child = room.start(("/bin/sh", "-c", _LOOK, "sh", *names), env={}, writable=False, cap_bytes=_MAX_BYTES)
    missing = finish(child, what="looking for programs", timeout_s=_LOOK_S, beat=run.beat).out.strip()
    return missing if missing in names else ""


def explain_missing(run: RunContext, name: str) -> str:
    """Return the sentence for people: where the program is missing, and the remedy."""
    return say_missing(name, image=LOCAL if run.workspace.image == LOCAL else run.spec.image)


def say_missing(name: str, *, image: str) -> str:
    """Return that sentence for the image of this name: an empty one is Cardinal's own, `local` is none."""
    if image == LOCAL and (elsewhere := shutil.which(name)):
        return f"`{name}` is {elsewhere}, and checks on this machine look in {_PLACES}: {_THERE}."
    if image == LOCAL:
        return f"`{name}` is not installed on this machine: install it, or drop the check."
    if image:
        return f"`{name}` is not installed in the image `{image}`: add it there, or drop the check."
    named = "name an image that has it (`image:`, see docs/sandbox.md)"
    return f"`{name}` is not installed in Cardinal's own image: {named}, or drop the check."


def _find_names(output: str) -> Iterator[str]:
    """Yield the names that a shell says it did not find, the last first."""
    for line in reversed(output.splitlines()[-_MAX_NAMES:]):
        if said := _SAID.search(line[:500]):
            yield said["name"]


def programs_of(command: str) -> Iterator[str]:
    """Yield the programs of a shell line; none where it sets its own path."""
    for part in _PARTS.split("" if "PATH=" in command else command):
        words = [word for word in part.split() if not _SET.match(word) and word not in _BEFORE]
        if words and _NAME.fullmatch(words[0]):
            yield words[0]
