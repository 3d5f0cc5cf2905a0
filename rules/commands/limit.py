"""Choose limits of this card's next runs, as `time 2h turns 120 budget 5 effort high`; `none` resets them."""

import re
from dataclasses import asdict, replace
from datetime import datetime

from ledger.events.conversation import CommandGiven
from ledger.events.preference import LimitsChosen
from ledger.model.policy_settings import EFFORTS
from rules.card.preferences import CardLimits, describe_limits, limit_problem, read_chosen_limits
from rules.chatops.replies import say
from rules.commands.budget import MAX_USD, MIN_USD
from rules.intents.outbound import Decision
from rules.policy.model import Policy
from rules.policy.roles import Role
from rules.snapshot import Snapshot
from rules.text import alternatives, code, usd

USAGE = "/cardinal limit <limits>|none"
ROLE = Role.MAINTAIN
TAKES = "optional"
MAX_MINUTES, MAX_TURNS = 1440, 10_000  # as in a column
_TIME = re.compile(r"(?:(?P<hours>[0-9]{1,2})h)?(?:(?P<minutes>[0-9]{1,4})(?:m|min)?)?", re.ASCII)
_TURNS = re.compile(r"[0-9]{1,5}", re.ASCII)
_USD = re.compile(r"\$?(?P<usd>[0-9]{1,6}(?:\.[0-9]{1,2})?)", re.ASCII)
_SAY = "Say `/cardinal limit time 2h`, `turns 120`, `budget 5`, `effort high`, several of them, or `none`."


def handle(policy: Policy, snapshot: Snapshot, given: CommandGiven, now: datetime) -> Decision:
    """Record the limits of runs that are queued from now on; a live run keeps its own."""
    words = given.argument.replace(",", " ").replace("=", " ").lower().split()
    limits = _read(read_chosen_limits(snapshot), words)
    if isinstance(limits, str):
        return say(snapshot, given, f"Nothing was changed: {limits}. {_SAY}" if limits else _SAY)
    if problem := limit_problem(policy, limits):
        return say(snapshot, given, f"Nothing was changed: {problem}.")
    chosen = LimitsChosen(snapshot.card_id, **asdict(limits), by=given.by)
    said = describe_limits(limits) or "the limits of its column"
    decision = Decision((chosen,), (f"{given.by} chose for the card's next runs: {said}",))
    run = snapshot.live_run
    if run is None:
        return decision
    text = (
        f"The card's next runs have {said}. {run.run_id} keeps the limits that it was queued with:"
        " `/cardinal budget +2` gives it more dollars."
    )
    return decision + say(snapshot, given, text, is_done=True)


def _read(before: CardLimits, words: list[str]) -> CardLimits | str:
    """Return the limits with those that the words name, or what is wrong; an empty text for no words."""
    if words == ["none"]:
        return CardLimits()
    limits = before
    for name, value in zip(words[::2], (*words[1::2], ""), strict=False):
        changed = _change(limits, name, value)
        if isinstance(changed, str):
            return changed
        limits = changed
    return limits if words else ""


def _change(limits: CardLimits, name: str, value: str) -> CardLimits | str:
    none = value == "none"
    match name:
        case "time":
            found = _TIME.fullmatch(value) if value else None
            minutes = 60 * int(found["hours"] or 0) + int(found["minutes"] or 0) if found else 0
            if not none and not 1 <= minutes <= MAX_MINUTES:
                return f"{code(value, 40)} is not a time from 1m to 24h"
            return replace(limits, minutes=minutes)
        case "turns":
            turns = int(value) if _TURNS.fullmatch(value) else 0
            if not none and not 1 <= turns <= MAX_TURNS:
                return f"{code(value, 40)} is not a number of turns from 1 to {MAX_TURNS}"
            return replace(limits, turns=turns)
        case "budget":
            amount = _USD.fullmatch(value)
            dollars = float(amount["usd"]) if amount else 0.0
            if not none and not MIN_USD <= dollars <= MAX_USD:
                return f"{code(value, 40)} is not an amount from {usd(MIN_USD)} to {usd(MAX_USD)}"
            return replace(limits, usd=dollars)
        case "effort":
            if not none and value not in EFFORTS:
                return f"{code(value, 40)} is not an effort: choose {alternatives(EFFORTS)}"
            return replace(limits, effort="" if none else value)
    return f"{code(name, 40)} is not a limit"
