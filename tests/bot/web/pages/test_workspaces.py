"""The workspaces in sight, filtered by the address; the chosen ones are cleaned, each by its command."""

from ledger.events.run import RunParked
from ledger.events.workspace import Checkpointed, WorkspaceCleanAsked, WorkspaceTaken
from ledger.ids import CardId, RunId
from tests.bot.web.api.program import Program
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_bulk import ask, confirm
from tests.bot.web.pages.world import Pages

HOSTILE = "‮<b>names</b>.txt"


def parked(pages: Pages, *left_out: str) -> tuple[RunId, CardId]:
    """Return a run that waits, and its card: it has a workspace on a host."""
    run_id = pages.run()
    pages.cardinal.begin(run_id)
    card_id = pages.cardinal.run(run_id).card_id
    kept = Checkpointed(
        run_id, card_id, 1, "b", "1" * 40, "2" * 40, "", "", "", (), "", left_out, 1, (HOSTILE,), 3, 7_400_000
    )
    pages.cardinal.write(run_id, WorkspaceTaken(run_id, card_id, "b", 1), kept, RunParked(run_id, "question"))
    return run_id, card_id


def test_they_are_listed_with_what_is_only_there_and_filtered(pages: Pages) -> None:
    run_id, _ = parked(pages, "the session: <i>large</i>")
    alice = pages.browser("alice")
    shown = alice.get("/workspaces").text
    for part in (f'href="/runs/{run_id}"', "7.4 MB", "Saved nowhere else", "2 more", "&lt;i&gt;large"):
        assert part in shown
    assert "<b>names" not in shown
    assert "‮" not in shown
    for narrow in ("host=c", "larger_than_mb=8", "older_than_days=1", "column=Done", "state=done"):
        assert f'href="/runs/{run_id}"' not in alice.get(f"/workspaces?{narrow}").text
    for wrong in ("larger_than_mb=much", "older_than_days=-1", "state=broken"):
        assert 'role="status"' in alice.get(f"/workspaces?{wrong}").text
    assert alice.get("/workspaces?hots=b").status_code == 400


def test_the_chosen_ones_are_cleaned_once_what_would_happen_was_said(pages: Pages) -> None:
    saved, odd = parked(pages)[1], parked(pages, "the session: large")[1]
    alice = pages.browser("alice")
    planned = ask(alice, [saved, odd], "clean")
    assert "Clean up the workspace: 2 cards" in planned.text
    assert pages.cardinal.events(WorkspaceCleanAsked) == []
    done = confirm(alice, planned)
    assert "saved nowhere else: the session: large" in done.text
    assert [(it.card_id, it.by) for it in pages.cardinal.events(WorkspaceCleanAsked)] == [(saved, "alice")]
    assert "is about to remove it for <bdi>alice" in alice.get("/workspaces").text


def test_nothing_of_a_repository_that_one_may_not_read_is_listed(pages: Pages) -> None:
    run_id, _ = parked(pages)
    program = Program(pages, "mallory")
    hide(pages.cardinal)
    assert run_id not in pages.browser("mallory").get("/workspaces").text
    assert program.get("/workspaces")["workspaces"] == []
    assert pages.browser("bob", signed_in=False).get("/workspaces").status_code == 401


def test_a_program_lists_them_and_cleans_one_by_the_card_s_command(pages: Pages) -> None:
    run_id, card_id = parked(pages)
    program = Program(pages, "alice")
    (row,) = program.get("/workspaces?larger_than_mb=7")["workspaces"]
    assert (row["run"], row["host"], row["size_mb"], row["status"]) == (run_id, "b", 7.4, "queued")
    assert (row["uncommitted"], row["uncommitted_files"], row["unsaved"]) == (["<b>names</b>.txt"], 3, [])
    assert program.get("/workspaces?host=c") == {"workspaces": [], "more": False}
    job = f"/jobs/{row['repository']}/{row['number']}"
    program.command(job, "clean", Idempotency_Key="clean-it")
    assert [it.card_id for it in pages.cardinal.events(WorkspaceCleanAsked)] == [card_id]
