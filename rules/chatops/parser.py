"""Reading a command out of a comment or a ticked box, and who may give it."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ledger.model.metadata import Metadata
from ledger.model.reply_text import says_more
from ledger.rows.limit_answers import SPENDING, Subject
from ledger.states import Door
from rules.policy.model import Policy
from rules.policy.roles import Role, is_covered, role_of
from rules.registry import COMMANDS
from rules.text import alternatives, code, near, plain

WORKFLOWS = "workflows"  # what `/cardinal allow` calls the files of CI
MAX_LOOKED = 100  # lines of one comment
MAX_ARGUMENT = 8000  # characters; a longer text is cut, an agent could not use it anyway
_COMMAND = re.compile(r"/cardinal(?:[ ]++(?P<rest>[^\n]*+))?", re.IGNORECASE | re.ASCII)
# A line that a person takes for a command, whatever stands around it: `/cardinal x`, //cardinal, - /cardinal.
_LOOKS = re.compile(
    r"(?:[-*+#]{1,6} |[0-9]{1,3}[.)] )?[`*_~(\"']{0,6}[/\\]{1,3} ?(?P<name>[^\W\d_]{4,40})(?P<rest>[^\n]*+)"
)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # text that is shown in another order
_MENTION = re.compile(
    r"\n* {0,3}@(?P<slug>[A-Za-z0-9-]{1,100})(?:\[bot\])?[ \t]++(?P<word>fix|investigate)"
    r"(?:[ \t]++(?P<rest>[^\n]*+))?(?=\n|\Z)",
    re.IGNORECASE | re.ASCII,
)
# Behind `@app fix`: what an order is about. Other words may say something of a fix that is there.
_ORDERS = re.compile(
    r"(?:it|this|these|those|them|the|an?|all|any|both|each|every|my|our|your|only|just|please|why|where|how"
    r"|whether|what|when|which|who|if|--repro|[:,-]|[`#\"'(\[]\S*|https?://\S*)[.,:!]*"
)
BOXES = ("cancel", "finish", "pause", "resume", "retry")
_APPROVE = re.compile(r"approve:(?P<run>r[0-9]{1,18}):(?P<revision>[0-9]{1,9})")
_BUDGET = re.compile(r"budget:(?P<run>r[0-9]{1,18}):(?P<usd>[0-9]{1,6}\.[0-9]{2})")
_BUTTON = re.compile(r"(?P<command>cancel|pause|resume|retry):(?P<run>r[0-9]{1,18})")
_FORM = re.compile(r"(?:cancel|pause|resume|retry|redirect|budget):(?P<run>r[0-9]{1,18})")
_FOLLOW_UP = re.compile(r"followup:(?P<run>r[0-9]{1,18}):(?P<proposal>[0-9]{1,3})")
_CHOICE = re.compile(r"choice:(?P<question>[A-Za-z0-9-]{1,40}):(?P<choice>[0-9]{1,3})")
_ANSWER = re.compile(r"answer:(?P<question>[A-Za-z0-9-]{1,40})")
# Doors outside GitHub: a command names what it is about, its card reports it.
APART = frozenset({Door.PAGE, Door.API, Door.CLI, Door.REPLY})
SEEN_STOP = "stop-"  # begins what a form is about that lifts a stop


@dataclass(frozen=True, slots=True)
class Parsed:
    """A known command; `argument` is the rest of the comment, `metadata` what a program sent with it."""

    command: str
    argument: str
    metadata: Metadata = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Mistyped:
    """A mistyped command; `because` names a right one."""

    word: str
    because: str


@dataclass(frozen=True, slots=True)
class Permitted:
    """The person may give this command."""


@dataclass(frozen=True, slots=True)
class RefusedCommand:
    """The person may not; `because` names the role that it needs."""

    because: str


def parse(body: str) -> Parsed | Mistyped | None:
    """Return the command in the comment's first line; None where no line looks like one.

    Signs that nobody sees count for nothing. A line that looks like a command to a person and is none, by its
    place or spelling, is Mistyped: nothing of such a comment is carried out.
    """
    lines = _lines(body)
    first = next((number for number, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return None
    match = _command_in(lines[first])
    another = _among(lines[first + 1 :])
    if match is None:
        meant = _resembles(lines[first]) or _alone(lines[first:]) or another
        return _answer_misplaced(meant) if meant else None
    word, _, rest = match.strip().partition(" ")
    known = _command(word.lower() or "help", rest.strip(), "\n".join(lines[first + 1 :]))
    if another and isinstance(known, Parsed):
        because = (
            f"Nothing was done: a comment has one command. Write {code(another)} in a comment of its own"
        )
        return Mistyped(known.command, f"{because}, and this one again.")
    if isinstance(known, Parsed) and _is_doubtful(known.command, lines[first + 1 :]):
        because = f"`/cardinal {known.command}` takes one line, and this comment says more: nothing was done."
        return Mistyped(known.command, f"{because} If you want it, write it alone in a new comment.")
    return known


def _is_doubtful(command: str, below: Sequence[str]) -> bool:
    """Tell whether the lines below a command that takes none may take it back."""
    slash_command = COMMANDS.load(command)
    return (
        slash_command.TAKES in ("none", "optional")
        and not slash_command.IS_SAFE
        and says_more("\n".join(below))
    )


def parse_mention(body: str, slug: str) -> Parsed | Mistyped | None:
    """Return the command in a mention of the App `slug` in the first line: only `fix` and `investigate`.

    Any other mention is a part of the conversation: None. Words behind it that do not begin as an order does
    may speak of a fix, so they are asked about.
    """
    text = "\n".join(_lines(body))
    match = _MENTION.match(text)
    if match is None or not slug or match["slug"].casefold() != slug.casefold():
        return None
    word, rest, below = match["word"].lower(), (match["rest"] or "").strip(), text[match.end() + 1 :]
    said = rest or (below if says_more(below) else "")
    if said and (rest.endswith("?") or not _ORDERS.fullmatch(said.lower().split()[0])):
        meant = code(f"/cardinal {word} {plain(said, 200)}")
        because = "Nothing was started: is that for an agent?"
        return Mistyped(word, f"{because} Then write {meant} in a new comment.")
    return _command(word, rest, below)


def parse_edit(before: str, now: str) -> Mistyped | None:
    """Return the answer to a command that a comment got by an edit; None where it got none."""
    meant = parse(now)
    if meant is None or meant == parse(before):
        return None
    because = "Nothing was done: an edited comment gives no command. Write it in a new comment."
    return Mistyped(meant.command if isinstance(meant, Parsed) else meant.word, because)


def of_box(name: str) -> Parsed | None:
    """Return the command that a ticked box stands for; None for a box that is none of ours."""
    if name in BOXES:
        return Parsed(name, "")
    if _APPROVE.fullmatch(name):
        return Parsed("approve", "")
    if more := _BUDGET.fullmatch(name):
        return Parsed("budget", f"+{more['usd']}")
    if follow_up := _FOLLOW_UP.fullmatch(name):
        return Parsed("follow-up", f"{follow_up['run']}:{follow_up['proposal']}")
    choice = _CHOICE.fullmatch(name)
    return Parsed("answer", choice["choice"]) if choice else None


def of_button(identifier: str) -> Parsed | None:
    """Return the command that a pressed button of a check stands for; None for one that is none of ours."""
    if identifier in ("check", "explain"):
        return Parsed(identifier, "")
    if _APPROVE.fullmatch(identifier):
        return Parsed("approve", "")
    button = _BUTTON.fullmatch(identifier)
    return Parsed(button["command"], "") if button else None


def of_form(name: str, text: str) -> Parsed | Mistyped:
    """Return the command of a form: `<command>` or `<command>:<subject>`, with its text."""
    first, _, below = text.replace("\r\n", "\n").replace("\r", "\n").partition("\n")
    return _command(name.partition(":")[0], first.strip(), below)


def door_of(source: str) -> str:
    """Return the door of a command, one of Door."""
    kind, colon, _ = source.partition(":")
    return kind if colon else Door.COMMENT


def run_of_button(source: str) -> str:
    """Return the run in a `button:<command>:<run>` or `page:<command>:<run>`, or an empty string."""
    kind, _, name = source.partition(":")
    about = _FORM if kind in APART else _BUTTON if kind == Door.BUTTON else None
    button = about.fullmatch(name) if about else None
    return button["run"] if button else ""


def plan_of_approval(source: str) -> tuple[str, int] | None:
    """Return the run and the revision in a `<door>:approve:<run>:<revision>`; None else."""
    plan = _APPROVE.fullmatch(source.partition(":")[2])
    return (plan["run"], int(plan["revision"])) if plan else None


def column_of_move(source: str) -> str | None:
    """Return where the card stood when its `page:move:<column>` was shown; None for another source."""
    return _after("move:", source)


def stop_of_page(source: str) -> str | None:
    """Return the mark of the stop that a `page:<command>:stop-<mark>` showed; None for another source."""
    door, _, name = source.partition(":")
    about = name.partition(":")[2]
    return about.removeprefix(SEEN_STOP) if door in APART and about.startswith(SEEN_STOP) else None


def _after(begin: str, source: str) -> str | None:
    """Return the rest after `begin` in the name of a command from outside GitHub; None for any other."""
    kind, _, name = source.partition(":")
    return name.removeprefix(begin) if kind in APART and name.startswith(begin) else None


def run_of_budget_box(source: str) -> str:
    """Return the run in a ticked `box:budget:<run>:<usd>`, or an empty string."""
    more = _BUDGET.fullmatch(source.removeprefix("box:")) if source.startswith("box:") else None
    return more["run"] if more else ""


def question_of_choice(source: str) -> str:
    """Return the question's id in a ticked `box:choice:<question>:<n>` or a `page:answer:<question>`, or an
    empty string.
    """
    kind, _, name = source.partition(":")
    about = _ANSWER if kind in APART else _CHOICE if kind == Door.BOX else None
    choice = about.fullmatch(name) if about else None
    return choice["question"] if choice else ""


def permit(policy: Policy, parsed: Parsed, *, role: str, login: str) -> Permitted | RefusedCommand:
    """Say whether somebody with that role in the card's repository may give the command."""
    word = next(iter(parsed.argument.lower().split()), "")
    for allowed in group_by_permission(policy, parsed.command, word):
        if not is_covered(allowed, role_of(role), login):
            scope = f" {word}" if word in COMMANDS.load(parsed.command).SCOPES else ""
            return RefusedCommand(
                _refusal(f"/cardinal {parsed.command}{scope}", allowed, role_of(role), login)
            )
    return Permitted()


def group_by_permission(policy: Policy, command: str, word: str = "") -> tuple[tuple[str, ...], ...]:
    """Return roles and people in groups: whoever gives the command, with that first word, is in each.

    A group that holds whenever another one does is left out.
    """
    every = list(dict.fromkeys(_every_group(policy, command, word)))
    for group in tuple(every):
        others = (it for it in every if it is not group)
        if any(all(is_covered(group, role_of(it), it.removeprefix("@")) for it in other) for other in others):
            every.remove(group)
    return tuple(every)


def _every_group(policy: Policy, command: str, word: str) -> Iterator[tuple[str, ...]]:
    slash_command = COMMANDS.load(command)
    yield needs(policy, command)
    if slash_command.MOVES:
        yield policy.board.move
    for other in (*slash_command.ALSO, *filter(None, (slash_command.SCOPES.get(word),))):
        yield from _every_group(policy, other, "")


_WITH = {
    **dict.fromkeys((*SPENDING, Subject.SIZE), "budget"),
    **dict.fromkeys((Subject.START, Subject.STAGE, Subject.STAGE_LOOPS), "approve"),
    Subject.PART: "retry",
}


def refusal_to_answer(policy: Policy, subject: Subject, *, role: str, login: str) -> str:
    """Return why somebody may not answer a question about that, in whatever way; empty when they may.

    A limit is lifted with money or time, so whom the policy trusts with `budget` must answer there, and whom
    it trusts with `approve` where a stage waits, or with `retry` where a sub-issue failed; whoever changes CI
    runs programs with the repository's secrets, so it takes who may `allow`.
    """
    wanted = [needs(policy, "answer")]
    if (command := _WITH.get(subject, "")) in policy.board.commands:
        wanted.append(policy.board.commands[command])
    if subject is Subject.WORKFLOWS:
        wanted.append(needs(policy, "allow"))
    for allowed in wanted:
        if not is_covered(allowed, role_of(role), login):
            return _refusal("an answer to this question", allowed, role_of(role), login)
    return ""


def may_answer(policy: Policy, subject: Subject | None, *, role: str, login: str) -> bool:
    """Tell whether somebody may answer a question about that; None is for a plan that waits for approval."""
    if subject is None:
        return isinstance(permit(policy, Parsed("approve", ""), role=role, login=login), Permitted)
    return not refusal_to_answer(policy, subject, role=role, login=login)


def needs(policy: Policy, command: str) -> tuple[str, ...]:
    """Return the roles and people whom the policy or the command itself names for it."""
    return policy.board.commands.get(command, (str(COMMANDS.load(command).ROLE),))


def _refusal(typed: str, allowed: tuple[str, ...], role: Role, login: str) -> str:
    named = alternatives(f"the role {code(word)}" if word in set(Role) else code(word) for word in allowed)
    return f"{code(typed)} needs {named}; {code(login)} has the role {code(role)} here."


def unknown_command(name: str) -> str:
    """Return that there is no such command, and which is meant; empty where there is one."""
    known = COMMANDS.names()
    if name in known:
        return ""
    meant = near(name, known)
    hint = f"Did you mean `/cardinal {meant}`? " if meant else ""
    return f"There is no command {code(name, 40)}. {hint}`/cardinal help` lists all."


def _lines(body: str) -> list[str]:
    """Return the lines; the first one with words has plain spaces and no signs that nobody sees."""
    lines = body[: 4 * MAX_ARGUMENT].replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines):
        lines[number] = _visible_line(line)
        if lines[number].strip():
            break
    return lines


def _visible_line(line: str) -> str:
    """Return a line as a person sees it. An emoji's joiner stays, which stands behind no letter of ASCII."""
    spaced = "".join(" " if char == "\t" or unicodedata.category(char)[0] == "Z" else char for char in line)
    return spaced if spaced.isascii() else "".join(filter(None, map(_keep_visible, " " + spaced, spaced)))


def _keep_visible(before: str, char: str) -> str:
    joins = char == "\u200d" and not before.isascii()
    return char if joins or char in _TURNS or unicodedata.category(char) not in ("Cf", "Cc") else ""


def _command_in(line: str) -> str | None:
    """Return the text behind `/cardinal`; None for another line. Four spaces begin a block of code."""
    match = _COMMAND.fullmatch(line.lstrip(" ")) if not line.startswith("    ") else None
    return None if match is None else match["rest"] or ""


def _among(lines: Iterable[str]) -> str:
    """Return the first command that one of the lines resembles; else nothing.

    Of lines that begin as a command does, only the first MAX_LOOKED are compared with its names.
    """
    begun = islice(filter(None, map(_match_command, _prose(lines))), MAX_LOOKED)
    return next(filter(None, map(_guess_command, begun)), "")


def _resembles(line: str) -> str:
    """Return the command that a line resembles, as it is written correctly; else nothing."""
    match = _match_command(line)
    return _guess_command(match) if match else ""


def _match_command(line: str) -> re.Match[str] | None:
    """Return the parts of a line that begins as a command does; None for another line, or a path."""
    shown = unicodedata.normalize("NFKC", _visible_line(line)).translate(dict.fromkeys(map(ord, _TURNS)))
    match = _LOOKS.fullmatch(shown.strip())
    is_path = match is not None and match["rest"][:1] in ("/", ".") and match["rest"][1:2].isalnum()
    return None if is_path else match


def _guess_command(match: re.Match[str]) -> str:
    name, rest = match["name"].casefold(), match["rest"].strip(" `*_~:,-)\"'")
    joined = name.removeprefix("cardinal") if name.startswith("cardinal") else ""
    words = f"{joined} {rest}".split() if len(joined) > 2 else rest.split()
    if name != "cardinal" and not (near(name[:8], ("cardinal",)) and _is_command(words[:1])):
        return ""
    return " ".join(("/cardinal", *words))


def _is_command(words: list[str]) -> bool:
    return not words or bool(near(words[0], COMMANDS.names()))


def _prose(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines outside of quotes and blocks of code."""
    fenced = False
    for line in lines:
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith(("    ", "\t")) and not line.lstrip(" ").startswith(">"):
            yield line


def _alone(lines: Sequence[str]) -> str:
    """Return the command in a block of code that is the whole comment, else nothing."""
    inner = [line for line in lines if line.strip() and not _FENCE.match(line)]
    fenced = bool(_FENCE.match(lines[0]) and len(inner) == 1)
    return _resembles(inner[0]) if fenced else ""


def _answer_misplaced(shown: str) -> Mistyped:
    because = "Nothing was done: a command is read only at the start of a comment, as plain text."
    return Mistyped(_word_of(shown), f"{because} Write {code(shown)} in a new comment.")


def _word_of(shown: str) -> str:
    return plain("".join(shown.split()[1:2]), 40).replace(":", " ") or "help"


def _command(name: str, rest: str, below: str) -> Parsed | Mistyped:
    if because := unknown_command(name):
        return Mistyped(plain(name, 40).replace(":", " "), because)
    command = COMMANDS.load(name)
    if command.TAKES == "none":
        if rest:
            message = f"`/cardinal {name}` takes no text, so nothing was done. {command.INSTEAD}"
            return Mistyped(name, message.rstrip())
        return Parsed(name, "")
    text = rest
    if command.TAKES in ("text", "optional text"):
        unquoted = (line for line in below.split("\n") if not line.lstrip(" ").startswith(">"))
        text = "\n".join((rest, *unquoted)).strip()[:MAX_ARGUMENT]
        if not text and command.TAKES == "text":
            return Mistyped(name, f"`/cardinal {name}` needs a text: {code(command.USAGE)}.")
    return Parsed(name, text)
