"""What a run left: for whoever may read its repositories; nothing at all, for everybody else."""

import os
from contextlib import closing, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from bot.render.markdown import links
from bot.runspec.host_paths import make_host_paths
from bot.web.authorization import EACH_A_MINUTE, BusyError, Readers
from bot.web.pages.artifacts import SHAPES
from forge.store.models import Role
from ledger.events.artifact import ArtifactDropped
from ledger.events.board import CardConverted
from ledger.ids import RunId
from ledger.log import event_store
from ledger.queue import sign_ins
from ledger.queue.sign_ins import SignIn
from runner.artifacts.store import store_of
from tests.bot.cli.conftest import HOSTILE
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.people import issue_of
from tests.bot.web.pages.world import Pages
from tests.bot.web.test_authorization import list_nothing

SERVED = (
    ("log", "full 1: pytest", "text/plain; charset=utf-8", True),
    ("file", "notes.html.txt", "text/plain; charset=utf-8", True),
    ("page", "index.html", "application/octet-stream", False),
    ("made-up", "index.html", "application/octet-stream", False),
    ("trace", "trace", "application/zip", False),
    ("screenshot", "start", "image/png", True),
    ("video", "run.webm", "video/webm", True),
)


def hide(cardinal: Cardinal, name: str = "shop") -> None:
    """Make a repository private."""
    repo = cardinal.forge.store.repos.get("acme", name)
    cardinal.forge.store.access.set_private(repo, True, actor=cardinal.person("alice"))


def file_at(run_id: RunId, digest: str, name: str = "log.txt") -> str:
    return links.of_file("", run_id, digest, name)


def page_of(run_id: RunId) -> str:
    return links.files_link("", run_id)


def test_files_are_listed_with_their_kind_and_what_is_gone_says_why(pages: Pages) -> None:
    run_id = pages.run()
    digest = pages.keep(run_id, f"full 1: {HOSTILE}", "log")
    old = pages.keep(run_id, "report.md", "report", "# Old\n")
    with event_store.writing(pages.cardinal.services.engine) as db:
        event_store.append(db, ArtifactDropped(run_id, "report.md", old, "age"), at=pages.cardinal.clock())
    bob = pages.browser("bob")
    listed = bob.get(page_of(run_id))
    assert f"/artifacts/{run_id}/{digest}/" in listed.text
    (card,) = (one for one in pages.cardinal.project.items if one.title == "Add them up")
    number = issue_of(card).number
    assert (
        f'<a href="{pages.cardinal.forge.url}/acme/shop/issues/{number}">acme/shop#{number}</a>'
        in listed.text
    )
    assert "&lt;b&gt;" in listed.text
    assert "<b>" not in listed.text
    assert "dropped: it was too old" in listed.text
    assert f"/{old}/" not in listed.text
    gone = bob.get(file_at(run_id, old))
    assert (gone.status_code, "too old" in gone.text) == (410, True)


def test_a_stranger_to_a_private_repository_reads_the_same_as_about_nothing(pages: Pages) -> None:
    run_id = pages.run()
    digest = pages.keep(run_id, "full 1: pytest", "log")
    hide(pages.cardinal)
    mallory, bob = pages.browser("mallory"), pages.browser("bob")
    said = {
        (answer.status_code, answer.text)
        for path in (page_of(run_id), page_of(RunId("r999")), page_of(RunId("x")))
        for answer in (mallory.get(path), mallory.get(file_at(run_id, digest)))
    }
    ((status, text),) = said
    assert status == 404
    assert "mallory" in text
    unknown = mallory.get(file_at(run_id, "0" * 64))
    assert (unknown.status_code, unknown.text) == (status, text)
    assert bob.get(page_of(run_id)).status_code == 200
    assert bob.get(file_at(run_id, digest)).text == "3 tests passed\n"


def test_without_a_sign_in_everything_looks_the_same_and_github_is_not_asked(pages: Pages) -> None:
    run_id = pages.run()
    digest = pages.keep(run_id, "full 1: pytest", "log")
    nobody = pages.browser("bob", signed_in=False)
    for path in (page_of(run_id), page_of(RunId("r999")), file_at(run_id, digest)):
        answer = nobody.get(path, If_None_Match=f'"{digest}"')
        assert (answer.status_code, f"/sign-in?next={path}" in answer.text) == (401, True)
        assert nobody.get(path, "POST").status_code == 405
    assert pages.asked() == 0


def test_in_a_public_repository_everybody_who_signs_in_may_read(pages: Pages) -> None:
    run_id = pages.run()
    digest = pages.keep(run_id, "full 1: pytest", "log")
    assert pages.browser("mallory").get(file_at(run_id, digest)).status_code == 200


def test_who_may_not_read_the_issue_reads_nothing_of_work_in_a_repository_that_he_may(pages: Pages) -> None:
    run_id = pages.run()
    card = pages.cardinal.run(run_id).card_id
    with event_store.writing(pages.cardinal.services.engine) as db:
        moved = CardConverted(card, "I_elsewhere", "acme/board", 99)
        event_store.append(db, moved, at=pages.cardinal.clock())
    hide(pages.cardinal, "board")
    assert pages.browser("mallory").get(page_of(run_id)).status_code == 404
    assert pages.browser("bob").get(page_of(run_id)).status_code == 200


def test_a_right_that_was_taken_away_is_gone_within_minutes_and_asked_about_no_more_often(
    pages: Pages,
) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    hide(pages.cardinal)
    for _ in range(30):
        assert bob.get(page_of(run_id)).status_code == 200
    assert len(pages.cardinal.calls("/user/installations/")) == 1
    pages.cardinal.forge.store.repos.set_role(pages.cardinal.repo, pages.cardinal.person("bob"), Role.NONE)
    pages.cardinal.clock.forward(181)
    assert bob.get(page_of(run_id)).status_code == 404
    assert len(pages.cardinal.calls("/user/installations/")) == 2
    assert pages.asked() == 0  # the person's own token says it


def test_a_login_that_is_somebody_elses_by_now_opens_nothing(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob", signed_in=False)
    hide(pages.cardinal)
    assert pages.browser("bob").get(page_of(run_id)).status_code == 200
    with event_store.writing(pages.cardinal.services.engine) as db:
        sign_ins.begin_sign_in(db, "w", user_id=4, login="bob", now=pages.cardinal.clock(), ttl_s=600)
    bob.here.set_cookie("__Host-cardinal", "w", domain="cardinal.example.com", secure=True)
    assert bob.get(page_of(run_id)).status_code == 404


def test_a_repository_that_was_made_later_under_an_old_name_opens_nothing(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    assert bob.get(page_of(run_id)).status_code == 200
    pages.cardinal.repo.created_at = pages.cardinal.clock() + timedelta(hours=1)
    pages.cardinal.clock.forward(181)
    assert bob.get(page_of(run_id)).status_code == 404


@pytest.mark.parametrize(
    ("name", "kind"),
    [("briefing.md", "briefing"), ("set-aside.patch", "set-aside"), ("set-aside.patch", "patch")],
)
def test_what_tells_of_other_cards_or_no_guard_has_seen_is_for_the_operator_alone(
    pages: Pages, name: str, kind: str
) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    digest = pages.keep(run_id, name, kind, "# What another card reports\n")
    assert name not in bob.get(page_of(run_id)).text
    assert bob.get(file_at(run_id, digest, name)).status_code == 404
    assert bob.get(f"/artifacts/{run_id}/{digest}/x").status_code == 404


def test_when_github_cannot_be_asked_nothing_is_shown_and_nobody_asks(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    pages.cardinal.services.hub.budget.close(300)
    assert bob.get(page_of(run_id)).status_code == 200  # by the person's own token
    pages.cardinal.clock.forward(181)
    pages.cardinal.services.hub.budget.close(300)
    bob.here.delete_cookie("__Host-cardinal-github", domain="cardinal.example.com")
    busy = bob.get(page_of(run_id))
    assert (busy.status_code, busy.headers["Retry-After"]) == (503, "60")
    assert "rate limit is nearly reached" in busy.text
    assert pages.asked() == 0
    pages.cardinal.clock.forward(301)
    pages.cardinal.forge.store.faults.load({"api": [{"path": "/permission$", "status": 502, "count": 1}]})
    assert "GitHub did not say" in bob.get(page_of(run_id)).text
    assert bob.get(page_of(run_id)).status_code == 200


def test_every_repository_has_to_be_readable_and_nobody_asks_without_end(pages: Pages) -> None:
    cardinal = pages.cardinal
    hide(cardinal)
    readers = Readers(lambda _: cardinal.services.hub, cardinal.clock, list_nothing)
    now = cardinal.clock()
    bob, carol = (SignIn(cardinal.person(name).id, name, now) for name in ("bob", "carol"))
    assert not readers.may(bob, frozenset(), now)
    for name in ("acme/shop", "ACME/Shop"):
        assert readers.may(bob, frozenset({name}), now)
    assert pages.asked() == 1
    assert not readers.may(bob, frozenset({"acme/shop", "acme/none"}), now)
    for number in range(EACH_A_MINUTE - 2):
        assert not readers.may(bob, frozenset({f"acme/none{number}"}), now)
    with pytest.raises(BusyError, match="too many requests"):
        readers.may(bob, frozenset({"acme/one-more"}), now)
    assert readers.may(bob, frozenset({"acme/shop"}), now)  # what is known can be told
    shop = frozenset({"acme/shop"})
    assert readers.soon_readable(bob, {"acme/one-more", "acme/shop"}, now, 9) == (shop, False)
    assert readers.soon_readable(bob, shop, now, 9) == (shop, True)
    assert readers.may(carol, frozenset({"acme/shop"}), now)


def test_a_file_is_not_found_under_another_run(pages: Pages) -> None:
    first, second, bob = pages.run(), pages.run(), pages.browser("bob")
    digest = pages.keep(first, "full 1: pytest", "log")
    pages.keep(second, "report.md", "report", "# Other\n")
    assert bob.get(file_at(first, digest)).status_code == 200
    assert bob.get(file_at(second, digest)).status_code == 404


def test_no_name_in_an_address_leads_anywhere_and_the_files_name_is_cardinals(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    digest = pages.keep(run_id, '../../etc/pass wd"\r\nX-Evil: 1', "log")
    for name in ("..%2f..%2fetc%2fpasswd", "%2e%2e", "a%20b", "a%0d%0ab", ".hidden", "x" * 300):
        assert bob.get(f"/artifacts/{run_id}/{digest}/{name}").status_code == 404
    for wrong in (digest.upper(), digest[:63], "..%2f" + digest):
        assert bob.get(f"/artifacts/{run_id}/{wrong}/log.txt").status_code == 404
    assert bob.get(file_at(run_id, digest, "__init__.py")).status_code == 200
    served = bob.get(f"/artifacts/{run_id}/{digest}/evil.exe")
    assert served.headers["Content-Disposition"] == 'inline; filename="etc-pass-wd-X-Evil-1.txt"'
    assert "X-Evil" not in served.headers


def test_a_browser_runs_nothing_of_a_file(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    for kind, name, content_type, shown in SERVED:
        digest = pages.keep(run_id, name, kind, f"<script>alert('{kind}')</script>\n")
        served = bob.get(file_at(run_id, digest, name))
        assert served.headers["Content-Type"] == content_type, kind
        assert served.headers["Content-Disposition"].startswith("inline; " if shown else "attachment; "), kind
        assert served.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'"), kind
        assert served.headers["X-Content-Type-Options"] == "nosniff"
        assert served.headers["X-Frame-Options"] == "DENY"
        assert served.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert served.headers["Cache-Control"] == "private, no-cache"


def test_only_plain_text_pictures_and_films_are_ever_shown() -> None:
    shown = {one.content_type for one in SHAPES.values() if one.shown}
    assert shown == {"text/plain", "image/png", "video/webm"}


def test_a_file_that_the_disk_changed_or_lost_is_not_given_out(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    digest = pages.keep(run_id, "full 1: pytest", "log")
    file: Path = make_host_paths(pages.cardinal.services.config).artifacts / digest[:2] / digest
    file.write_text("0 tests failed\n")
    damaged = bob.get(file_at(run_id, digest))
    assert (damaged.status_code, "damaged on its disk" in damaged.text) == (410, True)
    store_of(make_host_paths(pages.cardinal.services.config)).remove(digest)
    assert bob.get(file_at(run_id, digest)).status_code == 410


def test_a_file_can_be_asked_about_taken_in_part_and_kept(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    digest = pages.keep(run_id, "film", "video", "0123456789")
    path = file_at(run_id, digest)
    head = bob.get(path, "HEAD")
    assert (head.status_code, head.data, head.content_length) == (200, b"", 10)
    assert head.headers["ETag"] == f'"{digest}"'
    assert bob.get(path, If_None_Match=f'"{digest}"').status_code == 304
    part = bob.get(path, Range="bytes=2-4")
    assert (part.status_code, part.data) == (206, b"234")
    assert part.headers["Content-Range"] == "bytes 2-4/10"
    assert bob.get(path, Range="bytes=10-").status_code == 416
    assert descriptors_of(digest) == []


def descriptors_of(name: str) -> list[int]:
    """Return this process's descriptors on files of that name; other threads may close theirs meanwhile."""
    numbers = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            numbers += [int(link.name)] if Path(os.readlink(link)).name == name else []
    return numbers


def test_a_large_file_is_sent_without_being_held_whole(pages: Pages) -> None:
    run_id, bob = pages.run(), pages.browser("bob")
    text = "0123456789abcdef" * 500_000
    digest = pages.keep(run_id, "film", "video", text)
    with closing(bob.here.get(file_at(run_id, digest), base_url=bob.public)) as served:
        pieces = served.iter_encoded()
        sent = [len(next(pieces))]
        (read_bytes,) = {os.lseek(descriptor, 0, os.SEEK_CUR) for descriptor in descriptors_of(digest)}
        sent += map(len, pieces)
    assert (served.status_code, served.content_length, sum(sent)) == (200, len(text), len(text))
    assert max(read_bytes, *sent) < len(text) // 10


def test_a_file_name_means_the_same_everywhere() -> None:
    assert links.slug("full 1: pytest -q") == "full-1-pytest-q"
    assert links.slug("../../..") == "file"
    assert links.slug("cardinal/12-x.patch") == "cardinal-12-x.patch"
    assert len(links.slug("x" * 5000)) == links.LONGEST
