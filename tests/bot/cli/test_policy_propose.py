"""`cardinal policy propose`: a file for the clone that one stands in, from its last commit alone."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.cli import main
from bot.repo_config import recipes
from rules.policy import schema
from rules.policy.edit import start_from
from rules.policy.model import parse_repository

IDENTITY = ("-c", "user.name=t", "-c", "user.email=t@t")


def git(folder: Path, *words: str) -> None:
    subprocess.run(("git", *IDENTITY, *words), cwd=folder, check=True, capture_output=True, timeout=60)


def kept(folder: Path) -> dict[str, bytes]:
    return {str(it): it.read_bytes() for it in sorted(folder.rglob("*")) if it.is_file()}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "clone")
    return tmp_path / "clone"


def test_the_last_commit_is_looked_at_from_any_folder_and_nothing_is_changed(clone: Path) -> None:
    (clone / "src").mkdir()
    (clone / "src" / "a.go").write_text("package a\n")
    (clone / "go.mod").write_text("module a\n")
    git(clone, "add", "--all")
    git(clone, "commit", "-qm", "x")
    (clone / "Makefile").write_text("test:\n\ttrue\n")  # not committed, so not in anybody's checkout
    before = kept(clone)
    result = CliRunner().invoke(main, ["policy", "propose", "-C", str(clone / "src")])
    said = "`go` is not installed in Cardinal's own image: name an image that has it"
    assert (result.exit_code, result.stderr.startswith(f"taken from: go.mod\n{said}")) == (0, True)
    rules = parse_repository(result.stdout)
    assert rules.validation is not None
    assert rules.validation.full == ("go test ./...",)
    assert kept(clone) == before
    (clone / "package.json").write_text('{"scripts": {"test": "x"}, "dependencies": {"a": "1"}}')
    git(clone, "add", "package.json")
    git(clone, "commit", "-qm", "y")
    result = CliRunner().invoke(main, ["policy", "propose", "-C", str(clone)])
    assert "`tools: {network: [HOST]}`" in result.stderr  # `npm install` fetches


def test_a_clone_without_a_commit_says_what_to_do(clone: Path) -> None:
    result = CliRunner().invoke(main, ["policy", "propose", "-C", str(clone)])
    assert result.exit_code == 2
    assert "has no commits: go to your clone and commit first" in result.stderr


def test_a_path_that_is_a_link_in_the_clone_is_refused_and_one_that_is_missing_is_told(clone: Path) -> None:
    file = clone / ".github" / "cardinal.yml"
    file.parent.mkdir()
    file.write_text(
        "version: 1\nrepository:\n  validation: none\n  paths:\n"
        "    linked/api: {validation: {full: [x]}}\n    gone: {validation: {full: [x]}}\n"
    )
    (clone / "real" / "api").mkdir(parents=True)
    (clone / "linked").symlink_to("real")
    refused = CliRunner().invoke(main, ["policy", "validate", str(file)])
    assert refused.exit_code == 1
    assert "line 5: repository.paths.linked/api: is a link here, or below one" in refused.stdout
    (clone / "linked").unlink()
    (clone / "linked" / "api").mkdir(parents=True)
    told = CliRunner().invoke(main, ["policy", "validate", str(file)])
    assert told.exit_code == 0
    assert "line 6: repository.paths.gone: is not a folder here" in told.stdout


def test_a_proposal_names_the_schema_where_an_editor_finds_it(clone: Path) -> None:
    git(clone, "commit", "-qm", "x", "--allow-empty")
    words = ["policy", "propose", "-C", str(clone)]
    nowhere = CliRunner().invoke(main, words)
    assert nowhere.stdout.startswith("version: 1\n")
    assert "`cardinal policy schema --write`" in nowhere.stderr
    served = CliRunner(env={"CARDINAL_PUBLIC_URL": "https://cardinal.example/"}).invoke(main, words)
    assert served.stdout == f"{schema.LINE}https://cardinal.example/policy.schema.json\n{nowhere.stdout}"
    (clone / ".github").mkdir()
    (clone / ".github" / schema.FILE).write_text("{}")
    beside = CliRunner().invoke(main, words)
    assert beside.stdout == f"{schema.LINE}{schema.FILE}\n{nowhere.stdout}"
    assert "--write" not in beside.stderr


def test_the_schema_is_written_beside_the_policy_which_names_it(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    words = ["policy", "schema", "--write"]
    assert CliRunner().invoke(main, words).output == "wrote .github/cardinal.schema.json\n"
    policy, before = clone / ".github" / "cardinal.yml", b"# ours\r\nversion: 1\r\n"
    policy.write_bytes(before)
    for _ in range(2):
        assert CliRunner().invoke(main, words).exit_code == 0
        assert policy.read_bytes() == f"{schema.LINE}{schema.FILE}\r\n".encode() + before
    assert (clone / ".github" / schema.FILE).read_text() == schema.schema_text()
    assert CliRunner().invoke(main, ["policy", "validate"]).exit_code == 0


@pytest.mark.parametrize("name", [".github", ".github/cardinal.yml", ".github/cardinal.schema.json"])
def test_a_schema_is_not_written_through_a_link(
    clone: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A clone may be anybody's, and lead to files of this user's."""
    elsewhere = clone.parent / "mine"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    monkeypatch.chdir(clone)
    (clone / name).parent.mkdir(exist_ok=True)
    (clone / name).symlink_to(elsewhere if name == ".github" else elsewhere / "file")
    result = CliRunner().invoke(main, ["policy", "schema", "--write"])
    assert (result.exit_code, f"{name} is a link: nothing was written" in result.output) == (2, True)
    assert kept(elsewhere) == {str(elsewhere / "file"): b"mine"}


def test_a_policy_that_is_no_text_is_left_alone(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    (clone / ".github").mkdir()
    policy = clone / ".github" / "cardinal.yml"
    policy.write_bytes("version: 1".encode("utf-16"))
    result = CliRunner().invoke(main, ["policy", "schema", "--write"])
    assert "is not UTF-8: save it as UTF-8" in result.output
    assert policy.read_bytes() == "version: 1".encode("utf-16")


def test_a_recipe_is_printed_alone_or_into_a_policy_file(tmp_path: Path) -> None:
    listed = CliRunner().invoke(main, ["policy", "recipes"]).stdout.splitlines()
    assert [line.partition(":")[0] for line in listed] == list(recipes.list_recipes())
    alone = CliRunner().invoke(main, ["policy", "recipes", "vote"]).stdout
    assert alone == recipes.read_recipe("vote")
    file = tmp_path / "cardinal.yml"
    file.write_text("version: 1\nrepository: {validation: none}\n")
    both = CliRunner().invoke(main, ["policy", "recipes", "vote", "--file", str(file)])
    assert both.stdout == start_from(file.read_text(), alone)
    file.write_text("version: [")
    wrong = CliRunner().invoke(main, ["policy", "recipes", "vote", "--file", str(file)])
    assert (wrong.exit_code, "line 1" in wrong.stderr) == (2, True)
