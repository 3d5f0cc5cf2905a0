"""A patch on a page: git's own output, whatever the names and lines of its files are."""

import subprocess
from pathlib import Path

import pytest
from markupsafe import escape

from bot.web.site.diff import MAX_BYTES, MAX_FILES, MAX_LINE, MAX_LINES, parse_patch

HOSTILE = "</pre><script>x</script>\u202e\r+++ b/other\n\x1b[31m@@ -1 +1 @@\ndiff --git a/x b/x\n"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(
        ("git", *who, *words), cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    for name, text in (("old", "1\n2\n3\n4\n"), ("gone", "x\n"), ("picture", "\0\1"), ("run", "y\n")):
        (tmp_path / name).write_text(text)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "base")
    return tmp_path


def test_each_file_has_its_name_what_was_done_to_it_and_its_lines(tree: Path) -> None:
    git(tree, "mv", "old", "a b/../new\tname")
    (tree / "gone").unlink()
    (tree / "picture").write_bytes(b"\0\2")
    (tree / "run").chmod(0o755)
    (tree / "grün <b>").write_text("+ one\n- two\n")
    git(tree, "add", "--all")
    change = parse_patch(git(tree, "diff", "--cached", "HEAD"))
    shown = {(file.name, file.kind, file.added, file.removed) for file in change.files}
    assert shown == {
        ("new name", "renamed", 0, 0),
        ("gone", "deleted", 0, 1),
        ("picture", "binary", 0, 0),
        ("run", "other rights", 0, 0),
        ("grün <b>", "new", 2, 0),
    }
    new = next(file for file in change.files if file.kind == "new")
    assert new.lines == (
        '<span class="hunk">@@ -0,0 +1,2 @@</span>\n<span class="add">++ one</span>\n'
        '<span class="add">+- two</span>'
    )


def test_no_line_leaves_its_file_and_none_acts(tree: Path) -> None:
    (tree / "run").write_text(HOSTILE)
    (file,) = parse_patch(git(tree, "diff")).files
    assert (file.name, file.added, file.removed) == ("run", 4, 1)
    assert "<script" not in file.lines
    assert not {"\u202e", "\r", "\x1b"}.intersection(file.lines)


def test_a_large_change_is_cut_and_says_how_much_is_left_out() -> None:
    line = f"+{'<' * 5_000}\n"
    files = (
        f"diff --git a/f{number} b/f{number}\n--- a/f{number}\n+++ b/f{number}\n@@ -1 +1 @@\n{'+x' * 9}\n"
        for number in range(MAX_FILES + 7)
    )
    many = parse_patch("".join(files))
    assert (len(many.files), many.omitted) == (MAX_FILES, 7)
    long = parse_patch(
        "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n" + line + "+x\n" * (MAX_LINES + 50)
    )
    (file,) = long.files
    assert (file.added, file.omitted) == (MAX_LINES + 51, 52)
    assert file.lines.count("&lt;") == MAX_LINE - 1
    wide = parse_patch("".join(f"diff --git a/{name} b/{name}\n@@ -1 +1 @@\n{line * 300}" for name in "fg"))
    assert sum(len(file.lines.encode()) for file in wide.files) <= MAX_BYTES
    assert (
        sum(file.omitted + file.lines.count("\n") + 1 for file in wide.files if file.lines)
        + sum(file.omitted for file in wide.files if not file.lines)
        == 602
    )


def test_long_names_leave_files_out_and_not_all_lines() -> None:
    names = [f"{'&ü' * 95}{number}" for number in range(MAX_FILES)]
    wide = parse_patch("".join(f"diff --git a/{it} b/{it}\n@@ -1 +1 @@\n{'+ü' * 90}\n" for it in names))
    assert 0 < wide.omitted == MAX_FILES - len(wide.files)
    sizes = (len(escape(it.name).encode()) + len(it.lines.encode()) for it in wide.files)
    assert MAX_BYTES / 2 < sum(sizes) <= MAX_BYTES
    assert wide.files[0].lines


@pytest.mark.parametrize("text", ["", "nothing", "diff --git ", "diff --git a", "[5 bytes are left out]\n+x"])
def test_what_is_no_whole_patch_is_shown_as_far_as_it_is_one(text: str) -> None:
    assert all(not file.lines for file in parse_patch(text).files)
