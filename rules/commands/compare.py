"""Compare two runs of the card: their ends, checks, changes, cost, time and reports."""

from collections.abc import Callable
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.run import RERUN
from ledger.rows.runs import ComparedRun
from rules.chatops.replies import say
from rules.commands.rerun import RUN
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import code, count, plain, usd

USAGE = "/cardinal compare <run> [run]"
ROLE = Role.READ
TAKES = "text"
INSTEAD = "Name one run to compare with the card's own, or two, such as `/cardinal compare r12 r13`."
NAMES_RUN = True
IS_SAFE = True
MAX_REPORT = 400  # characters of each report
NONE = "–"
_ROWS: tuple[tuple[str, Callable[[ComparedRun], str]], ...] = (
    ("State", lambda it: ": ".join(filter(None, (it.run.status, plain(it.run.reason, 40))))),
    ("Agent", lambda it: plain(it.run.agent, 60)),
    ("From", lambda it: _describe_origin(it)),
    ("Checks", lambda it: it.gate or "none yet"),
    ("Change", lambda it: _describe_change(it)),
    ("Cost", lambda it: f"{usd(it.run.usd)}, {count(it.run.turns, 'turn')}"),
    ("Time at work", lambda it: f"{it.run.active_s / 60:,.1f} min"),
    ("Branch", lambda it: code(it.run.branch, 150) if it.run.pushed_head else NONE),
    ("Report", lambda it: code(it.done, MAX_REPORT) if it.done else NONE),
)


def find_compared(argument: str, own: str) -> tuple[str, ...]:
    """Return the two runs in the words after the command, one of them perhaps the card's own; () else."""
    words = argument.replace("`", " ").lower().split()
    named = (own, *words) if len(words) == 1 and own else tuple(words)
    both = len(set(named)) == 2 and len(named) == 2
    return named if both and all(map(RUN.fullmatch, named)) else ()


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Answer with a table; where the files are side by side, and how one of the two is chosen, is below."""
    named, found = find_compared(given.argument, snapshot.run_id or ""), snapshot.compared
    if not named:
        return say(snapshot, given, INSTEAD)
    if len(found) < len(named):
        known = {it.run.run_id for it in found}
        missing = " and no ".join(name for name in named if name not in known)
        return say(snapshot, given, f"This card has no {missing}: compare two of its own runs.")
    head = f"| | {' | '.join(named)} |\n| --- | --- | --- |"
    rows = "\n".join(f"| {name} | {' | '.join(_cell(of(it)) for it in found)} |" for name, of in _ROWS)
    below = f"The files side by side: `cardinal compare {' '.join(named)}`, or the page of either run."
    beside = [it.run.run_id for it in found if it.run.kind == RERUN]
    choose = f" `/cardinal choose {beside[-1]}` makes it the card's." if beside else ""
    return say(snapshot, given, f"{head}\n{rows}\n\n{below}{choose}", is_done=True)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _describe_origin(compared: ComparedRun) -> str:
    run = compared.run
    if not run.again_of:
        return NONE
    return f"{run.again_of}, at its {plain(run.forked_at, 60)}" if run.forked_at else f"{run.again_of}, again"


def _describe_change(compared: ComparedRun) -> str:
    run = compared.run
    size = f"{count(run.files_changed, 'file')}, {count(run.lines_changed, 'line')}"
    return f"{size}, {count(run.commits, 'commit')}" if run.files_changed else "none"
