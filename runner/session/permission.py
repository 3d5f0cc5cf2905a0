"""What an agent may do unasked, what people are asked first, what is refused: the tool policy. Pure.

The wall is the container: a shell line can be written in more ways than any pattern knows. What is decided
here is for agents that ask before they act, and for the people who want to be asked.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from hashlib import scrypt

from ledger.model.limit_answers import ALLOW_CARD, ALLOW_ONCE, DENY
from runner.agents.contract import PermissionAsked
from runner.run.run_spec import ToolSpec
from runner.text.truncate import CUT, one_line

CHOICES = (ALLOW_ONCE, ALLOW_CARD, DENY)
_PARTS = re.compile(r"\|\||&&|[;|&\n()`]|\$\(")
_MAX_WORDS = 12
_SHOWN_BYTES = 4_000  # the whole of it stands in the comment: people allow nothing that they cannot read
_MAX_PARTS = 200  # a line with more is not read to its end, so nobody can say what it does


class PermissionDecision(StrEnum):
    """What becomes of a wish."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict with the rule behind it, as the agent and people read it."""

    verdict: PermissionDecision
    why: str = ""


@dataclass(frozen=True, slots=True)
class Allowed:
    """What people allowed: very commands, whatever is in them, and patterns."""

    commands: Collection[str] = ()
    patterns: Collection[str] = ()


_ALLOWED = Judgement(PermissionDecision.ALLOW)


def judge(
    asked: PermissionAsked,
    tools: ToolSpec,
    leave: Allowed,
    *,
    read_only: bool,
    refused: Collection[str] = (),
) -> Judgement:
    """Return what the policy says about one use of a tool; `leave` and `refused` are what people said."""
    judged = _by_policy(asked, tools, leave, read_only=read_only)
    if judged.verdict is PermissionDecision.ASK and (asked.command or asked.tool) in refused:
        return Judgement(PermissionDecision.DENY, "a person was asked, and did not allow it")
    return judged


def _by_policy(asked: PermissionAsked, tools: ToolSpec, leave: Allowed, *, read_only: bool) -> Judgement:
    match asked.kind:
        case "board" | "read":
            return _ALLOWED
        case "edit":
            return _edit(asked, tools, leave, read_only=read_only)
        case "run":
            return _run(asked, tools, leave)
    return _named(asked, tools, leave)


def matches(pattern: str, command: str) -> bool:
    """Whether `pattern` means `command` or a part of it: `git push:*` is git push with anything behind it,
    `*` stands for anything.
    """
    wanted = " ".join(pattern.split())
    return any(_is(wanted, part) for part in _parts(command))


def _is(wanted: str, part: str) -> bool:
    if wanted.endswith(":*"):
        start = wanted.removesuffix(":*")
        return part == start or part.startswith(f"{start} ")
    return part == wanted or fnmatchcase(part, wanted)


def _parts(command: str) -> tuple[str, ...]:
    """Return the whole line, each simple command in it, and what stands behind its first words."""
    parts = [" ".join(command.split())]
    for piece in _PARTS.split(command)[:_MAX_PARTS]:
        words = " ".join(piece.split())
        bare = words.replace('"', "").replace("'", "").replace("\\", "").split()
        # From each of its first words on: behind `sudo -u x`, `env -i` or `A=1` stands a command, too.
        parts += [words, *(" ".join(bare[start:]) for start in range(min(len(bare), _MAX_WORDS)))]
    return tuple(dict.fromkeys(filter(None, parts)))


def _edit(asked: PermissionAsked, tools: ToolSpec, leave: Allowed, *, read_only: bool) -> Judgement:
    if read_only:
        return Judgement(
            PermissionDecision.DENY, "the repository is read-only in this turn: nothing in it can be changed"
        )
    if tools.edit == "deny":
        return Judgement(PermissionDecision.DENY, "the column's policy says `edit: deny`")
    return _asked(asked, leave, "the column's policy says `edit: ask`") if tools.edit == "ask" else _ALLOWED


def _run(asked: PermissionAsked, tools: ToolSpec, leave: Allowed) -> Judgement:
    if tools.run == "deny":
        return Judgement(PermissionDecision.DENY, "the column's policy says `run: deny`")
    if (tools.ask or tools.deny) and len(_PARTS.split(asked.command)) > _MAX_PARTS:
        return Judgement(
            PermissionDecision.DENY, "the line has too many parts to be judged: put it into a script"
        )
    for pattern in tools.deny:
        if matches(pattern, asked.command):
            return Judgement(PermissionDecision.DENY, f"the policy refuses commands like `{pattern}`")
    commits = matches("git commit:*", asked.command)
    if commits and tools.commit == "deny":
        return Judgement(
            PermissionDecision.DENY, "the column's policy says `commit: deny`: Cardinal commits the work"
        )
    for pattern in tools.ask:
        if matches(pattern, asked.command):
            return _asked(asked, leave, f"the policy asks a person before `{pattern}`")
    if tools.run == "ask":
        return _asked(asked, leave, "the column's policy says `run: ask`")
    if commits and tools.commit == "ask":
        return _asked(asked, leave, "the column's policy says `commit: ask`")
    return _ALLOWED


def _named(asked: PermissionAsked, tools: ToolSpec, leave: Allowed) -> Judgement:
    for pattern in tools.ask:
        if fnmatchcase(asked.tool, pattern):
            return _asked(asked, leave, f"the policy asks a person before `{pattern}`")
    return _ALLOWED


def _asked(asked: PermissionAsked, leave: Allowed, why: str) -> Judgement:
    wish = asked.command or asked.tool
    if wish in leave.commands or any(_all_parts(pattern, wish) for pattern in leave.patterns):
        return _ALLOWED
    if _shown(wish).endswith(CUT):
        return Judgement(
            PermissionDecision.DENY, "the line is too long to be shown to people: put it into a script"
        )
    return Judgement(PermissionDecision.ASK, why)


def _shown(command: str) -> str:
    """Return a command on one line, as people read it; a line that ends in it can be seen."""
    return one_line(command.strip().replace("\n", " ⏎ "), _SHOWN_BYTES)


def _all_parts(pattern: str, command: str) -> bool:
    """Whether `pattern` allows every simple command in the line: leave for one is none for its neighbours."""
    wanted = " ".join(pattern.split())
    pieces = [" ".join(piece.split()) for piece in _PARTS.split(command)]
    return all(_is(wanted, piece) for piece in pieces if piece)


def mark(asked: PermissionAsked, written: str, card_id: str) -> str:
    """Return what tells a wish from all others that are `written` like it; nothing for a command that is
    written as it is. It is slow to make, so that nobody finds a secret by trying.
    """
    if asked.kind == "run" and written == asked.command:
        return ""
    whole = "\0".join((asked.kind, asked.tool, asked.command)).encode("utf-8", "surrogatepass")
    return f" [{scrypt(whole, salt=card_id.encode(), n=2**14, r=8, p=1, dklen=12).hex()}]"


def question(asked: PermissionAsked, why: str) -> str:
    """Return the question that a person reads."""
    wish = _shown(asked.command) or asked.tool
    verb = "edit" if asked.kind == "edit" else "run" if asked.kind == "run" else "use"
    return f"May the agent {verb} this? ({why})\n\n    {wish}"
