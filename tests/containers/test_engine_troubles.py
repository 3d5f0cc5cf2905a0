"""What goes wrong with an engine reaches a person as a sentence that says what to do."""

import socket
from pathlib import Path

import pytest

from ledger.ids import CardId, RunId
from runner.errors import RunnerError, SpawnError
from runner.workspaces.backends.docker import Docker
from runner.workspaces.contract import Tenancy, Workspace
from runner.workspaces.docker import errors
from runner.workspaces.docker.container import cli_environment, problem_with, working_cli
from runner.workspaces.docker.engine import Engine, engine_address
from runner.workspaces.docker.errors import (
    ContainerStartError,
    DiskFullError,
    EngineAwayError,
    EngineSlowError,
    ImageMissingError,
    UnseenFolderError,
    error_of,
)
from tests.containers.engine import SMALL, Bench, Relay, hear_until, sh, start
from tests.waiting import until


def test_no_engine_is_a_problem_and_opening_fails_with_the_way_out(bench: Bench, tmp_path: Path) -> None:
    away = Docker(lambda: f"unix://{tmp_path}/nobody.sock")
    assert "start it, or point DOCKER_HOST" in away.problem()
    with pytest.raises(EngineAwayError, match="start it"):
        away.open(bench.places, Tenancy(CardId("c")))
    assert list(away.leftovers(bench.places, lambda run, generation: False)) == []


def test_an_engine_on_another_machine_is_a_problem() -> None:
    assert "unix://" in problem_with("tcp://10.0.0.1:2375")
    assert problem_with(engine_address()) in ("", problem_with(engine_address()))


def test_a_problem_is_asked_again_after_some_seconds_and_for_another_address(bench: Bench) -> None:
    addresses = ["unix:///nobody.sock"]
    backend = Docker(lambda: addresses[-1])
    assert backend.problem()
    addresses.append(engine_address())
    assert backend.problem() == ""


def test_no_docker_command_is_a_problem(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    workspace = bench.open()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        assert "docker-cli" in problem_with(engine_address())
        with pytest.raises(SpawnError):
            sh(workspace, "true")
    workspace.destroy()
    assert bench.containers() == []


def test_the_first_docker_command_that_works_is_taken(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = working_cli(engine_address())
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{Path(good).parent}")
    assert working_cli(engine_address()) == good
    assert set(cli_environment()) == {"PATH", "HOME", "DOCKER_CONFIG"}


def test_an_engine_that_does_not_answer_in_time_is_slow(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute.sock"))
        mute.listen()
        slow = Engine(f"unix://{tmp_path}/mute.sock", limit_s=1)
        with pytest.raises(EngineSlowError, match="within 1 s"):
            slow.ping()


def test_an_image_that_is_not_there_is_never_pulled(bench: Bench) -> None:
    workspace = bench.open(image="acme/missing:1")
    with pytest.raises(ImageMissingError, match="docker pull acme/missing:1"):
        sh(workspace, "true")
    workspace.destroy()


def test_limits_that_the_engine_refuses_leave_nothing(bench: Bench) -> None:
    workspace = bench.open(resources=SMALL.model_copy(update={"memory_mb": 1}))
    with pytest.raises(RunnerError, match="Docker could not make a container"):
        sh(workspace, "true")
    assert bench.containers() == []
    workspace.destroy()


def test_a_container_that_cannot_start_says_why(bench: Bench) -> None:
    workspace = bench.open(resources=SMALL.model_copy(update={"memory_mb": 64, "open_files": 1 << 40}))
    with pytest.raises(ContainerStartError, match="resources"):
        sh(workspace, "true")
    assert bench.containers() == []
    workspace.destroy()


def test_a_container_that_somebody_removed_says_so(bench: Bench, room: Workspace) -> None:
    child = start(room, "/bin/sh", "-c", "echo ready; sleep 60")
    hear_until(child, "ready")
    bench.api.remove_container(bench.containers()[0]["Id"], force=True)
    hear_until(child, "Closed")
    assert child.exit_code() != 0
    assert "removed from outside" in child.fate
    child.close()


def test_an_engine_that_goes_away_meanwhile_is_named(bench: Bench, tmp_path: Path) -> None:
    """The way to the engine breaks; what ran stays for the sweep."""
    door = f"{tmp_path}/door.sock"
    relay = Relay(door, engine_address().removeprefix("unix://"))
    try:
        workspace = Docker(lambda: f"unix://{door}").open(bench.places, Tenancy(CardId("c"), RunId("r"), 1))
        child = start(workspace, "/bin/sh", "-c", "echo ready; sleep 60")
        hear_until(child, "ready")
    finally:
        relay.stop()
    hear_until(child, "Closed")
    with pytest.raises(EngineAwayError, match="start it"):
        child.exit_code()
    child.close()
    assert len(bench.containers()) == 1
    assert len(bench.sweep(lambda run, generation: False)) == 1
    until(lambda: not bench.containers(), "its containers are gone")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("failed to register layer: write /x: no space left on device", DiskFullError),
        ("error creating overlay mount: disk quota exceeded", DiskFullError),
        ("invalid mount config: bind source path does not exist: /state/x", UnseenFolderError),
        ("something else", errors.EngineError),
    ],
)
def test_what_the_engine_says_gets_a_name(said: str, kind: type[Exception]) -> None:
    runner_error = error_of("make a container", said)
    assert type(runner_error) is kind
    assert said[:20] in str(runner_error)
    assert "retry" in str(runner_error)


def test_a_folder_that_the_engine_does_not_see_is_named(bench: Bench, room: Workspace) -> None:
    with pytest.raises(UnseenFolderError, match="same path"):
        sh(room, "true", mirror=Path("/nowhere/mirror"))
