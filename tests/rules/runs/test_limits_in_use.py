"""Limits in use: what runs hold and what they spent, of what the policy allows."""

from ledger.ids import CardId, RunId
from ledger.model.spend_limits import Limit
from rules.runs.budget import Share
from rules.runs.limits_in_use import CHECKS, limits_in_use
from rules.runs.queue import Load
from tests.rules.scene import POLICY

LOAD = Load(
    6,
    {"acme/shop": 2},
    {"In Progress": 3},
    {(Limit.DAY, ""): 20.0, (Limit.PERSON, "bob"): 4.0, (Limit.CARD, "c1"): 9.0},
    (Share(RunId("r1"), CardId("c1"), "In Progress", "ann", 2.5),),
    checks=1,
)


def test_each_limit_says_how_much_of_it_is_in_use() -> None:
    listed = limits_in_use(POLICY, LOAD)
    figures = {(use.meaning, use.place): (use.used, use.allowed) for use in listed if not use.dollars}
    assert figures == {
        ("Runs at the same time on the board.", ""): (6, 6),
        (CHECKS, ""): (1, 2),
        ("Runs at the same time in this column.", "In Progress"): (3, 3),
        ("Runs at the same time in one repository.", "acme/shop"): (2, 2),
    }
    (day,) = (use for use in listed if use.dollars)
    assert (day.used, day.reserved, day.allowed, day.is_reached) == (22.5, 2.5, 50, False)
    assert {use.place for use in listed if use.is_reached} == {"", "In Progress", "acme/shop"}


def test_limits_that_the_policy_sets_are_there_with_everyone_who_uses_them() -> None:
    limits = POLICY.limits.model_copy(update={"usd_per_person": 4.0, "usd_total": 100.0, "usd_per_card": 9.0})
    board = POLICY.board.model_copy(update={"limits": limits})
    listed = limits_in_use(POLICY.model_copy(update={"board": board}), LOAD)
    people = {use.place: (use.used, use.is_reached) for use in listed if "one person" in use.meaning}
    assert people == {"ann": (2.5, False), "bob": (4.0, True)}
    assert [use.used for use in listed if "in total, ever" in use.meaning] == [2.5]
