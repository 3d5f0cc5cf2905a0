"""The files of a run, as programs list and read them: those that its page shows as text, and no others."""

from bot.web.api.operations.get_artifact import MAX_BYTES
from bot.web.authorization import KEPT_S
from ledger.events.artifact import ArtifactDropped, ArtifactKept
from ledger.log import event_store
from tests.bot.web.api.program import Program
from tests.bot.web.pages.test_artifacts import hide
from tests.bot.web.pages.world import Pages


def test_a_program_lists_the_files_of_a_run_and_reads_texts(pages: Pages) -> None:
    run_id = pages.run()
    path = f"/runs/{run_id}/artifacts"
    log = pages.keep(run_id, "full 1: pytest", "log", "3 tests passed\u202e\n")
    long = pages.keep(run_id, "report.md", "report", "é" * MAX_BYTES)
    page = pages.keep(run_id, "index.html", "page", "<b>hello</b>")
    old = pages.keep(run_id, "old.patch", "patch", "old\n")
    secret = pages.keep(run_id, "briefing.md", "briefing", "of other cards")
    aside = pages.keep(run_id, "set-aside.patch", "set-aside", "+password")
    odd = pages.store.keep(b"caf\xe9\n")
    with event_store.writing(pages.cardinal.services.engine) as db:
        for event in (
            ArtifactKept(run_id, "odd.txt", "file", odd.digest, odd.size_bytes),
            ArtifactDropped(run_id, "old.patch", old, "age"),
        ):
            event_store.append(db, event, at=pages.cardinal.clock())
    bob = Program(pages, "bob")
    listed = bob.get(path)["artifacts"]
    assert [(it["name"], it["kind"], it["digest"], it["dropped"]) for it in listed] == [
        ("full 1: pytest", "log", log, ""),
        ("report.md", "report", long, ""),
        ("index.html", "page", page, ""),
        ("old.patch", "patch", old, "age"),
        ("odd.txt", "file", odd.digest, ""),
    ]
    assert [it["size_bytes"] for it in listed][:2] == [18, 2 * MAX_BYTES]
    whole, part, latin = (bob.get(f"{path}/{it}") for it in (log, long, odd.digest))
    assert (whole["text"], whole["more"], latin["text"]) == ("3 tests passed\n", False, "caf\ufffd\n")
    assert (part["text"], part["more"]) == ("é" * (MAX_BYTES // 2), True)
    for digest, status, code in (
        (page, 415, "not_text"),
        (old, 410, "gone"),
        (secret, 404, "not_found"),
        (aside, 404, "not_found"),
        ("0" * 64, 404, "not_found"),
        ("nonsense", 422, "unfit"),
    ):
        refused = bob.send("GET", f"{path}/{digest}")
        assert (refused.status_code, refused.get_json()["code"]) == (status, code)
    hide(pages.cardinal)
    pages.cardinal.clock.forward(KEPT_S + 1)
    mallory = Program(pages, "mallory")
    assert [mallory.send("GET", it).status_code for it in (path, f"{path}/{log}")] == [404, 404]
