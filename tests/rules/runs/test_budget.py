"""Dollars that runs share: no promise is made twice, and a run that must wait is told by which limit."""

from typing import Any

import pytest

from ledger.events.budget import BudgetReserved
from ledger.ids import CardId, RunId
from ledger.model.spend_limits import Limit
from rules.policy.model import Policy, parse
from rules.runs.budget import BudgetAllocator, Share
from tests.rules.scene import CARD, R1

WISH = Share(R1, CARD, "In Progress", "alice", 2.0)


def limited(limits: str = "", column: str = "") -> Policy:
    shape = f"columns:\n    In Progress: {{archetype: execution{column}}}\n  limits: {{{limits}}}\n"
    return parse(f"version: 1\nboard:\n  {shape}", home="acme/board")


def granted(usd: Any, by_rule: str = "", limit_usd: float = 0.0, run_id: RunId = R1) -> BudgetReserved:
    return BudgetReserved(run_id, usd, by_rule, limit_usd)


def other(number: int, usd: float, **about: str) -> Share:
    known = {"card_id": f"c{number}", "column": "Other", "by": "bob", **about}
    return Share(RunId(f"r{number}"), CardId(known["card_id"]), known["column"], known["by"], usd)


def test_where_nothing_is_scarce_a_run_gets_what_is_left_of_its_own_budget() -> None:
    assert BudgetAllocator(limited(), {}, ()).grant(WISH) == granted(2.0)


EACH = [
    (Limit.CARD, CARD, limited("usd_per_card: 20"), {"card_id": CARD}),
    (Limit.COLUMN, "In Progress", limited(column=", usd_per_day: 20.0"), {"column": "In Progress"}),
    (Limit.PERSON, "alice", limited("usd_per_person: 20"), {"by": "alice"}),
    (Limit.DAY, "", limited("usd_per_day: 20"), {}),
    (Limit.BOARD, "", limited("usd_total: 20"), {}),
]


@pytest.mark.parametrize(("limit", "name", "rules", "about"), EACH, ids=[str(one[0]) for one in EACH])
def test_each_limit_counts_what_was_spent_and_what_is_reserved_under_it_alone(
    limit: Limit, name: str, rules: Policy, about: dict[str, str]
) -> None:
    spent = {(limit, name): 18.0, (limit, "somebody else's"): 999.0}
    assert BudgetAllocator(rules, spent, [other(7, 1.0, **about)]).grant(WISH) == granted(1.0, limit, 20.0)
    assert BudgetAllocator(rules, spent, ()).grant(WISH) == granted(2.0)
    waits = BudgetAllocator(rules, spent, [other(7, 2.0, **about)]).grant(WISH)
    assert isinstance(waits, str)
    assert "of $20.00 is used up: $18.00 spent and $2.00 reserved by r7: raise" in waits
    if about:
        assert BudgetAllocator(rules, spent, [other(7, 2.0)]).grant(WISH) == granted(2.0)


def test_the_tightest_limit_counts() -> None:
    rules = limited("usd_per_card: 20, usd_total: 100")
    spent = {(Limit.CARD, CARD): 18.5, (Limit.BOARD, ""): 99.0}
    assert BudgetAllocator(rules, spent, ()).grant(WISH) == granted(1.0, Limit.BOARD, 100.0)


def test_with_too_little_a_run_waits_and_says_what_can_be_done() -> None:
    rules = limited("usd_per_card: 20")
    assert BudgetAllocator(rules, {(Limit.CARD, CARD): 19.89}, ()).grant(WISH) == granted(
        pytest.approx(0.11), Limit.CARD, 20.0
    )
    assert BudgetAllocator(rules, {(Limit.CARD, CARD): 19.91}, ()).grant(WISH) == (
        "the card's budget of $20.00 is used up: $19.91 spent: raise `limits: {usd_per_card: …}`"
    )


def test_a_run_that_wants_less_than_the_least_is_not_kept_waiting_by_it() -> None:
    assert BudgetAllocator(limited("usd_per_card: 20"), {(Limit.CARD, CARD): 19.96}, ()).grant(
        Share(R1, CARD, "In Progress", "alice", 0.03)
    ) == granted(0.03)


def test_what_is_granted_counts_at_once() -> None:
    allocator = BudgetAllocator(limited("usd_total: 3"), {}, ())
    first = allocator.grant(WISH)
    assert first == granted(2.0)
    assert isinstance(first, BudgetReserved)
    allocator.reserve(WISH, first)
    second = Share(RunId("r2"), CardId("c2"), "In Progress", "bob", 2.0)
    assert allocator.grant(second) == granted(1.0, Limit.BOARD, 3.0, RunId("r2"))
    assert allocator.grant(WISH) == granted(2.0), "its own reservation does not stand in its way"


def test_many_holders_are_not_all_named() -> None:
    waits = BudgetAllocator(limited("usd_total: 3"), {}, [other(n, 1.0) for n in range(2, 8)]).grant(WISH)
    assert isinstance(waits, str)
    assert "reserved by r2, r3, r4 and 3 more" in waits
