"""The engine of scripts/engine: shared by those who need it, gone with the last one, however that ended."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.house.source import ROOT
from tests.waiting import until

ASK = "docker info --format '{{.ID}} {{.DockerRootDir}}'"


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Path]:
    """Yield an empty folder for the images of an engine of this test's own."""
    if os.geteuid() or not shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin"):
        pytest.skip("needs root and dockerd: run scripts/engine as root")
    yield tmp_path / "kept"
    assert remains(tmp_path / "kept") == []


def remains(kept: Path) -> list[str]:
    """Return the command lines of everything that still runs for the engine of that folder."""
    places = (str(kept), run_folder(kept) or str(kept))
    found = []
    for one in psutil.process_iter():
        try:
            line = " ".join(one.cmdline())
        except psutil.Error:
            continue
        if any(place in line for place in places):
            found.append(line)
    return found


def run_folder(kept: Path) -> str:
    try:
        return (kept / "run").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def started(kept: Path, script: str) -> subprocess.Popen[str]:
    """Start a script under an engine of its own: the address that is set answers nobody."""
    environment = os.environ | {
        "CARDINAL_ENGINE_DIR": str(kept),
        "DOCKER_HOST": "unix:///nowhere/docker.sock",
    }
    return subprocess.Popen(
        ("scripts/engine", "sh", "-c", script),
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_the_engine_lives_as_long_as_the_command_and_passes_its_exit_code_on(kept: Path) -> None:
    command = started(kept, f"{ASK}; env | grep ENGINE_DIR; exit 7")
    said, errors = command.communicate(timeout=60)
    assert command.returncode == 7, errors
    assert said.split()[1:] == [f"{kept}/images"]
    assert not Path(run_folder(kept)).exists()
    mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
    assert str(kept) not in mounts


def test_two_at_once_share_one_and_the_first_to_leave_does_not_end_it(kept: Path) -> None:
    first = started(kept, f"{ASK}; read _")
    assert first.stdout is not None
    engine = first.stdout.readline()
    second = started(kept, f"{ASK}; read _; {ASK}")
    assert second.stdout is not None
    assert second.stdout.readline() == engine
    first.communicate("\n", timeout=60)
    again, errors = second.communicate("\n", timeout=60)
    assert again == engine, errors


def test_an_engine_whose_user_was_killed_ends_by_itself_with_its_containers_and_the_next_starts_clean(
    kept: Path,
) -> None:
    shell = "bin/sh lib64/ld-linux-x86-64.so.2 lib/x86_64-linux-gnu/libc.so.6"  # as on every Debian for x64
    make = f"tar -C / -ch {shell} | docker import - tiny >/dev/null"
    stay = "docker run -d --network none --restart always tiny /bin/sh -c 'while :; do :; done' && read _"
    user = started(kept, f"{make} && {stay}")
    assert user.stdout is not None
    assert len(user.stdout.readline().strip()) == 64
    user.send_signal(signal.SIGKILL)
    user.communicate(timeout=60)
    until(lambda: not remains(kept), "nothing of it remains")
    said, errors = started(kept, "docker images -q; echo; docker ps -aq").communicate(timeout=60)
    images, containers = said.split("\n\n")
    assert (len(images), containers.strip()) == (12, ""), errors


def test_without_an_engine_and_without_rights_there_is_a_sentence_and_in_ci_the_end(tmp_path: Path) -> None:
    for name in ("bash", "env", "dirname", "timeout", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n", encoding="utf-8")
    (tmp_path / "id").chmod(0o755)

    def asked(**more: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(tmp_path), "DOCKER_HOST": "unix:///nowhere/docker.sock"} | more
        command = ("scripts/engine", "sh", "-c", "echo went on")
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    told = asked()
    assert (told.returncode, told.stdout) == (0, "went on\n")
    assert "start one, or set DOCKER_HOST" in told.stderr
    in_ci = asked(CI="true")
    assert (in_ci.returncode, in_ci.stdout) == (1, "")
