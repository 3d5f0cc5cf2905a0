"""Begin a run beside the card's from where another one stood: at its plan, a question, or a stage's end."""

import re
from dataclasses import replace
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.rows.runs import PastRun
from rules.chatops.replies import say
from rules.commands.rerun import RUN, Wish, find_obstacle, queue_beside, with_whom
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code

USAGE = "/cardinal fork [run] --at plan|question|stage [--agent A] [--model M] [words]"
ROLE = Role.WRITE
TAKES = "optional text"
ALSO = ("retry", "approve")  # it starts a run, and its plan waits for nobody
INSTEAD = "Options: `--at`, `--agent` and `--model`; then what to do differently."
NAMES_RUN = True
PLAN, QUESTION, STAGE = "plan", "question", "stage"
_WORD = re.compile(r"\s*([^\s=]+)[ \t=]*")
_DASHES = re.compile(r"(?:--|—|–)(at|agent|model)")  # a telephone makes one dash of two


def read_fork(argument: str) -> Wish:
    """Return the wish in the text after the command: a run and options, then words for the agent."""
    said: dict[str, str] = {}
    rest = argument
    while match := _WORD.match(rest):
        word = match[1].strip("`")
        option = _DASHES.fullmatch(word)
        if option:
            value = _WORD.match(rest, match.end())
            if value is None or _DASHES.fullmatch(value[1].strip("`")) or option[1] in said:
                return Wish(wrong=word)
            said[option[1]], rest = value[1].strip("`"), rest[value.end() :]
        elif not word:
            rest = rest[match.end() :]
        elif "run" not in said and RUN.fullmatch(word.lower()):
            said["run"], rest = word.lower(), rest[match.end() :]
        else:
            break
    return Wish(**said, words=rest.strip())


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Queue the run where the point is kept; it continues in the session where the same agent plays it."""
    wish, past = read_fork(given.argument), snapshot.past
    queued = queue_beside(policy, given, past, wish, _obstacle(snapshot, past, wish))
    if isinstance(queued, str) or past is None:
        return say(snapshot, given, f"No run was started: {queued}.")
    run, point = past.run, _find_point(past, wish.at)
    forked = replace(queued, mode_rule="fork", asked=wish.words, base_commit=past.base, forked_at=point)
    because = f"one begins where {run.run_id} stood at its {point}{with_whom(queued)}, beside it"
    return Decision((forked,), (because,))


def _obstacle(snapshot: Snapshot, past: PastRun | None, wish: Wish) -> str:
    """Return why that run cannot be forked there, with the way out; empty when it can."""
    if wish.wrong:
        return f"{code(wish.wrong, 60)} is unclear. Write `{USAGE}`"
    because = find_obstacle(snapshot, past, wish.run)
    if because or past is None:
        return because
    run = past.run
    if not past.points:
        kept = "a point is kept when a plan waits for approval, a question is asked, or a stage ends"
        again = f"`/cardinal rerun {run.run_id}` does it again"
        return f"nothing of {run.run_id} is kept to begin at ({kept}): {again}"
    if not _find_point(past, wish.at):
        where = f"is not kept at {code(wish.at, 60)}" if wish.at else "can be forked at several points"
        known = alternatives(f"`--at {name}`" for name in past.points)
        return f"{run.run_id} {where}: choose {known}"
    if _find_point(past, wish.at) == QUESTION and not wish.words:
        return "the agent waits for an answer there: write another one behind the options"
    return ""


def _find_point(past: PastRun, at: str) -> str:
    """Return the kept point that is meant: a stage's name alone is enough, and so is nothing where only one
    is kept; empty for none.
    """
    if not at:
        return past.points[0] if len(past.points) == 1 else ""
    meant = {at, f"{STAGE}:{at}"}
    stages = (it for it in past.points if it.startswith(f"{STAGE}:") and at == STAGE)
    return next((it for it in past.points if it in meant), next(stages, ""))
