"""The repository that a card is about: its own, or for cards of the board's home a label, line or field."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256

from ledger.events.placement import RepositoryResolved
from ledger.ids import CardId
from ledger.states import CardState, Reason
from rules.intents.internal import show_card
from rules.intents.outbound import Decision, Say
from rules.policy.model import Policy
from rules.snapshot import Snapshot
from rules.text import alternatives, code, sentence

ASKS = "which repository? "
LOOKING = f"{ASKS}Cardinal looks at the card"  # it was not seen since such cards have to say it
FIELD = "Repo"
_MAX_CHOICES = 6
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,38})/[A-Za-z0-9._-]{1,100}"
_LINE = re.compile(rf" {{0,3}}Repo:[ \t]*(?P<name>{_NAME})[ \t]*", re.IGNORECASE | re.ASCII)
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints on a card of the board's home. `trusted`: the description's author has write access."""

    card_id: CardId
    labels: tuple[str, ...]
    lines: tuple[str, ...]
    field: str
    author: str
    trusted: bool


def is_shared(policy: Policy, repository: str | None) -> bool:
    """Tell whether issues of that repository are about others: those of the board's home, where wanted."""
    home = policy.board.home or ""
    named = policy.board.repositories.are_named
    return named and bool(home) and home.casefold() == (repository or "").casefold()


def lines_of(body: str) -> tuple[str, ...]:
    """Return the repositories that lines of their own name, each once: not those in quotes or code."""
    names = (match["name"] for line in _lines_of_text(body) if (match := _LINE.fullmatch(line)))
    return tuple({name.casefold(): name for name in reversed([*names])}.values())[::-1]


def _lines_of_text(body: str) -> Iterator[str]:
    """Yield the lines that are neither quoted, nor indented as code, nor between fences."""
    fence = ""
    for line in body.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        mark = _FENCE.match(line)
        if fence:
            ends = mark is not None and mark["mark"].startswith(fence) and not line.strip(" `~")
            fence = "" if ends else fence
        elif mark:
            fence = mark["mark"]
        else:
            yield line


def resolve_target(policy: Policy, hints: Hints) -> RepositoryResolved:
    """Return the repository named by label, line or field, in that order; or the question for people."""
    card_id = hints.card_id
    by_label = {label.casefold(): target for label, target in policy.board.repositories.labels.items()}
    labels = [label for label in hints.labels if label.casefold() in by_label]
    targets = {by_label[label.casefold()].casefold(): label for label in labels}
    if len(targets) > 1:
        named = [f"{code(label)} ({by_label[label.casefold()]})" for label in labels[:_MAX_CHOICES]]
        return _unclear(card_id, f"labels name {' and '.join(named)}: leave only one of them")
    if labels:
        return RepositoryResolved(card_id, by_label[labels[0].casefold()], "label", labels[0], "")
    if hints.lines and hints.trusted:
        if len(hints.lines) > 1:
            lines = " and ".join(code(f"Repo: {name}") for name in hints.lines[:_MAX_CHOICES])
            return _unclear(card_id, f"the description says {lines}: leave only one of them")
        return RepositoryResolved(card_id, hints.lines[0], "line", f"Repo: {hints.lines[0]}", "")
    field = hints.field.strip()
    if field:
        if not re.fullmatch(_NAME, field, re.ASCII):
            return _unclear(card_id, f"the field {FIELD} says {code(field)}, which is not owner/name")
        return RepositoryResolved(card_id, field, "field", field, "")
    if hints.lines:
        said = f"{code(hints.author)}, who has no write access here, names {code(hints.lines[0])}: "
        return _unclear(card_id, said + _choices(policy))
    return _unclear(card_id, f"nothing says it: {_choices(policy)}")


def unreachable(placed: RepositoryResolved, why: str) -> RepositoryResolved:
    """Return the same with a question, since nothing can be done in the repository that was named."""
    return _unclear(placed.card_id, f"{code(placed.value)} means {code(placed.repository)}, {why}")


def unchosen(placed: RepositoryResolved, by: str, why: str = "may not move cards here") -> RepositoryResolved:
    """Return the same with a question, since the person who set the label or field may not choose: `why`."""
    if not by:
        who = f"it is not known who set the {placed.rule} to {code(placed.value)}"
    else:
        who = f"{code(by)} set the {placed.rule} to {code(placed.value)} and {why}"
    return replace(
        placed, repository="", problem=f"{ASKS}{who}: ask someone who may move cards to set it again"
    )


def _unclear(card_id: CardId, problem: str) -> RepositoryResolved:
    return RepositoryResolved(card_id, "", "none", "", f"{ASKS}{problem}")


def _choices(policy: Policy) -> str:
    labels = [
        f"the label {code(label)} ({target})" for label, target in policy.board.repositories.labels.items()
    ]
    more = len(labels) - _MAX_CHOICES
    shown = [*labels[:_MAX_CHOICES], *([f"{more} more labels"] if more > 0 else [])]
    ways = [*shown, "a line `Repo: owner/name` in the description", f"the field {FIELD}"]
    return f"set {alternatives(ways)}"


def problem(policy: Policy, snapshot: Snapshot) -> str:
    """Return why it is not clear where a run would work; empty where it is."""
    target = snapshot.target
    if snapshot.wrong_owner_reason:
        return f"{ASKS}{snapshot.wrong_owner_reason}"
    if snapshot.open_pull:
        return ""  # it says where
    if target is None:
        return LOOKING if _is_unread(policy, snapshot) else ""
    if target.problem:
        return target.problem
    worked_in = snapshot.worked_in
    if worked_in and worked_in.casefold() != target.repository.casefold():
        said = f"its work began in {worked_in}, and it now names {target.repository}: undo that"
        return f"{ASKS}{said}, or open an issue of its own"
    return ""


def _is_unread(policy: Policy, snapshot: Snapshot) -> bool:
    """Tell whether the next sync of the card finds its repository, so that nobody is asked yet."""
    known = snapshot.wrong_owner_reason or snapshot.open_pull or snapshot.target
    return not known and is_shared(policy, snapshot.repository)


def ask_repository(policy: Policy, snapshot: Snapshot) -> Decision:
    """Block the card with the question, and put it in a comment: once for each question."""
    because = problem(policy, snapshot)
    decision = show_card(CardState.BLOCKED, because, Reason.REPOSITORY_UNCLEAR)
    if _is_unread(policy, snapshot):
        return decision
    digest = sha256(because.encode()).hexdigest()[:16]
    notice = Say(
        snapshot.card_id, f"repository:{digest}", f"{sentence(because)} No code is touched until then."
    )
    return decision + Decision((notice,), (because,))
