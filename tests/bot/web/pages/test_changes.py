"""The change of a run: what was published for its readers, what is unfinished for whoever may write."""

from bot.runspec.host_paths import make_host_paths
from bot.web.pages.changes import MAX_BYTES, NOTHING, UNFINISHED
from forge.store.models import Role
from ledger.events.artifact import ArtifactDropped
from ledger.events.pull import PullOpened
from ledger.events.run import CommandChecked, ValidationEnded
from ledger.events.workspace import Checkpointed
from ledger.ids import RunId
from runner.artifacts.store import store_of
from tests.bot.web.pages.test_artifacts import file_at, hide
from tests.bot.web.pages.test_runs import happens
from tests.bot.web.pages.world import Pages

PATCH = "diff --git a/add.py b/add.py\n--- a/add.py\n+++ b/add.py\n@@ -1 +1 @@\n-<b>old\n+{new}\n"


def checkpointed(pages: Pages, run_id: RunId, new: str) -> None:
    digest = pages.store.keep(PATCH.format(new=new)).digest
    happens(pages, Checkpointed(run_id, "p", 1, "h", "a" * 40, "a" * 40, "", "", digest, (), "", (), 1))


def test_a_change_that_was_taken_back_is_counted_no_more(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    checkpointed(pages, run_id, "unfinished")
    too_large = ("the patch: it is larger than 10 MB",)
    for left_out, counted in ((too_large, True), ((), False)):
        happens(pages, Checkpointed(run_id, "p", 1, "h", "a" * 40, "a" * 40, "", "", "", (), "", left_out))
        assert (">1 file</a>" in bob.get(f"/runs/{run_id}").text) == counted


def published(pages: Pages, run_id: RunId, patch: str) -> str:
    return pages.keep(run_id, f"{pages.cardinal.run(run_id).branch}.patch", "patch", patch)


def test_work_that_no_guard_has_seen_is_for_writers_and_what_is_published_for_readers(pages: Pages) -> None:
    run_id, bob, mallory = pages.run(), pages.browser("bob"), pages.browser("mallory")
    path = f"/runs/{run_id}/changes"
    assert NOTHING in bob.get(path).text
    pages.keep(run_id, "set-aside.patch", "patch", PATCH.format(new="aside"))
    checkpointed(pages, run_id, "unfinished")
    assert f'<a href="{path}">1 file</a>' in bob.get(f"/runs/{run_id}").text
    shown = bob.get(path)
    assert "+unfinished" in shown.text
    assert "&lt;b&gt;old" in shown.text
    assert "UTC</time>. Unfinished: no guard has checked it yet." in shown.text
    assert UNFINISHED in mallory.get(path).text
    assert "unfinished<" not in mallory.get(path).text
    digest = published(pages, run_id, PATCH.format(new="published"))
    card = pages.cardinal.run(run_id).card_id
    happens(pages, PullOpened(card, "acme/shop", 77, "PR", "branch", "a" * 40, draft=False))
    for browser in (bob, mallory):
        shown = browser.get(path)
        assert "1 file, +1 −1, as published on" in shown.text
        assert "+published" in shown.text
        assert f"/artifacts/{run_id}/{digest}/" in shown.text
        assert f"{pages.cardinal.forge.url}/acme/shop/pull/77/files" in shown.text
    happens(pages, ArtifactDropped(run_id, "x", digest, "age"))
    assert "+unfinished" in bob.get(path).text


def test_who_may_not_read_the_repository_learns_nothing_of_change_or_briefing(pages: Pages) -> None:
    run_id = pages.run()
    published(pages, run_id, PATCH.format(new="published"))
    hide(pages.cardinal)
    mallory, nobody = pages.browser("mallory"), pages.browser("bob", signed_in=False)
    nothing = mallory.get("/runs/r999").text
    for tab in ("changes", "briefing"):
        for run in (run_id, "r999", "x"):
            refused = mallory.get(f"/runs/{run}/{tab}")
            assert (refused.status_code, refused.text) == (404, nothing)
        assert nobody.get(f"/runs/{run_id}/{tab}").status_code == 401


def test_a_huge_or_damaged_patch_costs_a_part_of_the_page(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    path = f"/runs/{run_id}/changes"
    digest = published(pages, run_id, PATCH.format(new="<" * 300 + "\n+x" * MAX_BYTES))
    shown = bob.get(path)
    assert len(shown.data) < 100_000
    assert "more lines not shown" in shown.text
    assert "are not shown on this page" in shown.text
    file = make_host_paths(pages.cardinal.services.config).artifacts / digest[:2] / digest
    file.write_text(PATCH.format(new="altered"))
    assert "damaged on its disk" in bob.get(path).text
    store_of(make_host_paths(pages.cardinal.services.config)).remove(digest)
    assert "The file is missing" in bob.get(path).text


def test_the_evidence_names_commits_image_checks_and_logs(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    head, base, definition = "a" * 40, "b" * 40, "d" * 64
    log = pages.keep(run_id, "full 1: pytest", "log")
    happens(
        pages,
        CommandChecked(run_id, 1, "full", "pytest <b>", 0, 1.5, log, "", head, base, "img@sha256:1"),
        ValidationEnded(run_id, 1, "fast", True, "c" * 40, base, "local"),
        ValidationEnded(run_id, 1, "full", True, head, base, "img@sha256:1", True, definition),
    )
    page = bob.get(f"/runs/{run_id}")
    for fact in (head, base, "img@sha256:1", definition, "the gate passed on a clean checkout"):
        assert fact in page.text
    assert file_at(run_id, log) in page.text
    assert "pytest &lt;b&gt;" in page.text


def test_rights_to_write_are_lost_for_the_page_too(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    checkpointed(pages, run_id, "unfinished")
    store = pages.cardinal.forge.store
    store.repos.set_role(store.repos.get("acme", "shop"), pages.cardinal.person("bob"), Role.READ)
    assert "+unfinished" not in bob.get(f"/runs/{run_id}/changes").text
