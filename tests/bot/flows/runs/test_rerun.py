"""A run that is done again, with briefing, policy and commit of then: its card does not notice."""

from bot.runspec.host_paths import make_host_paths
from bot.scheduler import cleanup
from ledger.events.run import BranchPushed, Progressed, RunQueued, RunStopAsked
from ledger.events.workspace import WorkspaceTaken
from ledger.ids import RunId
from ledger.log import event_store
from ledger.rows.runs import RunRow
from ledger.states import Ending, RunState
from ledger.views import briefings
from ledger.views.briefings import BriefingRow
from rules.policy.column import ColumnPolicy
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.conversation.test_operators_command_line import typed
from tests.bot.flows.settings import with_column
from tests.runner.flows.test_hosts import ASK, commit

FINISH = {"finish": {"done": "It greets."}}
SKILL = ".github/cardinal/skills/fuzzing/SKILL.md"
R1, R2, R3 = RunId("r1"), RunId("r2"), RunId("r3")


def briefing(cardinal: Cardinal, run_id: RunId) -> BriefingRow:
    with event_store.reading(cardinal.services.engine) as db:
        row = briefings.newest(db, run_id)
    assert row is not None
    return row


def main_gets(cardinal: Cardinal, files: dict[str, bytes | None]) -> None:
    """Commit files to the default branch."""
    alice = cardinal.person("alice")
    cardinal.forge.store.repos.write_files(cardinal.repo, "main", files, "More", actor=alice)
    cardinal.catch_up()


def ended_well(cardinal: Cardinal, run_id: RunId) -> RunRow:
    run = cardinal.run(run_id)
    assert run.ending is Ending.SUCCEEDED, run.detail
    return run


def test_it_stands_beside_the_card_with_a_branch_and_a_report_of_its_own(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(agents="[scripted/other]", skills="[fuzzing]"))
    main_gets(cardinal, {SKILL: b"---\nname: fuzzing\ndescription: Odd input.\n---\nTry odd input.\n"})
    cardinal.scenario(work=[*commit("first"), FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    first, head = ended_well(cardinal, R1), cardinal.pull_of(item).head_sha
    main_gets(cardinal, {"later.txt": b"x\n", SKILL: None})
    cardinal.say(item, "Now something else, please.")
    cardinal.drag(item, "Review")
    cardinal.catch_up(work=True)
    before = cardinal.card(item)
    cardinal.scenario("other", work=[*commit("second"), FINISH])
    asked = [cardinal.say(item, f"/cardinal rerun r1 --model other{more}") for more in ("", " --base now")]
    cardinal.catch_up(work=True)
    assert [cardinal.reactions(it) for it in asked] == [["+1"], ["+1"]]
    git = cardinal.forge.store.repos.git(cardinal.repo)
    for run_id, is_later_there in ((R2, False), (R3, True)):
        again = ended_well(cardinal, run_id)
        assert (again.kind, again.again_of, again.branch) == ("rerun", R1, f"{first.branch}-{run_id}")
        assert briefing(cardinal, run_id).text == briefing(cardinal, R1).text
        assert git.read(again.pushed_head, "second.txt")
        assert git.read(again.pushed_head, "first.txt") is None
        assert (git.read(again.pushed_head, "later.txt") is not None) == is_later_there
        report = cardinal.comment(item, f"cardinal:report:{run_id}").body
        assert f"Next: compare branch `{again.branch}` with the work of r1." in report
        assert "It greets." in report
        about = report + cardinal.comment(item, f"cardinal:run:{run_id}").body
        assert (f"#{cardinal.pull_of(item).number}" in about, "<!-- box:" in about) == (False, False)
    after = cardinal.card(item)
    assert (after.run_id, after.branch, after.attempts, after.column) == (R1, before.branch, 1, "Review")
    assert (after.pull_number, after.pull_head, after.state) == (before.pull_number, head, before.state)
    assert cardinal.pull_of(item).head_sha == head
    assert len({it.branch for it in cardinal.events(BranchPushed)}) == 3
    assert [it.place for it in cardinal.events(WorkspaceTaken)] == [item.node_id, "again-r2", "again-r3"]
    settings = [ColumnPolicy.model_validate_json(it.settings).model for it in cardinal.events(RunQueued)]
    assert settings == ["test", "other", "other"]
    unlike = {
        it.run_id: it.text for it in cardinal.events(Progressed) if it.text.startswith("Different from")
    }
    assert unlike == {R3: "Different from r1: the skill fuzzing is gone."}
    cardinal.assert_nothing_is_stuck()
    cleanup.clean_up(cardinal.services)
    workspaces = make_host_paths(cardinal.services.config).workspaces
    assert [it.name for it in workspaces.iterdir()] == [item.node_id]


def test_one_that_asks_ends_and_one_at_work_obeys_cancel_and_the_kill_switch(cardinal: Cardinal) -> None:
    cardinal.scenario(work=[*commit("first"), FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    state = cardinal.card(item).state
    cardinal.scenario("other", work=[ASK, FINISH])
    cardinal.set_policy(with_column(agents="[scripted/other]", budget_usd="0.50"))
    cardinal.catch_up()
    typed_in = typed(cardinal, "rerun", "r1", "--model", "other", "--base", "now")
    assert typed_in.exit_code == 0, typed_in.output
    cardinal.catch_up(work=True)
    (again,) = [it for it in cardinal.events(RunQueued) if it.kind == "rerun"]
    column = ColumnPolicy.model_validate_json(again.settings)
    assert (column.model, column.budget_usd, again.base_commit) == ("other", 0.5, "")  # limits are today's
    asked = cardinal.run(R2)
    assert (asked.state, asked.reason) == (RunState.ENDED, "gave_up")
    assert "then rerun it" in cardinal.comment(item, "cardinal:report:r2").body
    cardinal.say(item, "/cardinal limit time 7m budget 0.25", who="alice")
    cardinal.say(item, "/cardinal rerun r1")
    cardinal.catch_up()
    limited = ColumnPolicy.model_validate_json(cardinal.run(R3).settings)
    assert (limited.timeout_minutes, limited.budget_usd) == (7, 0.25)  # as are the card's own
    cardinal.begin(R3)
    cardinal.say(item, "/cardinal cancel")
    cardinal.catch_up()
    assert [it.run_id for it in cardinal.events(RunStopAsked)] == [R3]
    cardinal.say(item, "/cardinal rerun r1")
    cardinal.catch_up()
    cardinal.begin(RunId("r4"))
    cardinal.say(item, "/cardinal stop-all", who="alice")
    cardinal.catch_up()
    assert [it.run_id for it in cardinal.events(RunStopAsked)][1:] == ["r4"]
    cardinal.say(item, "/cardinal rerun r1")
    cardinal.catch_up()
    assert cardinal.ready() == ()  # no run starts while the board is stopped
    assert (cardinal.card(item).run_id, cardinal.card(item).state) == (R1, state)
