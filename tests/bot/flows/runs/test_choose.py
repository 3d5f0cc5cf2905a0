"""A run beside the card's own is chosen: it gets the pull request, and the card's next run continues it."""

from ledger.events.branch import RunChosen
from ledger.events.turn import TurnStarted
from ledger.ids import RunId
from ledger.states import Ending, RunState
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.runs.test_rerun import FINISH, R1, R2, R3, ended_well
from tests.bot.flows.settings import with_column
from tests.runner.flows.test_hosts import ASK, commit


def test_the_chosen_one_of_two_forks_is_the_card_s_from_then_on(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(agents="[scripted/other, scripted/third]"))
    cardinal.scenario(work=[*commit("first"), ASK, FINISH])
    cardinal.scenario("other", work=[*commit("second"), FINISH])
    cardinal.scenario("third", work=[*commit("third"), FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    for model in ("other", "third"):
        cardinal.say(item, f"/cardinal fork r1 --model {model} Moin.")
        cardinal.catch_up(work=True)
    assert ended_well(cardinal, R2).pushed_head != ended_well(cardinal, R3).pushed_head
    asked = cardinal.say(item, "/cardinal choose r3", who="alice")
    cardinal.catch_up(work=True)
    assert cardinal.reactions(asked) == ["+1"]
    first, card = cardinal.pull_of(item), cardinal.card(item)
    assert (first.head_sha, first.draft) == (cardinal.run(R3).pushed_head, False)
    assert (card.run_id, card.branch, card.pull_number) == (R3, cardinal.run(R3).branch, first.number)
    own = cardinal.run(R1)
    assert (own.state, own.ending, own.reason) == (RunState.ENDED, Ending.CANCELLED, "superseded")
    told = "\n".join(cardinal.told(item))
    assert "Superseded, and stopped: r1." in told
    assert "r1 gave way: `alice` chose r3." in told
    cardinal.say(item, "/cardinal choose r3", who="alice")
    cardinal.say(item, "/cardinal choose r2", who="alice")
    cardinal.catch_up(work=True)
    second = cardinal.pull_of(item)
    assert (second.head_sha, second.number != first.number) == (cardinal.run(R2).pushed_head, True)
    closed = cardinal.forge.store.pulls.get(cardinal.repo, first.number)
    assert (closed.issue.state, closed.merged_at) == ("closed", None)
    assert [it.run_id for it in cardinal.events(RunChosen)] == [R3, R2]
    cardinal.scenario(work=[*commit("fourth"), FINISH])
    cardinal.say(item, "/cardinal retry", who="alice")
    cardinal.catch_up(work=True)
    later = ended_well(cardinal, RunId("r4"))
    assert later.branch == cardinal.run(R2).branch
    git = cardinal.forge.store.repos.git(cardinal.repo)
    names = ("first", "second", "third", "fourth")
    assert [git.read(later.pushed_head, f"{it}.txt") is not None for it in names] == [True, True, False, True]
    sessions = {it.run_id: it.session_id for it in cardinal.events(TurnStarted)}
    assert sessions[later.run_id] == sessions[R2]
    cardinal.assert_nothing_is_stuck()
