"""`/cardinal agent` on a card: its next run is played by whom people chose, while the policy lists them."""

from ledger.events.instruction import AgentPinned
from ledger.events.run import RunQueued
from rules.policy.column import ColumnPolicy
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column

WORKS = [
    {"edit": {"path": "shop/greeting.py", "content": '"""Say hello."""\n'}},
    {"finish": {"done": "It says hello."}},
]


def models(cardinal: Cardinal) -> list[str]:
    """Return the models of the runs in their order."""
    return [ColumnPolicy.model_validate_json(one.settings).model for one in cardinal.events(RunQueued)]


def test_the_next_run_is_played_by_the_choice_until_it_is_taken_back(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(agents="[scripted/other]"))
    cardinal.scenario(work=WORKS)
    cardinal.scenario("other", work=WORKS)
    item = cardinal.new()
    cardinal.settle()
    cardinal.say(item, "/cardinal agent scripted/other")
    cardinal.say(item, "/cardinal agent scripted/other")
    cardinal.say(item, "/cardinal agent none", who="mallory")
    cardinal.settle()
    assert [one.choice for one in cardinal.events(AgentPinned)] == ["scripted/other"]
    cardinal.drag(item, "In Progress")
    cardinal.settle(work=True)
    assert (models(cardinal), cardinal.run_of(item).ending) == (["other"], "succeeded")
    cardinal.set_policy(with_column())  # it lists nobody any more
    cardinal.say(item, "/cardinal retry")
    cardinal.settle()
    assert models(cardinal) == ["other", "test"]
