"""Folders that live on are listed with their histories, for who may read every repository of the board."""

import pytest

from bot.web.authorization import KEPT_S
from ledger.events.workspace import FolderKept, FolderRestored
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.api.program import Program
from tests.bot.web.pages.forms import at_work
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages


@pytest.mark.after(scene=Cardinal.at_work)
def test_folders_are_listed_with_what_is_in_force_and_with_what_was(pages: Pages) -> None:
    item = at_work(pages)
    card, run_id = pages.cardinal.card(item), pages.cardinal.run_of(item).run_id
    journal, own = f"{card.board_id}::journal", f"{card.board_id}:acme/shop:card/{card.card_id}"
    kept = [
        FolderKept(run_id, name, commit, "d" * 64, files, size, 1, 1)
        for name, commit, files, size in ((journal, "c1", 1, 10), (own, "c2", 2, 20), (journal, "c3", 3, 30))
    ]
    back = FolderRestored(card.card_id, journal, run_id, "c1", "d" * 64, 1, 10, "alice")
    happens(pages, *kept, back, FolderKept(run_id, f"scratch/{card.card_id}", "c4", "e" * 64, 9, 90, 1, 1))
    bob = Program(pages, "bob")
    named, of_card = bob.get("/folders?board=acme/1")["folders"]
    assert (named["folder"], named["files"], named["run"]) == ("journal", 1, run_id)
    assert [(it["size_bytes"], it["restored_by"]) for it in named["history"]] == [
        (10, "alice"),
        (30, ""),
        (10, ""),
    ]
    assert (of_card["repository"], of_card["folder"]) == ("acme/shop", f"acme/shop#{card.number}")
    assert bob.send("GET", "/folders?board=acme/9").status_code == 404
    shown = pages.browser("bob").get("/folders").text
    assert "<h2>journal</h2>" in shown
    assert "restored by alice" in shown
    assert '<a class="button bare" href="/folders">' in pages.browser("bob").get("/boards/acme/1").text
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    assert Program(pages, "mallory").get("/folders") == {"folders": []}
    mallory = pages.browser("mallory")
    assert "journal" not in mallory.get("/folders").text
