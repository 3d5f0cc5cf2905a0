"""Checks proposed from a repository's files; every proposal is a valid policy file."""

import pytest

from rules.policy.model import parse_repository
from rules.policy.projects.proposal import markers, propose

PYTEST = "[tool.pytest.ini_options]\n"
PACKAGE = "[project]\nname = 'a'\n[project.optional-dependencies]\ntest = []\ndocs = []\n"
VENV = "python3 -m venv --system-site-packages ~/venv && ~/venv/bin/pip install -q"
NPM = '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'
ALONE = '{"scripts": {"test": "node --test"}}'
NO_NPM = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'


@pytest.mark.parametrize(
    ("files", "setup", "full"),
    [
        ({"pyproject.toml": PYTEST}, (f"{VENV} pytest",), ("~/venv/bin/python -m pytest -q",)),
        ({"setup.cfg": "[tool:pytest]\n"}, (f"{VENV} pytest",), ("~/venv/bin/python -m pytest -q",)),
        (
            {"pyproject.toml": f"{PYTEST}{PACKAGE}", "requirements-dev.txt": ""},
            (f"{VENV} pytest -r requirements-dev.txt -e '.[test]'",),
            ("~/venv/bin/python -m pytest -q",),
        ),
        ({"pyproject.toml": f"{PYTEST}[[["}, (f"{VENV} pytest",), ("~/venv/bin/python -m pytest -q",)),
        ({"tests/test_a.py": ""}, (), ("python3 -m unittest discover -s tests",)),
        (
            {"tests/test_a.py": "", "tests/__init__.py": "", "requirements.txt": ""},
            (f"{VENV} -r requirements.txt",),
            ("~/venv/bin/python -m unittest discover -s tests -t .",),
        ),
        ({"package.json": NPM, "package-lock.json": ""}, ("npm ci",), ("npm test",)),
        ({"package.json": NPM}, ("npm install",), ("npm test",)),
        ({"package.json": ALONE}, (), ("npm test",)),
        ({"package.json": NO_NPM}, (), ()),
        ({"package.json": "[" * 100_000}, (), ()),
        ({"package.json": "[]"}, (), ()),
        ({"go.mod": "", "Cargo.toml": ""}, (), ("go test ./...", "cargo test")),
        ({"Makefile": "all:\ntest: all\n", "go.mod": ""}, (), ("make test",)),
        ({"Makefile": "test := 1\n"}, (), ()),
        ({"README.md": ""}, (), ()),
    ],
)
def test_the_files_decide_what_is_run(
    files: dict[str, str], setup: tuple[str, ...], full: tuple[str, ...]
) -> None:
    proposal = propose(files.keys(), files)
    assert (proposal.setup, proposal.full) == (setup, full)
    rules = parse_repository(proposal.text())
    assert rules.setup == setup
    assert rules.waived if not full else rules.validation is not None and rules.validation.full == full


def test_the_folders_of_a_monorepo_become_paths_where_the_root_has_no_checks() -> None:
    files = {
        "package.json": NO_NPM,
        "web/package.json": NPM,
        "web/widgets/package.json": NPM,
        "services/api/go.mod": "",
        "web/node_modules/left/package.json": NPM,
        "docs/Makefile": "all:\n",
    }
    read = markers(files)
    assert "web/node_modules/left/package.json" not in read
    proposal = propose(files.keys(), {name: files[name] for name in read})
    rules = parse_repository(proposal.text())
    assert rules.waived
    assert {name: (path.setup, path.validation.full) for name, path in rules.paths.items()} == {
        "web": (("npm install",), ("npm test",)),
        "services/api": ((), ("go test ./...",)),
    }
    assert propose(files.keys(), files | {"package.json": NPM}).paths == {}
