"""Work that is no git work: a card that is researched, sent back, and completed, without a pull request."""

from ledger.events.run import BranchPushed, RunEnded
from ledger.events.workspace import FolderKept
from ledger.states import CardState, Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column
from tests.runner.flows.test_hosts import ASK

FINISH = {"finish": {"done": "Three sources say so."}}


def edit(content: str) -> dict[str, object]:
    return {"edit": {"path": "findings.md", "content": content}}


def test_a_card_is_researched_sent_back_with_a_comment_and_completed(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(workspace="scratch", checks='["grep -q Source findings.md"]'))
    cardinal.scenario(work=[edit("Guesses\n"), FINISH], repair=[edit("Source: a book\n")])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    run, card = cardinal.run_of(item), cardinal.card(item)
    assert (run.ending, run.mode, run.detail) == (Ending.SUCCEEDED, "scratch", "")
    assert (card.state, card.pull_number) == (CardState.WORK_COMPLETE, None)
    assert "read its report and files, then drag the card to Review" in card.because
    assert cardinal.comment(item, "works in an empty place (as its column says)")
    assert "Three sources say so." in cardinal.comment(item, "Three sources").body

    cardinal.scenario(work=[{"run": "cat findings.md >> more.md"}, FINISH])
    cardinal.say(item, "One more source, please.")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    again = cardinal.run_of(item)
    assert (again.ending, again.attempt, again.files_changed) == (Ending.SUCCEEDED, 2, 1)

    cardinal.say(item, "/cardinal complete")
    cardinal.catch_up()
    assert cardinal.card(item).state is CardState.DONE
    assert cardinal.events(BranchPushed) == []
    assert not [ref for ref in cardinal.forge.store.repos.git(cardinal.repo).refs() if "cardinal/" in ref]


def test_a_folder_is_written_by_one_card_after_the_other_and_comes_back_as_it_was(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(workspace="folder", folder="journal"))
    cardinal.scenario(work=[{"run": "echo line >> journal.md"}, FINISH])
    first, second = cardinal.new(column="In Progress"), cardinal.new(column="In Progress")
    cardinal.catch_up()
    spec, _ = cardinal.claimed(first)
    assert (spec.folder, spec.branch) == (f"{cardinal.card(first).board_id}:acme/shop:journal", "main")
    assert not cardinal.claim(cardinal.run_of(second).run_id)
    cardinal.write(spec.run_id, RunEnded(spec.run_id, Ending.CANCELLED, "cancelled", "", ""))
    cardinal.catch_up(work=True)
    for item in (first, second):
        cardinal.say(item, "/cardinal retry")
        cardinal.catch_up(work=True)
        assert cardinal.run_of(item).ending is Ending.SUCCEEDED, cardinal.run_of(item).detail
    assert [event.size_bytes for event in cardinal.events(FolderKept)] == [5, 10, 15]

    kept = cardinal.events(FolderKept)[0].run_id
    cardinal.say(second, f"/cardinal folder {kept}")
    cardinal.say(second, "/cardinal folder")
    cardinal.catch_up()
    assert cardinal.comment(second, f"The folder is as {kept} left it")
    assert "restored by `alice`" in cardinal.comment(second, "The folder, newest first").body
    cardinal.say(second, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert [event.size_bytes for event in cardinal.events(FolderKept)] == [5, 10, 15, 10]


def test_it_is_done_again_beside_the_card_s_on_the_files_of_then_and_chosen_by_its_files(
    cardinal: Cardinal,
) -> None:
    cardinal.set_policy(with_column(workspace="folder", folder="journal", agents="[scripted/other]"))
    cardinal.scenario(work=[{"run": "echo line >> journal.md"}, FINISH])
    cardinal.scenario("other", work=[{"run": "echo 'another line' >> journal.md"}, FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    for words in ("retry", "rerun r2 --model other", "rerun r2 --model other --base now", "rerun r3"):
        cardinal.say(item, f"/cardinal {words}")
        cardinal.catch_up(work=True)
    kept = cardinal.events(FolderKept)
    assert [(it.run_id, it.size_bytes) for it in kept] == [
        ("r1", 5),
        ("r2", 10),
        ("r3", 5 + 13),
        ("r4", 10 + 13),
        ("r5", 5 + 13),
    ]
    assert "Next: compare its files with those of r2." in cardinal.comment(item, "cardinal:report:r3").body
    cardinal.say(item, "/cardinal retry")
    cardinal.say(item, "/cardinal choose r4")
    cardinal.catch_up(work=True)
    assert cardinal.events(FolderKept)[-1].size_bytes == 15
    assert cardinal.comment(item, "`/cardinal folder r4` switches to its files")
    cardinal.say(item, "/cardinal folder r4")
    cardinal.say(item, "/cardinal retry")
    cardinal.catch_up(work=True)
    assert cardinal.events(FolderKept)[-1].size_bytes == 10 + 13 + 5


def test_an_empty_place_is_forked_where_its_agent_had_asked(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(workspace="scratch", agents="[scripted/other]"))
    cardinal.scenario(work=[edit("Guesses\n"), ASK, FINISH])
    cardinal.scenario("other", work=[{"run": "cat findings.md >> more.md"}, FINISH])
    item = cardinal.new(column="In Progress")
    cardinal.catch_up(work=True)
    cardinal.say(item, "/cardinal fork r1 --model other Moin.")
    cardinal.catch_up(work=True)
    (kept,) = cardinal.events(FolderKept)
    assert (kept.run_id, kept.files, kept.size_bytes) == ("r2", 2, 16)
    cardinal.assert_nothing_is_stuck()
