"""The guardrails of a repository's policy, from its file to the question on the card."""

from bot import orders
from runner import guards
from tests.bot.core.cardinal import Cardinal

POLICY = b"""\
version: 1
repository:
  guardrails:
    protect: ["infra/**"]
    allow: ["**"]
    dependencies: deny
    max_file_kb: 7
"""


def test_every_guard_gets_its_word_from_the_policy_of_the_cards_own_repository(cardinal: Cardinal) -> None:
    files: dict[str, bytes | None] = {".github/cardinal.yml": POLICY}
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "Rules", actor=alice)
    item = cardinal.new(column="In Progress")
    cardinal.settle()
    run_id = cardinal.run_of(item).run_id
    assert cardinal.claim(run_id)
    rules = orders.make(cardinal.shop, run_id, cardinal.leases[run_id])[0].guards
    assert set(rules.actions) == set(guards.names())
    assert [rules.action(name) for name in ("dependencies", "secrets", "modes")] == ["deny", "deny", "ask"]
    assert (rules.protect, rules.allow, rules.max_file_kb) == (("infra/**",), ("**",), 7)


def test_what_a_guard_asks_is_a_question_on_the_card_and_the_answer_publishes(cardinal: Cardinal) -> None:
    lock = {"edit": {"path": "package-lock.json", "content": "{}\n"}}
    cardinal.scenario(work=[lock, {"commit": "Lock it"}, {"finish": {"done": "Locked."}}])
    item = cardinal.new(column="In Progress")
    cardinal.settle(work=True)
    asked = cardinal.comment(item, "waits for you: the guardrails ask").body
    assert "package-lock.json" in asked
    assert "dependencies: ask" in asked
    cardinal.say(item, "1")
    cardinal.settle(work=True)
    run = cardinal.run_of(item)
    assert run.ending == "succeeded", run.detail
    assert cardinal.pull_of(item)
    cardinal.assert_nothing_is_stuck()
