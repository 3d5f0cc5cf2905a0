"""`/cardinal limit`: the time, turns and dollars of a card's next runs, below the board's caps."""

from typing import Any

import pytest

from ledger.events.preference import LimitsChosen
from ledger.states import RunState
from rules.card.preferences import apply_limits, describe_next_run
from rules.chatops.parser import Parsed, Permitted, permit
from rules.errors import PolicyError
from rules.intents.outbound import Say
from rules.policy.column import ColumnPolicy
from rules.policy.model import Policy, parse
from tests.rules.commands.cases import handled, told
from tests.rules.scene import CARD, asks, card, given, only, run

BIG = "big: {timeout_minutes: 90, max_turns: 200, budget_usd: 8, model: opus}"


def capped(limits: str = "{}", labels: str = BIG, column: str = "mode: fix") -> Policy:
    columns = f"{{Work: {{archetype: execution, {column}}}}}"
    board = f"  limits: {limits}\n  labels: {{{labels}}}\n  columns: {columns}\n"
    return parse(f"version: 1\nboard:\n{board}", home="acme/board")


@pytest.mark.parametrize(
    ("text", "minutes", "turns", "usd"),
    [
        ("time 2h", 120, 0, 0),
        ("time 90m", 90, 0, 0),
        ("time 1h30m", 90, 0, 0),
        ("time 45", 45, 0, 0),
        ("time 24h", 1440, 0, 0),
        ("turns 120", 0, 120, 0),
        ("budget $5.50", 0, 0, 5.5),
        ("time=2h, turns=120, budget=5", 120, 120, 5),
    ],
)
def test_each_limit_is_recorded(text: str, minutes: int, turns: int, usd: float) -> None:
    assert handled("limit", card(), text, role="maintain") == (
        LimitsChosen(CARD, minutes, turns, usd, "bob"),
    )


def test_an_effort_is_chosen_beside_the_limits_and_given_back() -> None:
    known = card(limit_minutes=60, limit_effort="low")
    for text, left in (("effort HIGH", "high"), ("effort none", ""), ("time 60", "low")):
        chosen = LimitsChosen(CARD, 60, 0, 0.0, "bob", left)
        assert handled("limit", known, text, role="maintain") == (chosen,)
    assert chosen.describe() == "bob chose limits of the next runs: 60 min, effort low"


def test_a_limit_that_is_not_named_stays_and_none_gives_it_back() -> None:
    known = card(limit_minutes=60, limit_turns=80, limit_usd=3.0)
    for text, left in (("turns 9", (60, 9, 3.0)), ("time none", (0, 80, 3.0)), ("none", (0, 0, 0.0))):
        assert handled("limit", known, text, role="maintain") == (LimitsChosen(CARD, *left, "bob"),)


@pytest.mark.parametrize(
    "text",
    ["", "time", "time 0", "time 25h", "time -1h", "time 2 h", "turns 0", "turns 1e3", "turns 10001",
     "budget 0", "budget 1001", "budget nan", "budget inf", "model opus", "2h", "time 2h turns",
     "time ٣h", "turns ٣", "effort", "effort max", "effort high low"],
)  # fmt: skip
def test_what_is_not_a_limit_changes_nothing_and_says_how(text: str) -> None:
    assert "Say `/cardinal limit time 2h`" in told("limit", card(), text, role="maintain")


@pytest.mark.parametrize(
    ("limits", "text", "cap"),
    [
        ("{minutes_per_run: 100}", "time 2h", ("120 minutes", "minutes_per_run", "100 minutes")),
        ("{turns_per_run: 200}", "turns 201", ("201 turns", "turns_per_run", "200 turns")),
        ("{usd_per_card: 9}", "budget 9.01", ("$9.01", "usd_per_card", "$9.00")),
    ],
)
def test_a_cap_of_the_board_wins_and_is_named(limits: str, text: str, cap: tuple[str, str, str]) -> None:
    said = only(
        asks(card("Work"), given("limit", text, role="maintain"), by=capped(limits, labels="")), Say
    ).text
    wanted, key, most = cap
    assert said == f"Nothing was changed: {wanted} is more than the board's `{key}` in the policy, {most}."


@pytest.mark.parametrize(
    ("limits", "cap"),
    [
        ("{minutes_per_run: 80}", "90 is more than `limits: minutes_per_run`, 80"),
        ("{turns_per_run: 50}", "60 is more than `limits: turns_per_run`, 50"),
        ("{usd_per_card: 7.5}", "8 is more than `limits: usd_per_card`, 7.5"),
    ],
)
def test_a_policy_with_a_run_above_a_cap_is_refused_and_names_it(limits: str, cap: str) -> None:
    with pytest.raises(PolicyError, match=cap):
        capped(limits)


@pytest.mark.parametrize("live", [run(), run(RunState.QUEUED)])
def test_a_live_run_keeps_its_limits_and_the_answer_says_so(live: Any) -> None:
    intents = asks(card("Work", run=live), given("limit", "turns 99", role="maintain"), by=capped())
    assert only(intents, LimitsChosen).turns == 99
    assert "r1 keeps the limits that it was queued with" in only(intents, Say).text


def test_only_who_may_give_dollars_may_give_limits() -> None:
    for role, permitted in (("write", False), ("maintain", True)):
        leave = permit(capped(), Parsed("limit", ""), role=role, login="bob")
        assert isinstance(leave, Permitted) is permitted


def test_no_answer_of_a_model_may_set_a_label_that_gives_limits() -> None:
    column = "Idea: {archetype: inbox, on_entry: [{action: ai_task, prompt: x, labels: [Big]}]}"
    with pytest.raises(PolicyError, match=r"`Big` chooses a card's .* a model's answer must not do"):
        parse(f"version: 1\nboard:\n  labels: {{{BIG}}}\n  columns: {{{column}}}\n", home="acme/board")


def _limits(policy: Policy, *, own_agent: bool = True, **known: Any) -> tuple[Any, ...]:
    column: ColumnPolicy = policy.board.columns["Work"]
    rules = apply_limits(policy, column, card("Work", **known), own_agent=own_agent)
    return rules.timeout_minutes, rules.max_turns, rules.budget_usd, rules.model


def test_a_run_has_the_limits_of_its_card_in_place_of_its_columns() -> None:
    big: dict[str, Any] = {"labels": ("Big",)}
    assert _limits(capped()) == (30, 60, 2.0, "default")
    assert _limits(capped(), **big) == (90, 200, 8.0, "opus")
    assert _limits(capped(), **big, own_agent=False) == (90, 200, 8.0, "default")
    assert _limits(capped(), **big, barred=("Big",)) == (30, 60, 2.0, "default")
    assert _limits(capped(), **big, limit_turns=70) == (90, 70, 8.0, "opus")


def test_the_effort_of_a_command_counts_before_that_of_a_label_and_that_before_the_columns() -> None:
    policy = capped(labels="hard: {effort: high}", column="effort: low")
    column = policy.board.columns["Work"]
    for known, effort in (
        ({}, "low"),
        ({"labels": ("hard",)}, "high"),
        ({"labels": ("hard",), "limit_effort": "medium"}, "medium"),
    ):
        row = card("Work", **known)
        assert apply_limits(policy, column, row, own_agent=False).effort == effort
        assert describe_next_run(policy, row).partition(";")[0].endswith(f"effort {effort}")


def test_the_first_of_two_labels_counts_key_by_key() -> None:
    policy = capped(labels="small: {max_turns: 10}, big: {max_turns: 200, timeout_minutes: 90}")
    assert _limits(policy, labels=("big", "small")) == (90, 10, 2.0, "default")


def test_a_cap_that_was_lowered_since_the_choice_still_wins() -> None:
    policy = capped("{minutes_per_run: 40, turns_per_run: 80, usd_per_card: 4}", labels="")
    assert _limits(policy, limit_minutes=120, limit_turns=300, limit_usd=9.0) == (40, 80, 4.0, "default")


@pytest.mark.parametrize(
    ("column", "minutes", "usd", "said"),
    [
        ("Work", 0, 0.0, "30 minutes, 60 turns, $2.00"),
        ("Work", 120, 0.0, "120 minutes, 60 turns, $2.00; bob chose 120 minutes"),
        ("Work", 120, 5.0, "120 minutes, 90 turns, $5.00, chosen by bob"),
        ("Elsewhere", 120, 0.0, "120 minutes, chosen by bob"),
        ("Elsewhere", 0, 0.0, ""),
    ],
)
def test_limits_are_said_once_with_who_chose_them(column: str, minutes: int, usd: float, said: str) -> None:
    turns = 90 if usd else 0
    row = card(column, limit_minutes=minutes, limit_turns=turns, limit_usd=usd, limits_by="bob")
    assert describe_next_run(capped(), row) == said
