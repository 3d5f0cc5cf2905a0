"""Calls that Cardinal makes so seldom that no other test does are right, too."""

from pathlib import Path

from bot.github.api import pulls
from bot.github.client import repository_path
from forge.store.reviews import LineComment
from forge.web.server import Forge
from tests.bot.github.world import build
from tests.published.court import Court

SHOP = repository_path("acme/shop")


def test_line_comments_are_read_edited_and_answered_with_a_reaction(tmp_path: Path, court: Court) -> None:
    forge = Forge(tmp_path / "forge").start()
    try:
        world = build(forge, tmp_path / "home")
        store = forge.store
        main = store.repos.commit_of(world.shop, "main")
        store.repos.create_ref(world.shop, "refs/heads/more", main, actor=world.alice)
        store.repos.write_files(world.shop, "more", {"a.txt": b"a\n"}, "More", actor=world.alice)
        look = pulls.open_draft(world.hub, "acme/shop", branch="more", title="More", body="")
        pull = store.pulls.get(world.shop, look.number)
        store.reviews.submit(pull, "COMMENT", "", [LineComment("a.txt", "Why?", 1)], actor=world.alice)
        comment = store.reviews.comments_of(pull)[0]
        path = f"{SHOP}/pulls/comments/{comment.id}"
        assert world.hub.rest("GET", path).body["body"] == "Why?"
        assert world.hub.rest("PATCH", path, body={"body": "Why not?"}).body["body"] == "Why not?"
        assert world.hub.rest("POST", f"{path}/reactions", body={"content": "eyes"}).status == 201
        assert world.hub.rest("GET", "/rate_limit").status == 200
    finally:
        forge.stop()
