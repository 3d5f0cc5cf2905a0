"""Checks proposed from a repository's files; every proposal is a valid policy file."""

import pytest

from rules.policy.model import parse_repository
from rules.policy.proposal import propose

NPM = '{"scripts": {"test": "jest"}}'
NO_NPM = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'


@pytest.mark.parametrize(
    ("files", "setup", "full"),
    [
        ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, (), ("python3 -m pytest -q",)),
        ({"setup.cfg": "[tool:pytest]\n"}, (), ("python3 -m pytest -q",)),
        ({"tests/test_a.py": ""}, (), ("python3 -m unittest discover -s tests",)),
        (
            {"tests/test_a.py": "", "tests/__init__.py": "", "requirements.txt": ""},
            ("pip install -r requirements.txt",),
            ("python3 -m unittest discover -s tests -t .",),
        ),
        ({"package.json": NPM, "package-lock.json": ""}, ("npm ci",), ("npm test",)),
        ({"package.json": NPM}, ("npm install",), ("npm test",)),
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
