"""`cardinal try --agent` on a board that is there: other names in its policy file, and nothing else."""

import fcntl
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from bot.admin.clone.own_git import CloneError
from bot.admin.trial import trial
from bot.admin.trial.agent_switch import agents_under_way, plan_switch
from bot.admin.trial.checks import look_at_checks
from bot.cli import _forge, main
from forge.demo.launch import SCENARIOS
from forge.model.server import ScriptedModel
from ledger.events.run import RunEnded
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.states import Ending
from tests.ledger.samples import NOW, board_seen, card_seen, run_queued

KEY = "sk-tested-0123456789"


@pytest.fixture
def place(clone: Path) -> trial.Trial:
    place = trial.find(clone, "main")
    trial.write(place, "scripted", look_at_checks(place, "scripted").proposal, {})
    return place


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedModel]:
    monkeypatch.delenv("CARDINAL_ANTHROPIC_KEY", raising=False)
    with ScriptedModel(SCENARIOS, scenario="shop", key=KEY) as model:
        monkeypatch.setenv("CARDINAL_ANTHROPIC_URL", model.url)
        yield model


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Keep the program from being replaced by the board's; return what would have been started."""
    words: list[tuple[str, ...]] = []
    monkeypatch.setattr(_forge, "replace", lambda *given: words.append(given))
    return words


def invoke(place: trial.Trial, *words: str, given: str = "") -> tuple[int, str]:
    done = CliRunner().invoke(main, ["try", "-C", str(place.top), *words], input=given)
    return done.exit_code, done.output


def text_of(place: trial.Trial) -> str:
    return (place.folder / trial.POLICY).read_text()


def test_columns_get_the_agent_and_everything_else_stays(place: trial.Trial) -> None:
    file = place.folder / trial.POLICY
    before = file.read_text().replace("limits: {usd", "# mine\n  limits: {usd")
    file.write_text(before)
    switch = plan_switch(place, "claude")
    assert switch.changes == (
        "Planning: scripted becomes claude",
        "In Progress: scripted becomes claude",
    )
    planning = "Planning: {archetype: planning, agent: scripted, model: hello}"
    wanted = before.replace(planning, "Planning: {archetype: planning, agent: claude, model: small}")
    wanted = wanted.replace("agent: scripted, model: hello, plan", "agent: claude, model: default, plan")
    assert switch.text == wanted
    trial.write_policy(place, switch.text)
    assert plan_switch(place, "claude").changes == ()
    assert plan_switch(place, "scripted").text == before


COLUMNS = [
    "Vote:\r\n      archetype: execution  # why\r\n      agent:  'scripted' # who\r\n      budget_usd: 9\r\n",
    "Vote: {archetype: execution}\r\n",
    'Vote: {"agent": "scripted",\r\n      "archetype": execution, model: "hello"} # é\r\n',
    "Vote:\r\n      archetype: execution\r\n      model: >-\r\n        hello\r\n      agent: scripted\r\n",
]


@pytest.mark.parametrize("column", COLUMNS)
def test_a_policy_is_rewritten_as_people_write_it(place: trial.Trial, column: str) -> None:
    text = (
        f"# ä first\r\nversion: 1\r\nboard:\r\n  columns:\r\n    {column}    Ideas: {{archetype: inbox}}\r\n"
    )
    (place.folder / trial.POLICY).write_bytes(text.encode())
    switch = plan_switch(place, "codex")
    vote = switch.policy.board.columns["Vote"]
    assert (vote.agent, vote.model) == ("codex", "default")
    for kept in ("# ä first\r\n", "# why", "# who", "budget_usd: 9", "# é", "Ideas: {archetype: inbox}\r\n"):
        assert (kept in switch.text) is (kept in text)


@pytest.mark.parametrize(
    "column",
    [
        "Vote:\n      ? archetype\n      : execution\n      ? agent\n      : scripted\n",
        "Vote:\n      ? archetype\n      : execution\n",
    ],
)
def test_a_policy_that_cannot_be_rewritten_is_left_to_its_writer(place: trial.Trial, column: str) -> None:
    (place.folder / trial.POLICY).write_text(f"version: 1\nboard:\n  columns:\n    {column}")
    with pytest.raises(CloneError, match=r"yourself: in Vote set `agent: codex` and `model: default`$"):
        plan_switch(place, "codex")


@pytest.mark.usefixtures("model")
def test_a_switch_asks_once_and_a_no_changes_nothing(
    place: trial.Trial, monkeypatch: pytest.MonkeyPatch, started: list[tuple[str, ...]]
) -> None:
    before = text_of(place)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    code, said = invoke(place, "--agent=claude", given="n\n")
    assert (code, said.count("[y/N]"), text_of(place), started) == (1, 1, before, [])
    assert "In Progress: scripted becomes claude\nRuns that are under way keep the agent" in said
    code, said = invoke(place, "--agent=claude", "--yes")
    assert (code, "[y/N]" in said) == (0, False), said
    assert trial.policy_of(place).board.columns["In Progress"].agent == "claude"
    assert [word for word in started[0] if "workspace" in word] == ["--workspace=docker"]


def test_a_refused_key_is_said_before_anything_is_written(
    place: trial.Trial, monkeypatch: pytest.MonkeyPatch, model: ScriptedModel, started: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-wrong-9876543210")
    before = text_of(place)
    code, said = invoke(place, "--agent=claude", "--yes")
    assert (code, text_of(place), started, len(model.requests)) == (2, before, [], 1)
    assert "the key in ANTHROPIC_API_KEY is refused: anthropic answers 401" in said
    assert "9876543210" not in said


def test_a_provider_that_nobody_reaches_does_not_stop_a_board(
    place: trial.Trial, monkeypatch: pytest.MonkeyPatch, started: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("CARDINAL_ANTHROPIC_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CARDINAL_ANTHROPIC_KEY", KEY)
    code, said = invoke(place, "--agent=claude", "--yes")
    assert (code, len(started)) == (0, 1), said
    assert "anthropic could not be asked about the key in CARDINAL_ANTHROPIC_KEY (ConnectError" in said


def test_a_board_that_runs_is_stopped_first(place: trial.Trial) -> None:
    before = text_of(place)
    with (place.folder / "try.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        code, said = invoke(place, "--agent=claude", "--yes")
    assert (code, "the board is running: stop it with Ctrl-C first" in said, text_of(place)) == (
        2,
        True,
        before,
    )


def programs(folder: Path) -> str:
    """Return a PATH with what the scripts need on Debian as root, and without an engine."""
    folder.mkdir()
    for name in ("bash", "sh", "dirname", "git", "setpriv", "prlimit", "env", "timeout"):
        (folder / name).symlink_to(str(shutil.which(name)))
    for name, line in (("id", "echo 0"), ("apt-get", "exit 1"), ("mmdebstrap", "exit 1")):
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.mark.usefixtures("model")
def test_yes_installs_no_packages_and_names_the_command(
    place: trial.Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, started: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setenv("PATH", programs(tmp_path / "bin"))
    before = text_of(place)
    code, said = invoke(place, "--agent=claude", "--yes")
    assert (code, started, text_of(place)) == (2, [], before), said
    assert "--yes installs no system packages: run `apt-get install" in said
    assert "about 2 minutes and 500 MB: docker.io" in said
    assert "it is built first: about 7 minutes and 1.4 GB." in said
    code, said = invoke(place, "--agent=claude", given="n\n")
    assert (code, started, "Install these packages on this machine? [y/N]" in said) == (1, [], True)


@pytest.mark.usefixtures("model")
def test_a_run_under_way_keeps_its_containers_after_a_switch_to_the_scripted_agent(
    place: trial.Trial, monkeypatch: pytest.MonkeyPatch, started: list[tuple[str, ...]]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    trial.write_policy(place, plan_switch(place, "claude").text)
    engine = open_ledger(f"sqlite:///{place.folder}/data/ledger.db", durable=False)
    with event_store.writing(engine) as db:
        event_store.append(db, board_seen(), card_seen(), replace(run_queued(), agent="claude"), at=NOW)
    assert agents_under_way(place) == {"claude"}
    assert invoke(place, "--agent=scripted", "--yes")[0] == 0
    assert "--workspace=docker" in started[-1]
    assert trial.policy_of(place).board.columns["In Progress"].agent == "scripted"
    with event_store.writing(engine) as db:
        ended = RunEnded(run_queued().run_id, Ending.CANCELLED, "stopped", "", "working")
        event_store.append(db, ended, at=NOW)
    assert invoke(place)[0] == 0
    assert "--workspace=local" in started[-1]


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set a server of one's own that wants no key, and whose one model has no price elsewhere."""
    with ScriptedModel(SCENARIOS, scenario="shop") as model:
        for name, text in {"URL": model.url, "KEY": "none"}.items():
            monkeypatch.setenv(f"CARDINAL_COMPATIBLE_{name}", text)
        yield


@pytest.mark.parametrize("name", ["qwen3-coder:30b", "7"])
@pytest.mark.usefixtures("own_server")
def test_the_model_of_ones_own_server_is_in_the_board_from_its_first_start(
    clone: Path, started: list[tuple[str, ...]], name: str
) -> None:
    place = trial.find(clone, "main")
    code, said = invoke(place, "--yes", "--into", "main", "--agent", "qwen", "--model", name)
    assert code == 0, said
    assert "Agents cannot work" not in said
    columns = trial.policy_of(place).board.columns
    assert [(columns[it].agent, columns[it].model) for it in ("Planning", "In Progress")] == [
        ("qwen", name)
    ] * 2
    code, said = invoke(place, "--yes", "--agent", "qwen", "--model", "gpt-oss:20b")
    assert (code, f"In Progress: the model {name} becomes gpt-oss:20b" in said) == (0, True), said
    assert trial.policy_of(place).board.columns["Planning"].model == "gpt-oss:20b"
    assert len(started) == 2


def test_a_model_without_an_agent_or_without_a_name_is_refused(place: trial.Trial) -> None:
    assert "add it, such as" in invoke(place, "--yes", "--model", "x")[1]
    assert "such as qwen3" in invoke(place, "--yes", "--agent", "qwen", "--model", "x: {y}")[1]


def test_who_has_no_server_yet_is_told_of_its_address(
    place: trial.Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARDINAL_COMPATIBLE_KEY", raising=False)
    said = invoke(place, "--yes", "--agent", "qwen")[1]
    assert "CARDINAL_COMPATIBLE_KEY (any word, if it wants none) and CARDINAL_COMPATIBLE_URL" in said
