"""Folders and files of a repository at one commit: what is listed, and what is handed over."""

import base64

import pytest

from bot.github.api import contents
from bot.github.client import Hub
from tests.bot.github.conftest import Scripted

AT = "/repos/acme/shop/contents/.github/cardinal/skills"


UP = [
    ("/repos/acme/shop/contents/.github", "cardinal"),
    ("/repos/acme/shop/contents/.github/cardinal", "skills"),
]


def content(raw: bytes, **more: object) -> dict[str, object]:
    return {"type": "file", "encoding": "base64", "content": base64.encodebytes(raw).decode(), **more}


def test_a_folder_is_listed_by_name_with_the_kinds_that_github_tells(hub: Hub, scripted: Scripted) -> None:
    listed = [
        {"name": "b", "type": "symlink", "size": 9},
        {"name": "a.md", "type": "file", "size": 3},
        {"name": "c", "type": "dir"},
    ]
    scripted.tokens()
    for path, name in UP:
        scripted.answer("GET", path, [{"name": name, "type": "dir"}])
    scripted.answer("GET", AT, listed)
    folder_entries = contents.entries(hub, "acme/shop", ".github/cardinal/skills", "c0ffee")
    assert folder_entries == (("a.md", "file", 3), ("b", "symlink", 9), ("c", "dir", 0))
    (request,) = scripted.asked(AT)
    assert request.params == {"ref": "c0ffee"}


def test_what_is_no_folder_or_not_there_lists_nothing(hub: Hub, scripted: Scripted) -> None:
    scripted.tokens()
    for path, name in UP * 2:
        scripted.answer("GET", path, [{"name": name, "type": "dir"}])
    scripted.answer("GET", AT, content(b"a file"))
    assert contents.entries(hub, "acme/shop", ".github/cardinal/skills", "c0ffee") == ()
    scripted.answer("GET", AT, {"message": "Not Found"}, status=404)
    assert contents.entries(hub, "acme/shop", ".github/cardinal/skills", "c0ffee") == ()


def test_what_stands_at_a_commit_is_read_once_and_what_is_missing_below_it_never(
    hub: Hub, scripted: Scripted
) -> None:
    scripted.tokens()
    commit, (above, _) = "a" * 40, UP[0]
    scripted.answer("GET", above, [{"name": "cardinal.yml", "type": "file"}])
    for _ in range(2):
        assert contents.entries(hub, "acme/shop", ".github/cardinal/skills", commit) == ()
    assert len(scripted.asked(above)) == 1
    scripted.answer("GET", above, {"message": "Not Found"}, status=404)
    scripted.answer("GET", above, [{"name": "cardinal.yml", "type": "file"}])
    assert (
        contents.entries(hub, "acme/shop", ".github", "b" * 40) == ()
    )  # it may be out of sight for a moment
    assert len(contents.entries(hub, "acme/shop", ".github", "b" * 40)) == 1


@pytest.mark.parametrize(
    ("found", "raw"),
    [
        (content(b"Read."), b"Read."),
        (content(b"12345678"), b"12345678"),
        (content(b"123456789"), None),
        (content(b"", encoding="none", size=3_000_000), None),
        (content(b"x", type="symlink"), None),
        ({"type": "submodule"}, None),
        ([{"name": "a", "type": "file"}], None),
        (content(b"", content="a"), None),
    ],
)
def test_only_a_plain_file_that_is_small_enough_is_read(
    hub: Hub, scripted: Scripted, found: object, raw: bytes | None
) -> None:
    scripted.tokens()
    scripted.answer("GET", f"{AT}/a%20b.md", found)
    path = ".github/cardinal/skills/a b.md"
    assert contents.content(hub, "acme/shop", path, "c0ffee", most_bytes=8) == raw
