"""Work that is no git work: a card that is researched, sent back, and completed, without a pull request."""

from ledger.events.run import BranchPushed, RunEnded
from ledger.events.workspace import FolderKept
from ledger.states import CardState, Ending
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column

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
