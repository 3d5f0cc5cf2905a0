"""A remark on a line of a run's diff is words to its agent: from who may send them, about what is shown."""

import pytest

from bot.web.pages.changes import NO_AGENT, NOT_SHOWN
from forge.store.models import Role
from ledger.events.conversation import CommandRefused
from ledger.events.run import PlanProposed, RunEnded, RunParked, RunSteered, RunStepped
from ledger.ids import RunId
from ledger.states import Ending, RunState
from rules.chatops.parser import MAX_ARGUMENT
from tests.bot.flows.cardinal import Cardinal
from tests.bot.web.pages.forms import at_work, commands, forms, send
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.test_changes import checkpointed
from tests.bot.web.pages.test_runs import after, happens, messages
from tests.bot.web.pages.world import PUBLIC, Browser, Pages

OTHER = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}


def begun(pages: Pages) -> RunId:
    """Return a run at work whose saved change is a line of add.py."""
    run_id = pages.cardinal.run_of(at_work(pages)).run_id
    checkpointed(pages, run_id, "unfinished")
    return run_id


def form_of(browser: Browser, run_id: RunId) -> dict[str, str]:
    return forms(browser, f"/runs/{run_id}/changes")[f"redirect:{run_id}"]


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_remark_reaches_the_agent_with_its_place_and_once(pages: Pages) -> None:
    run_id, bob = begun(pages), pages.browser("bob")
    path, form = f"/runs/{run_id}/remarks", form_of(bob, run_id)
    assert form["path"] == "add.py"
    page = f"/runs/{run_id}/changes?layout=split"
    assert form_of(bob, run_id)["back"].endswith("layout=unified")
    assert forms(bob, page)[f"redirect:{run_id}"]["back"] == page
    sent = send(bob, {**form, "lines": "1", "text": "say why\r\nand how"}, path=path)
    assert sent.status_code == 303
    assert sent.headers["Location"].startswith(f"/runs/{run_id}/changes?layout=unified&acted=")
    again = send(bob, {**form, "lines": "1", "text": "say why\r\nand how"}, path=path)
    assert again.headers["Location"].endswith("acted=before")
    removed = send(bob, {**form_of(bob, run_id), "lines": "-1", "text": "keep it"}, path=path)
    assert removed.status_code == 303
    words = [(event.by, event.text) for event in pages.cardinal.events(RunSteered)]
    assert words == [("bob", "add.py:1: say why\nand how"), ("bob", "add.py:1 (removed): keep it")]


@pytest.mark.after(scene=Cardinal.at_work)
def test_only_lines_of_the_diff_shown_take_a_remark(pages: Pages) -> None:
    run_id, bob = begun(pages), pages.browser("bob")
    path, form = f"/runs/{run_id}/remarks", form_of(bob, run_id)
    good = {**form, "lines": "1", "text": "so"}
    for wrong in (
        {"lines": "2"},
        {"lines": "0"},
        {"lines": "1-2"},
        {"lines": "-2"},
        {"lines": "1-999999999"},
        {"lines": "９"},
        {"lines": "1\n/cardinal cancel"},
        {"lines": ""},
        {"path": "other.py"},
        {"path": "../add.py"},
        {"path": ""},
    ):
        refused = send(bob, {**good, **wrong}, path=path)
        assert (refused.status_code, NOT_SHOWN in refused.text) == (400, True), wrong
        assert f'href="/runs/{run_id}/changes?layout=unified"' in refused.text
    for wrong in ({"text": "  "}, {"text": "x" * (MAX_ARGUMENT - 5)}):
        assert "A remark has between 1 and" in send(bob, {**good, **wrong}, path=path).text
    assert send(bob, {**good, "more": "x"}, path=path).status_code == 400
    assert send(bob, {name: good[name] for name in good if name != "lines"}, path=path).status_code == 400
    assert send(bob, good).status_code == 400  # the other door takes no place
    assert commands(pages) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_remark_comes_from_who_may_send_words_and_see_the_diff(pages: Pages) -> None:
    run_id, bob, mallory = begun(pages), pages.browser("bob"), pages.browser("mallory")
    path, form = f"/runs/{run_id}/remarks", form_of(bob, run_id)
    good = {**form, "lines": "1", "text": "so"}
    assert form["name"] not in forms(mallory, f"/runs/{run_id}/changes")
    assert send(mallory, good, path=path).status_code == 403  # another's form
    assert send(bob, good, path=path, headers=OTHER).status_code == 403
    assert send(bob, good, path="/runs/r999/remarks").status_code == 403
    assert send(bob, {**good, "name": f"cancel:{run_id}"}, path=path).status_code == 403
    assert send(pages.browser("bob", signed_in=False), good, path=path).status_code == 401
    assert commands(pages) == []
    store = pages.cardinal.forge.store
    store.repos.set_role(pages.cardinal.repo, pages.cardinal.person("bob"), Role.READ)
    refused = send(bob, good, path=path)
    assert refused.status_code in (
        400,
        403,
    )  # whoever may not see unfinished work learns nothing of its lines
    assert not any(not isinstance(event, CommandRefused) for event in commands(pages))
    hide(pages.cardinal)


@pytest.mark.after(scene=Cardinal.at_work)
def test_a_remark_is_for_an_agent_at_work_and_never_sends_a_plan_back(pages: Pages) -> None:
    run_id, bob = begun(pages), pages.browser("bob")
    path, good = f"/runs/{run_id}/remarks", {**form_of(bob, run_id), "lines": "1", "text": "so"}
    happens(pages, RunParked(run_id, "pause"))
    assert "redirect:" not in bob.get(f"/runs/{run_id}/changes").text
    refused = send(bob, good, path=path)
    assert (refused.status_code, NO_AGENT in refused.text) == (409, True)
    assert commands(pages) == []


@pytest.mark.after(scene=Cardinal.at_work)
def test_an_open_diff_hears_of_another_one_and_of_nothing_else(pages: Pages) -> None:
    run_id, bob = begun(pages), pages.browser("bob")
    page = bob.get(f"/runs/{run_id}/changes")
    stream = f"/live/runs/{run_id}/changes"
    assert f'data-live="{stream}"' in page.text
    seen = after(page)
    assert messages(bob.get(f"{stream}?after={seen}")) == []
    happens(
        pages, PlanProposed(run_id, 1, "so", ()), RunStepped(run_id, RunState.WORKING, RunState.VALIDATING)
    )
    assert messages(bob.get(f"{stream}?after={seen}")) == []
    checkpointed(pages, run_id, "later")
    (news,) = messages(bob.get(f"{stream}?after={seen}"))
    assert (news.event, news.last) == ("news", after(bob.get(f"/runs/{run_id}/changes")))
    happens(pages, RunEnded(run_id, Ending.CANCELLED, "", "", "working"))
    assert messages(bob.get(f"{stream}?after={news.last}"))[-1].event == "over"
    assert "data-live" not in bob.get(f"/runs/{run_id}/changes").text
    assert pages.browser("bob", signed_in=False).get(stream).status_code == 401
    hide(pages.cardinal)
    assert pages.browser("mallory").get(stream).status_code == 404
    assert PUBLIC in page.headers["Content-Security-Policy"]
