"""Cards that agents make and start themselves: they run as if dragged, and end at the policy's limits."""

from ledger.events.instruction import SkillsPinned
from ledger.events.related import CardMade, PipelineLimited
from ledger.events.run import RunQueued
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column

CARD = {
    "title": "One more",
    "body": "The rest.",
    "reason": "It is much.",
    "start": True,
    "skills": ["fuzzing"],
}
WORKS = [
    {"create_card": CARD},
    {"edit": {"path": "shop/greeting.py", "content": '"""Say hello."""\n'}},
    {"finish": {"done": "It says hello."}},
]


def test_an_agent_starts_agents_until_a_limit_says_so_once(cardinal: Cardinal) -> None:
    pipelines = "{depth: 1, start: true, skills: [fuzzing]}"
    cardinal.set_policy(with_column(pipelines=pipelines))
    cardinal.scenario(work=WORKS)
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    cardinal.catch_up(work=True)
    assert cardinal.run_of(item).ending == "succeeded"
    first, second = cardinal.events(RunQueued)
    assert (first.by, second.by, second.column) == (first.by, first.by, "In Progress")
    assert [event.names for event in cardinal.events(SkillsPinned)] == [("fuzzing",)]
    assert len(cardinal.events(CardMade)) == 1
    assert [(one.limit, one.run_id) for one in cardinal.events(PipelineLimited)] == [("depth", second.run_id)]
    cardinal.assert_nothing_is_stuck()
