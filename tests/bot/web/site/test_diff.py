"""A patch on a page: git's own output, whatever the names and lines of its files are."""

import re
import subprocess
import time
from html import unescape
from pathlib import Path

import pytest
from markupsafe import escape

from bot.web.site.diff import MAX_BYTES, MAX_FILES, MAX_LINE, MAX_LINES, FileChange, parse_patch
from bot.web.site.syntax import LEXERS, Colours

HOSTILE = "</pre><script>x</script>\u202e\r+++ b/other\n\x1b[31m@@ -1 +1 @@\ndiff --git a/x b/x\n"


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(
        ("git", *who, *words), cwd=folder, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def html_of(file: FileChange) -> str:
    return "\n".join(line.html for line in file.lines)


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
    assert [(it.kind, it.old, it.new, it.sign, it.html) for it in new.lines] == [
        ("hunk", 0, 0, "", "@@ -0,0 +1,2 @@"),
        ("add", 0, 1, "+", "+ one"),
        ("add", 0, 2, "+", "- two"),
    ]


def test_no_line_leaves_its_file_and_none_acts(tree: Path) -> None:
    (tree / "run").write_text(HOSTILE)
    (file,) = parse_patch(git(tree, "diff")).files
    assert (file.name, file.added, file.removed) == ("run", 4, 1)
    html = html_of(file)
    assert "<script" not in html
    assert not {"\u202e", "\r", "\x1b"}.intersection(html)


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
    assert html_of(file).count("&lt;") == MAX_LINE
    wide = parse_patch("".join(f"diff --git a/{name} b/{name}\n@@ -1 +1 @@\n{line * 300}" for name in "fg"))
    assert sum(len(html_of(file).encode()) for file in wide.files) <= MAX_BYTES
    assert sum(file.omitted + len(file.lines) for file in wide.files) == 602


def test_long_names_leave_files_out_and_not_all_lines() -> None:
    names = [f"{'&ü' * 95}{number}" for number in range(MAX_FILES)]
    wide = parse_patch("".join(f"diff --git a/{it} b/{it}\n@@ -1 +1 @@\n{'+ü' * 90}\n" for it in names))
    assert 0 < wide.omitted == MAX_FILES - len(wide.files)
    names_of = (escape(it.name) * (1 + bool(it.lines)) for it in wide.files)
    sizes = (
        len(name.encode()) + len(html_of(it).encode()) for name, it in zip(names_of, wide.files, strict=True)
    )
    assert MAX_BYTES / 3 < sum(sizes) <= MAX_BYTES
    assert wide.files[0].lines


@pytest.mark.parametrize("text", ["", "nothing", "diff --git ", "diff --git a", "[5 bytes are left out]\n+x"])
def test_what_is_no_whole_patch_is_shown_as_far_as_it_is_one(text: str) -> None:
    assert all(not file.lines for file in parse_patch(text).files)


PYTHON = """diff --git a/shop/cart.py b/shop/cart.py
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -7,4 +7,5 @@ class Cart:
     \"\"\"Many
     words.\"\"\"
-    return 1  # <b>
-    x = 2
+    if total:
+        return "<b>"
+    y = 3
     z = 4
"""


def test_a_line_has_its_colours_and_its_number_in_each_of_the_files() -> None:
    (file,) = parse_patch(PYTHON).files
    assert [(it.kind, it.old, it.new) for it in file.lines] == [
        ("hunk", 0, 0), ("", 7, 7), ("", 8, 8), ("del", 9, 0), ("del", 10, 0),
        ("add", 0, 9), ("add", 0, 10), ("add", 0, 11), ("", 11, 12),
    ]  # fmt: skip
    html = [it.html for it in file.lines]
    assert html[1] == '    <i class="ts">&#34;&#34;&#34;Many</i>'
    assert html[2] == '<i class="ts">    words.&#34;&#34;&#34;</i>'  # what began a line before goes on
    assert html[3] == '    <i class="tk">return</i> <i class="tn">1</i>  <i class="tc"># &lt;b&gt;</i>'
    assert html[6] == '        <i class="tk">return</i> <i class="ts">&#34;&lt;b&gt;&#34;</i>'
    sides = [(old.old if old else 0, new.new if new else 0) for old, new in file.sides()]
    assert sides == [(0, 0), (7, 7), (8, 8), (9, 9), (10, 10), (0, 11), (11, 12)]


def test_a_range_of_lines_is_shown_in_full_or_it_is_not() -> None:
    (file,) = parse_patch(PYTHON).files
    assert file.has_lines(7, 12)
    assert file.has_lines(9, 9, old=True)
    for first, last in ((0, 0), (6, 7), (12, 13), (9, 8), (0, 9), (13, 13), (7, 10**9)):
        assert not file.has_lines(first, last), (first, last)
    assert not file.has_lines(12, 12, old=True)


@pytest.mark.parametrize("ending", sorted(it.split()[0] for it in LEXERS.values()))
def test_no_text_however_it_is_made_keeps_a_page_waiting_or_leaves_its_line(ending: str) -> None:
    units = (
        '"',
        "'",
        "\\",
        "(",
        "<",
        "0",
        "_",
        " ",
        "/*",
        "${",
        "&a;",
        "import a, ",
        "\\N{",
        "<!--",
        ": ",
        "<a<",
    )
    for unit in units:
        text = (unit * 400)[:400]
        lines = [f"</td><script>x</script>{text}", *[text] * 4, '"""</i><svg onload=x>']
        began = time.monotonic()
        html = Colours(max_s=0.05).of_lines(f"x.{ending}", lines)
        assert time.monotonic() - began < 2  # on any machine: it is a fortieth of it here
        assert [unescape(re.sub(r"</?i[^<>]*>", "", it)) for it in html] == lines
        assert not re.search(r"<(?!/?i[ >])", "".join(html))


def test_once_the_time_of_a_page_is_over_its_lines_have_no_colours() -> None:
    assert Colours(max_s=-1).of_lines("x.py", ["return 1"]) == ["return 1"]
    assert Colours().of_lines("x.unknown", ["return 1"]) == ["return 1"]
