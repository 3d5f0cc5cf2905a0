"""What tools make is known by its place and name, unless the repository keeps its like there."""

import pytest

from runner.guards.builtin import generated
from runner.guards.contract import NOTHING, Change, Touched
from runner.run.run_spec import Guards


def found(path: str, *before: str) -> list[str]:
    touched = Touched(path, NOTHING, "100644", "0" * 40, "1" * 40)
    change = Change("b" * 40, "c" * 40, (touched,), (), frozenset(before))
    return [breach.path for breach in generated.find_breaches(change, Guards({"generated": "deny"}))]


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("dist/index.js", "dist/main.js"),
        ("action/dist/index.js", "action/dist/licenses.txt"),
        ("DIST/index.js", "dist/main.js"),
        ("tools/venv/bin/x", "tools/venv/pyvenv.cfg"),
        ("static/app.min.js", "static/jquery-3.1.min.js"),
        ("fix.orig", "other.orig"),
    ],
)
def test_new_files_where_the_repository_keeps_their_like_are_its_own(path: str, kept: str) -> None:
    assert found(path) == [path]
    assert found(path, kept) == []


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("dist/index.js", "dist/.gitkeep"),
        ("dist/index.js", "dist/README.md"),
        ("dist/index.js", "web/dist/main.js"),
        ("venv/bin/x", "venv.py"),
        ("node_modules/README.md", "node_modules.md"),
        ("static/app.min.js", "vendor/jquery.min.js"),
        ("static/app.min.js", "static/app.min.css"),
        ("a.pyc", "a.py"),
    ],
)
def test_other_files_of_the_repository_make_none_of_them_its_own(path: str, kept: str) -> None:
    assert found(path, kept) == [path]
