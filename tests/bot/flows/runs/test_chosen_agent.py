"""`/cardinal agent` on a card: its next run is played by whom people chose, while the policy lists them."""

from ledger.events.instruction import AgentPinned, SkillsChosen
from ledger.events.run import RunEnded, RunQueued
from ledger.events.stage import StageEntered
from ledger.states import Ending
from rules.policy.column import ColumnPolicy
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column

WORKS = [
    {"edit": {"path": "shop/greeting.py", "content": '"""Say hello."""\n'}},
    {"finish": {"done": "It says hello."}},
]


SPECIALISTS = "  specialists: {prober: {agent: scripted, model: other, persona: tester, skills: [fuzzing]}}\n"
SKILL = "---\nname: fuzzing\ndescription: Odd input.\n---\nTry every odd input.\n"


def models(cardinal: Cardinal) -> list[str]:
    """Return the models of the runs in their order."""
    return [ColumnPolicy.model_validate_json(event.settings).model for event in cardinal.events(RunQueued)]


def test_the_next_run_is_played_by_the_choice_until_it_is_taken_back(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(agents="[scripted/other]"))
    cardinal.scenario(work=WORKS)
    cardinal.scenario("other", work=WORKS)
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.say(item, "/cardinal agent scripted/other")
    cardinal.say(item, "/cardinal agent scripted/other")
    cardinal.say(item, "/cardinal agent none", who="mallory")
    cardinal.catch_up()
    assert [event.choice for event in cardinal.events(AgentPinned)] == ["scripted/other"]
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert (models(cardinal), cardinal.run_of(item).ending) == (["other"], "succeeded")
    cardinal.set_policy(with_column())  # it lists nobody any more
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    assert models(cardinal) == ["other", "test"]


def test_a_label_hires_a_specialist_with_its_persona_and_skills_and_a_mention_hires_nobody(
    cardinal: Cardinal,
) -> None:
    files: dict[str, bytes | None] = {".github/cardinal/skills/fuzzing/SKILL.md": SKILL.encode()}
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "A skill", actor=alice)
    cardinal.set_policy(with_column(agents="['@prober']") + SPECIALISTS)
    cardinal.scenario(work=WORKS)
    wish = {"title": "Probe it", "body": "Odd input.", "reason": "Not part of this.", "agent": "prober"}
    cardinal.scenario("other", stages={"prober": [{"create_card": wish}, *WORKS]})
    item = cardinal.new()
    cardinal.catch_up()
    cardinal.say(item, "@prober please look at this")
    cardinal.drag(item, "In Progress")
    cardinal.catch_up(work=True)
    assert (models(cardinal), cardinal.events(StageEntered)) == (["test"], [])
    cardinal.forge.store.issues.set_labels(issue_of(item), ["agent:prober"], actor=alice)
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    (stage,) = cardinal.events(StageEntered)
    assert (stage.stage, stage.persona, models(cardinal)) == ("prober", "tester", ["test", "other"])
    (skill,) = cardinal.events(SkillsChosen)[-1].considered
    assert (skill.name, skill.loaded, skill.why) == ("fuzzing", True, "by its column or specialist")
    issue = next(it for it in cardinal.repo.issues.values() if it.title == "Probe it")
    assert [label.name for label in issue.labels] == ["agent:prober"]


def test_the_column_s_other_agent_tries_once_after_a_failure(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(agents="[scripted/other]", retry="{with: scripted/other}"))
    item = cardinal.new(column="In Progress")
    cardinal.catch_up()
    for _ in range(2):
        run_id = cardinal.run_of(item).run_id
        assert cardinal.claim(run_id)
        cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "gave_up", "It stopped.", "working"))
        cardinal.catch_up()
    assert models(cardinal) == ["test", "other"]
    cardinal.comment(item, "tries again with", "scripted/other")
    assert cardinal.card(item).state == "failed"
    cardinal.say(item, "/cardinal agent scripted/other")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up()
    run_id = cardinal.run_of(item).run_id
    assert cardinal.claim(run_id)
    cardinal.write(run_id, RunEnded(run_id, Ending.FAILED, "gave_up", "It stopped.", "working"))
    cardinal.catch_up()
    assert models(cardinal) == ["test", "other", "other"]  # who has failed is nobody else
    cardinal.assert_nothing_is_stuck()
