"""Tool policy: allow, ask people or deny one use of a tool. Pure.

The container is the wall: a shell line can be written in more ways than any pattern knows. These decisions
are for agents that ask first, and for people who want to be asked.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import scrypt

from ledger.rows.limit_answers import ALLOW_CARD, ALLOW_ONCE, DENY
from runner.agents.contract import PermissionAsked
from runner.run.run_spec import ToolSpec
from runner.text.plain import CUT, one_line

CHOICES = (ALLOW_ONCE, ALLOW_CARD, DENY)
_PARTS = re.compile(r"\|\||&&|[;|&\n()`]|\$\(")
_MAX_WORDS = 12
_SHOWN_BYTES = 4_000  # the whole of it stands in the comment: people allow nothing that they cannot read
_MAX_PARTS = 200  # a longer line is not read to its end, so it cannot be judged


class PermissionDecision(StrEnum):
    """The decision about a use of a tool."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The decision with its rule, for the agent and for people."""

    decision: PermissionDecision
    why: str = ""


@dataclass(frozen=True, slots=True)
class ToolPermission:
    """Permissions from people: exact commands, and patterns."""

    commands: Collection[str] = ()
    patterns: Collection[str] = ()


_ALLOWED = Judgement(PermissionDecision.ALLOW)


def _deny(why: str) -> Judgement:
    return Judgement(PermissionDecision.DENY, why)


def judge_request(
    request: PermissionAsked,
    tools: ToolSpec,
    permission: ToolPermission,
    *,
    read_only: bool,
    refused: Collection[str] = (),
) -> Judgement:
    """Return the policy's decision about one use of a tool; `permission` and `refused` are people's."""
    judged = _by_policy(request, tools, permission, read_only=read_only)
    if judged.decision is PermissionDecision.ASK and (request.command or request.tool) in refused:
        return _deny("a person was asked, and did not allow it")
    return judged


def _by_policy(
    request: PermissionAsked, tools: ToolSpec, permission: ToolPermission, *, read_only: bool
) -> Judgement:
    match request.kind:
        case "board" | "read":
            return _ALLOWED
        case "edit":
            return _edit(request, tools, permission, read_only=read_only)
        case "run":
            return _run(request, tools, permission)
    return _judge_by_name(request, tools, permission)


def matches(pattern: str, command: str) -> bool:
    """Whether `pattern` matches `command` or a part of it.

    `git push:*` is git push with any arguments, `*` matches anything.
    """
    wanted = " ".join(pattern.split())
    return any(_is(wanted, part) for part in _parts(command))


def _is(wanted: str, part: str) -> bool:
    if wanted.endswith(":*"):
        start = wanted.removesuffix(":*")
        return part == start or part.startswith(f"{start} ")
    return part == wanted or fnmatchcase(part, wanted)


def _parts(command: str) -> tuple[str, ...]:
    """Return the whole line, each simple command in it, and the rest from each of its first words."""
    parts = [" ".join(command.split())]
    for piece in _PARTS.split(command)[:_MAX_PARTS]:
        words = " ".join(piece.split())
        bare = words.replace('"', "").replace("'", "").replace("\\", "").split()
        # From each of its first words on: behind `sudo -u x`, `env -i` or `A=1` stands a command, too.
        parts += [words, *(" ".join(bare[start:]) for start in range(min(len(bare), _MAX_WORDS)))]
    return tuple(dict.fromkeys(filter(None, parts)))


def _edit(
    request: PermissionAsked, tools: ToolSpec, permission: ToolPermission, *, read_only: bool
) -> Judgement:
    if read_only:
        return _deny("the repository is read-only in this turn: nothing in it can be changed")
    if tools.edit == "deny":
        return _deny("the column's policy says `edit: deny`")
    if tools.edit == "ask":
        return _ask_people(request, permission, "the column's policy says `edit: ask`")
    return _ALLOWED


def _run(request: PermissionAsked, tools: ToolSpec, permission: ToolPermission) -> Judgement:
    if tools.run == "deny":
        return _deny("the column's policy says `run: deny`")
    if (tools.ask or tools.deny) and len(_PARTS.split(request.command)) > _MAX_PARTS:
        return _deny("the line has too many parts to be judged: put it into a script")
    for pattern in tools.deny:
        if matches(pattern, request.command):
            return _deny(f"the policy refuses commands like `{pattern}`")
    commits = matches("git commit:*", request.command)
    if commits and tools.commit == "deny":
        return _deny("the column's policy says `commit: deny`: Cardinal commits the work")
    for pattern in tools.ask:
        if matches(pattern, request.command):
            return _ask_people(request, permission, f"the policy asks a person before `{pattern}`")
    if tools.run == "ask":
        return _ask_people(request, permission, "the column's policy says `run: ask`")
    if commits and tools.commit == "ask":
        return _ask_people(request, permission, "the column's policy says `commit: ask`")
    return _ALLOWED


def _judge_by_name(request: PermissionAsked, tools: ToolSpec, permission: ToolPermission) -> Judgement:
    for pattern in tools.ask:
        if fnmatchcase(request.tool, pattern):
            return _ask_people(request, permission, f"the policy asks a person before `{pattern}`")
    return _ALLOWED


def _ask_people(request: PermissionAsked, permission: ToolPermission, why: str) -> Judgement:
    wish = request.command or request.tool
    if wish in permission.commands or any(_all_parts(pattern, wish) for pattern in permission.patterns):
        return _ALLOWED
    if _cut_command(wish).endswith(CUT):
        return _deny("the line is too long to be shown to people: put it into a script")
    return Judgement(PermissionDecision.ASK, why)


def _cut_command(command: str) -> str:
    """Return a command on one line, for people; a command cut for length ends in CUT."""
    return one_line(command.strip().replace("\n", " ⏎ "), _SHOWN_BYTES)


def _all_parts(pattern: str, command: str) -> bool:
    """Whether `pattern` allows every simple command of the line: permission for one covers no neighbour."""
    wanted = " ".join(pattern.split())
    pieces = [" ".join(piece.split()) for piece in _PARTS.split(command)]
    return all(_is(wanted, piece) for piece in pieces if piece)


def mark_of_similar(request: PermissionAsked, written: str, card_id: str) -> str:
    """Return a mark that distinguishes commands `written` alike; empty for a command written unchanged.

    It is slow to compute, so that nobody finds a secret by trying.
    """
    if request.kind == "run" and written == request.command:
        return ""
    whole = "\0".join((request.kind, request.tool, request.command)).encode("utf-8", "surrogatepass")
    return f" [{scrypt(whole, salt=card_id.encode(), n=2**14, r=8, p=1, dklen=12).hex()}]"


def permission_question(request: PermissionAsked, why: str) -> str:
    wish = _cut_command(request.command) or request.tool
    verb = "edit" if request.kind == "edit" else "run" if request.kind == "run" else "use"
    return f"May the agent {verb} this? ({why})\n\n    {wish}"
