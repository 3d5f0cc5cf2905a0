"""`cardinal try` in every shape of a repository: a board is possible, or one sentence says why not."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.admin.clone.own_git import CloneError
from bot.admin.trial import trial
from bot.admin.trial.checks import look_at_checks
from bot.admin.trial.payment import check_payment, keys_in
from bot.cli import main
from rules.policy import schema
from runner.workspaces import bubblewrap
from tests.bot.admin.clone.conftest import commit, every_byte
from tests.bot.admin.clone.shapes import (
    PROJECTS,
    detached,
    project,
    shallow,
    subfolder,
    submodule,
    with_hooks,
    worktree,
)
from tests.runner.world import git

NOBODY = "http://127.0.0.1:9"  # the port of a service that no machine offers any more


def broken_line(clone: Path) -> Path:
    git(clone.parent, "clone", "--quiet", str(clone), "a\nb")
    return clone.parent / "a\nb"


def bare(clone: Path) -> Path:
    git(clone.parent, "clone", "--quiet", "--bare", str(clone), "bare")
    return clone.parent / "bare"


def without_commits(clone: Path) -> Path:
    git(clone.parent, "init", "--quiet", "empty")
    return clone.parent / "empty"


def staged(clone: Path) -> Path:
    (clone / "answer").write_text("other\n")
    git(clone, "add", "answer")
    return clone


def partial(clone: Path) -> Path:
    git(clone, "config", "remote.origin.promisor", "true")
    return clone


def home_of_another(clone: Path) -> Path:
    (clone / ".cardinal").mkdir()
    (clone / ".cardinal/env").write_text("CARDINAL_PORT=1\n")
    return clone


def linked(clone: Path) -> Path:
    (clone / ".cardinal").symlink_to(clone.parent)
    return clone


def branched(name: str) -> Callable[[Path], Path]:
    def shape(clone: Path) -> Path:
        git(clone, "branch", name)
        return clone

    return shape


def tracked(clone: Path) -> Path:
    (clone / ".cardinal").mkdir()
    commit(clone, **{".cardinal/try.json": "{}"})
    return clone


@pytest.mark.parametrize("shape", [worktree, submodule, subfolder, with_hooks, lambda clone: clone])
def test_a_board_is_possible_and_nothing_outside_its_folder_is_changed(
    clone: Path, shape: Callable[[Path], Path]
) -> None:
    folder = shape(clone)
    git(clone, "branch", "cardinal/works-of-my-own")
    before = every_byte(clone)
    place = trial.find(folder, "main" if shape is worktree else "")
    trial.write(place, "scripted", look_at_checks(place, "scripted").proposal, {})
    assert trial.find(folder, "").into == place.into
    kept = {path.name for path in place.folder.iterdir()}
    files = {".gitignore", schema.FILE, "policy.yml", "try.json"}
    assert (kept, place.folder.stat().st_mode & 0o777) == (files, 0o700)
    assert (place.folder / "policy.yml").read_text().startswith(f"{schema.LINE}{schema.FILE}\n")
    assert json.loads((place.folder / schema.FILE).read_text()) == schema.policy_schema()
    assert git(place.top, "status", "--porcelain", "--ignored", "--", ".cardinal") == "!! .cardinal/"
    shutil.rmtree(place.folder)
    assert every_byte(clone) == before


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (bare, "is a bare repository: go to a clone of it"),
        (broken_line, "has a line break in its name: rename the folder"),
        (without_commits, "there are no commits yet: run `git commit --allow-empty -m init`, then try again"),
        (shallow, "this clone is shallow: run `git fetch --unshallow` first"),
        (partial, "this is a partial clone, and objects are missing: make a full clone"),
        (detached, "no branch is checked out here: name one with --into"),
        (staged, "you have staged changes: commit them, or run `git restore --staged .`"),
        (tracked, "git tracks .cardinal here"),
        (home_of_another, "is the home of a Cardinal: use another clone"),
        (linked, "is not your own folder: delete it first"),
        (branched("cardinal"), "the branch cardinal conflicts with the board's own"),
        (branched("cardinal/work/x"), "the branch cardinal/work/x conflicts with the board's own"),
        (branched("cardinal/1-say-hello"), "the branch cardinal/1-say-hello conflicts with"),
        (lambda clone: clone.parent, "is not in a git repository"),
    ],
)
def test_where_no_board_can_be_a_sentence_says_why(
    clone: Path, shape: Callable[[Path], Path], said: str
) -> None:
    folder = shape(clone)
    before = every_byte(clone)
    with pytest.raises(CloneError, match=said.replace("(", r"\(")):
        trial.find(folder, "")
    assert every_byte(clone) == before


@pytest.mark.parametrize("into", ["nowhere", "cardinal/1-x", "--help", "HEAD", "main~0"])
def test_only_a_branch_of_the_persons_own_is_merged_into(clone: Path, into: str) -> None:
    git(clone, "branch", "cardinal/1-x")
    with pytest.raises(CloneError, match="there is no local branch"):
        trial.find(clone, into)


@pytest.mark.parametrize("name", PROJECTS)
def test_the_checks_that_are_there_are_proposed_and_are_a_policy(clone: Path, name: str) -> None:
    project(clone, name)
    check = PROJECTS[name][2]
    before = every_byte(clone)
    place = trial.find(clone, "")
    trial.write(place, "claude", look_at_checks(place, "claude").proposal, {})
    rules = trial.policy_of(place).board.repositories.without_policy
    assert (rules.validation.full if rules.validation else ()) == ((check,) if check else ())
    assert rules.waived is not bool(check)
    column = trial.policy_of(place).column("In Progress")
    assert column is not None
    assert (column.agent, column.model) == ("claude", "default")
    shutil.rmtree(place.folder)
    assert every_byte(clone) == before


def test_the_parts_of_a_monorepo_are_proposed_as_well(clone: Path) -> None:
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, **{"web/package.json": PROJECTS["npm"][1]})
    place = trial.find(clone, "")
    trial.write(place, "claude", look_at_checks(place, "claude").proposal, {})
    rules = trial.policy_of(place).board.repositories.without_policy
    assert [*rules.paths] == ["web"]


def test_a_clone_where_checks_have_a_folder_of_their_own_is_to_be_moved(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, **{"web/package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'})
    monkeypatch.setattr(bubblewrap, "OWN_FOLDERS", (clone.parts[1],))
    said = invoke(clone, given="n\n")[1]
    assert f"packages below /{clone.parts[1]}, where they have a folder of their own: move" in said
    assert "Install them in this clone" not in said


def test_checks_that_must_fetch_something_wait_for_an_agent_with_a_network(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "OWN_FOLDERS", ())  # the suite keeps its folders below /dev
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, **{"web/package.json": '{"scripts": {"test": "jest"}, "devDependencies": {"jest": "1"}}'})
    code, said = invoke(clone, given="n\n")
    assert code == 1
    assert (
        "The scripted agent skips them for now: it cannot fetch packages. Install them in this clone" in said
    )
    assert "with `(cd web && npm install)`, and start it again" in said
    place = trial.find(clone, "")
    checks = look_at_checks(place, "scripted")
    trial.write(place, "scripted", checks.proposal, {}, offline=checks.offline)
    assert trial.policy_of(place).board.repositories.without_policy.waived
    assert '#   "web": {setup: ["npm install"]' in (place.folder / trial.POLICY).read_text()


def test_a_program_that_is_missing_is_said_when_its_check_is_proposed(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("CARDINAL_ANTHROPIC_KEY", "")  # empty is none
    monkeypatch.setenv("CARDINAL_ANTHROPIC_URL", NOBODY)
    git(clone, "rm", "--quiet", ".github/cardinal.yml")
    commit(clone, **{"mix.exs": "", "tests/test_a.py": ""})
    assert (
        "`mix` is not installed on this machine: install it, or drop the check."
        in invoke(clone, given="n\n")[1]
    )
    (clone.parent / "mix").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{clone.parent}")
    said = invoke(clone, given="n\n")[1]
    assert f"`mix` is {clone.parent}/mix, and checks on this machine look in /usr/bin and" in said
    code, said = invoke(clone, "--agent=claude", given="n\n")
    assert (code, said.count("is not installed in Cardinal's own image: name an image")) == (1, 1)
    assert "`mix` is not installed in Cardinal's own image" in said


def test_a_repository_with_a_policy_goes_by_it(clone: Path) -> None:
    assert look_at_checks(trial.find(clone, "main"), "scripted").proposal is None


def test_the_person_is_who_git_says_by_whichever_file(clone: Path, tmp_path: Path) -> None:
    for name in ("user.name", "user.email"):
        git(clone, "config", "--unset-all", name) if git(clone, "config", "--default=", name) else None
    (tmp_path / "given").write_text("[user]\nname = Ann Ä.\nemail = ann.a+b@example.com\n")
    place = trial.find(clone, "main")
    trial.write(place, "scripted", None, {"GIT_CONFIG_GLOBAL": str(tmp_path / "given")})
    answers = place.answers()
    assert (answers["person"], answers["email"]) == ("Ann Ä.", "ann.a+b@example.com")
    assert (answers["login"], answers["git"]) == ("ann-a-b", str(clone / ".git"))


def invoke(clone: Path, *words: str, given: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(main, ["try", "-C", str(clone), *words], input=given)
    return done.exit_code, done.output


def test_whoever_says_no_has_nothing_in_their_repository(clone: Path) -> None:
    before = every_byte(clone)
    code, said = invoke(clone, "--into", "main", given="n\n")
    assert code == 1
    assert "Done merges into: main\nchecks: those of its .github/cardinal.yml\n" in said
    assert "--yes skips this question" in said  # where nobody can answer, this line is all that is seen
    assert every_byte(clone) == before


def test_a_real_agent_without_a_key_says_which_and_that_a_subscription_can_pay(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC_API_KEY", "CARDINAL_ANTHROPIC_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "")
    code, said = invoke(clone, "--yes", "--agent", "claude")
    assert (code, said.splitlines()[-1]) == (
        2,
        "Error: claude needs a key: set CARDINAL_ANTHROPIC_KEY or ANTHROPIC_API_KEY, or "
        "CARDINAL_SUBSCRIPTION_TOKEN (from `claude setup-token`) and CARDINAL_ALLOW_SUBSCRIPTION=true for a "
        "Claude subscription of your own. The scripted agent needs none",
    )
    assert (
        "codex needs a key: set CARDINAL_OPENAI_KEY or OPENAI_API_KEY. The"
        in invoke(clone, "--yes", "--agent", "codex")[1]
    )
    assert "--agent needs one of claude, codex" in invoke(clone, "--yes", "--agent", "mine")[1]
    assert not (clone / ".cardinal").exists()  # else `--agent scripted` would come too late


@pytest.mark.parametrize(
    "given",
    [
        {"SUBSCRIPTION_TOKEN": "sk-ant-oat01-x", "ALLOW_SUBSCRIPTION": "true"},
        {"VERTEX_PROJECT": "p", "VERTEX_CREDENTIALS": '{"type": "service_account"}'},
        {"BEDROCK_REGION": "eu-west-1", "BEDROCK_PROFILE": "eu"},
    ],
)
def test_people_who_pay_in_another_way_need_no_key_and_get_none_beside_it(
    clone: Path, given: dict[str, str]
) -> None:
    settings = {f"CARDINAL_{name}": text for name, text in given.items()}
    config = keys_in(trial.find(clone, "main"), {"ANTHROPIC_API_KEY": "sk-beside", **settings})
    assert not config.anthropic_key  # both would be an error
    check_payment({"claude": ["default"]}, config, pytest.fail)


def test_what_was_answered_once_is_changed_in_its_file(clone: Path) -> None:
    trial.write(trial.find(clone, "main"), "scripted", None, {})
    assert "this board's Done merges into main: drop --into" in invoke(clone, "--into", "work")[1]
    (clone / ".cardinal/policy.yml").write_text("version: 2\n")
    code, said = invoke(clone)
    assert (code, "line 1: version" in said) == (2, True), said
    assert json.loads((clone / ".cardinal/try.json").read_text())["into"] == "main"
    (clone / ".cardinal/policy.yml").unlink()
    assert "policy.yml is missing: restore it, or delete .cardinal" in invoke(clone)[1]


def test_the_board_has_the_columns_that_its_policy_names_now(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    place = trial.find(clone, "main")
    trial.write(place, "scripted", None, {})
    columns = "{Ideas: {archetype: inbox}, Vote: {archetype: execution, agent: claude}}"
    (place.folder / trial.POLICY).write_text(f"version: 1\nboard: {{columns: {columns}}}\n")
    assert "claude needs a key" in invoke(clone)[1]
    assert place.answers()["columns"] == ["Ideas", "Vote"]


@pytest.mark.parametrize(("owner", "moment"), [(Path, "write_text"), (os, "replace")])
def test_a_beginning_that_is_killed_at_any_moment_is_none(
    clone: Path, monkeypatch: pytest.MonkeyPatch, owner: object, moment: str
) -> None:
    class Killed(BaseException):
        pass

    act, left = getattr(owner, moment), 0

    def kill(*words: object, **more: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        return act(*words, **more)

    place = trial.find(clone, "main")
    for after in range(9):
        left = after
        monkeypatch.setattr(owner, moment, kill)
        try:
            trial.write(place, "scripted", None, {})
        except Killed:
            assert trial.find(clone, "main").is_new
            assert git(clone, "status", "--porcelain", "--ignored") in ("", "!! .cardinal/")
            continue
        break
    assert after == (4 if moment == "write_text" else 1)
    assert trial.find(clone, "").answers()["into"] == "main"


def test_a_board_that_came_with_an_archive_is_asked_about_whatever_was_said_before(clone: Path) -> None:
    place = trial.find(clone, "main")
    trial.write(place, "scripted", None, {})
    assert place.is_from_here()
    file = place.folder / trial.ANSWERS
    file.write_text(file.read_text().replace(str(place.answers()["made_by"]), "somebody else"))
    code, said = invoke(clone, "--yes", given="n\n")
    assert (code, "created by another user" in said) == (1, True), said
    assert not place.is_from_here()


def test_a_machine_without_an_id_is_known_by_its_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").touch()
    signatures = []
    for start in ("first", "second"):
        (tmp_path / start).write_text(start)
        files = tmp_path / "missing", tmp_path / "empty", tmp_path / start
        monkeypatch.setattr(trial, "MACHINE", tuple(map(str, files)))
        signatures.append(trial._maker())
        monkeypatch.setattr(trial, "MACHINE", (str(tmp_path / start),))
        assert trial._maker() == signatures[-1]
    assert signatures[0] != signatures[1]
