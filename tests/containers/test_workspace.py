"""A docker workspace from start to end: bytes, exit codes, what it shows and hides, and what it leaves."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ledger.ids import CardId, RunId
from runner.errors import OversizedRepositoryError, WorkspaceError
from runner.exec.child import finish
from runner.exec.deadline import KILL_S
from runner.workspaces.backends.docker import Docker
from runner.workspaces.card_folder import Folder
from runner.workspaces.contract import DEFAULT_IMAGE, Tenancy, Workspace
from runner.workspaces.docker.errors import EngineSlowError
from tests.containers.engine import Bench, git, hear_until, places_in, sh, start
from tests.waiting import until


def test_exit_codes_come_through(room: Workspace) -> None:
    assert [sh(room, f"exit {code}").exit_code for code in (0, 1, 3, 126, 255)] == [0, 1, 3, 126, 255]
    assert sh(room, "kill -TERM $$").exit_code == 143


def test_a_program_that_is_not_there_is_127_and_named(room: Workspace) -> None:
    ran = finish(start(room, "nobody-wrote-this"), what="it", timeout_s=60, beat=lambda: None)
    assert ran.exit_code == 127
    assert "nobody-wrote-this" in ran.tail


def test_bytes_pass_both_ways_and_the_end_of_input_too(room: Workspace) -> None:
    child = start(room, "sha256sum")
    message = bytes(range(256)) * 4000  # with what a terminal would take as a detach
    child.write(message)
    child.end_input()
    assert hashlib.sha256(message).hexdigest() in hear_until(child, "-")
    assert child.exit_code() == 0
    child.close()


def test_a_dialogue_goes_on_while_input_is_open(room: Workspace) -> None:
    child = start(room, "sed", "-u", "s/^/heard /")
    for word in ("one", "two"):
        child.write(f"{word}\n".encode())
        hear_until(child, f"heard {word}")
    child.close()


def test_standard_error_is_told_from_output(room: Workspace) -> None:
    child = start(room, "/bin/sh", "-c", "echo out; echo err >&2")
    child.end_input()
    heard = list[Any]()
    while not heard or type(heard[-1]).__name__ != "Closed":
        heard += child.hear(0.5)
    assert {(line.text, line.error) for line in heard[:-1]} == {("out", False), ("err", True)}
    child.close()


def test_the_ladder_reaches_the_command_inside(room: Workspace) -> None:
    polite = "trap 'sleep 0.3; echo bye; exit 4' TERM; echo ready; while :; do sleep 0.1; done"
    child = start(room, "/bin/sh", "-c", polite)
    hear_until(child, "ready")
    stopped = child.stop()
    assert (stopped.rung, stopped.exit_code) == ("term", 4)
    hear_until(child, "bye")
    child.close()


def test_what_will_not_end_is_killed_and_leaves_no_container(bench: Bench, room: Workspace) -> None:
    child = start(room, "/bin/sh", "-c", "trap '' TERM INT; echo ready; setsid sleep 600 & sleep 601")
    hear_until(child, "ready")
    assert child.stop(hurry=True).rung == "kill"
    assert not _running("sleep\x00600")
    assert child.fate == ""
    child.close()
    assert bench.containers() == []
    assert not _running("sleep\x00600")


def test_a_finished_command_leaves_no_container(bench: Bench, room: Workspace) -> None:
    sh(room, "setsid sleep 602 & true")
    assert bench.containers() == []
    assert not _running("sleep\x00602")


def test_what_was_killed_twice_or_closed_twice_stays_closed(bench: Bench, room: Workspace) -> None:
    child = start(room, "sleep", "60")
    child.stop(hurry=True)
    child.close()
    child.close()
    assert bench.containers() == []


def test_containers_say_whose_they_are(bench: Bench) -> None:
    workspace = bench.open("PVTI_/x", "r7", 3)
    child = start(workspace, "sleep", "60")
    (container,) = bench.containers()
    labels = container["Labels"]
    assert {name: labels[f"cardinal.{name}"] for name in ("card", "run", "generation")} == {
        "card": "PVTI_/x",
        "run": "r7",
        "generation": "3",
    }
    child.close()
    workspace.destroy()


def test_the_workspace_of_a_newer_claim_ends_the_containers_of_the_older(bench: Bench) -> None:
    old, other = bench.open(generation=1), bench.open("another", "r2")
    left, stays = start(old, "sleep", "60"), start(other, "sleep", "60")
    bench.open(generation=1)
    assert len(bench.containers()) == 2
    bench.open(generation=2)
    assert [container["Labels"]["cardinal.card"] for container in bench.containers()] == ["another"]
    hear_until(left, "Closed")
    assert left.exit_code() != 0
    for child in (left, stays):
        child.close()


def test_the_containers_of_one_claim_are_ended_even_if_its_worker_is_dead(bench: Bench) -> None:
    script = "echo ready; exec sleep"
    old = start(bench.open(), "/bin/sh", "-c", f"{script} 605")
    other = start(bench.open("another", "r2"), "/bin/sh", "-c", f"{script} 606")
    for child in (old, other):
        hear_until(child, "ready")
    os.kill(old.pid, signal.SIGKILL)
    bench.backend.end_claim(bench.places, RunId("r1"), 2)
    assert len(bench.containers()) == 2
    bench.backend.end_claim(bench.places, RunId("r1"), 1)
    until(lambda: not _running("sleep\x00605"), "its end")
    assert [container["Labels"]["cardinal.run"] for container in bench.containers()] == ["r2"]
    bench.backend.end_claim(bench.places, RunId("r1"), 1)
    for child in (old, other):
        child.close()


def test_an_engine_that_is_silent_does_not_say_that_a_claim_is_ended(bench: Bench, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as mute:
        mute.bind(str(tmp_path / "mute.sock"))
        mute.listen()
        silent = Docker(lambda: f"unix://{tmp_path}/mute.sock")
        began = time.monotonic()
        with pytest.raises(EngineSlowError, match="within 2 s"):
            silent.end_claim(bench.places, RunId("r1"), 1)
        assert time.monotonic() - began < KILL_S


def test_the_sweep_finds_what_a_killed_docker_command_left(bench: Bench, room: Workspace) -> None:
    child = start(room, "/bin/sh", "-c", "echo ready; exec sleep 603")
    hear_until(child, "ready")
    os.kill(child.pid, signal.SIGKILL)
    assert child.exit_code() == -signal.SIGKILL
    assert len(bench.containers()) == 1
    assert bench.sweep(lambda run, generation: (run, generation) == ("r1", 1)) == []
    (leftover,) = bench.backend.leftovers(bench.places, lambda run, generation: False)
    assert leftover.what.endswith("of run r1, claim 1, which ended")
    assert len(bench.containers()) == 1  # naming it removes nothing
    (said,) = bench.sweep(lambda run, generation: generation == 2)
    assert "run r1" in said
    assert bench.containers() == []
    child.close()


WORKER = """
import sys
from pathlib import Path
from tests.containers.engine import Bench, hear_until, places_in, start
bench = Bench(places_in(Path(sys.argv[1])), None)
child = start(bench.open(), "/bin/sh", "-c", "echo ready; exec sleep 604")
hear_until(child, "ready")
print("up", flush=True)
child.hear(600)
"""


def test_the_sweep_finds_what_a_killed_worker_left(bench: Bench, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = (sys.executable, "-c", WORKER, str(tmp_path))
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"up\n"
        worker.kill()
    assert len(bench.containers()) == 1
    assert len(bench.sweep(lambda run, generation: False)) == 1
    assert bench.containers() == []
    until(lambda: not _running("sleep\x00604"), "its end")


def test_another_cardinal_on_the_same_engine_is_left_alone(bench: Bench, tmp_path: Path) -> None:
    child = start(bench.open(), "sleep", "60")
    elsewhere = places_in(tmp_path / "other")
    assert bench.sweep(lambda run, generation: False, elsewhere) == []
    assert len(bench.containers()) == 1
    child.close()


def test_hidden_folders_look_empty_and_cannot_be_filled(room: Workspace) -> None:
    sh(room, "mkdir -p .agent/hooks deep/.agent cfg; echo x > file")
    sh(room, "touch .agent/hooks/run cfg/evil deep/.agent/kept")
    sh(room, "ln -s cfg linked; ln -s /workspace/repo/cfg absolute; ln -s deep/../linked twice")
    for hidden in ("linked", "absolute", "twice"):
        assert sh(room, "ls -A cfg", hides=(hidden,)).out == "", hidden
    ran = sh(room, "ls -A .agent; touch .agent/x; ls -A deep/.agent", hides=(".agent", "file", "missing"))
    assert ran.out == "kept\n"
    assert "ead-only" in ran.tail
    assert sh(room, "ls .agent/hooks").out == "run\n"


@pytest.mark.parametrize("target", ["/etc", "/proc/self/cwd/cfg", "../../etc", "/workspace"])
def test_a_hidden_folder_that_is_a_way_out_is_refused(room: Workspace, target: str) -> None:
    sh(room, f"ln -s {target} .agent")
    with pytest.raises(WorkspaceError, match=r"hiding \.agent"):
        sh(room, "true", hides=(".agent",))


def test_a_link_in_a_circle_hides_nothing_and_ends(room: Workspace) -> None:
    sh(room, "ln -s b a; ln -s a b")
    assert sh(room, "true", hides=("a",)).exit_code == 0


def test_the_history_can_be_read_only_while_files_are_not(room: Workspace) -> None:
    sh(room, "git init -q . && echo 1 > kept")
    line = "echo 2 > kept; echo x > .git/x; mv .git y; rm -rf .git; ls -a; cat kept"
    told = sh(room, line, commits=False).out.split()
    assert ".git" in told
    assert "y" not in told
    assert told[-1] == "2"
    sh(room, "mv .git elsewhere; ln -s /workspace/home .git")
    with pytest.raises(WorkspaceError, match="no folder"):
        sh(room, "true", commits=False)


def test_git_fetches_from_a_mirror_of_another_user_and_cannot_write_it(
    room: Workspace, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirror.git"
    mirror.mkdir()
    git(mirror, "init", "-q", "--bare", "-b", "main", ".")
    tree = git(mirror, "hash-object", "-w", "-t", "tree", "/dev/null")
    commit = git(mirror, "commit-tree", "-m", "first", tree)
    git(mirror, "update-ref", "refs/heads/main", commit)
    where = room.mirror_at(mirror)
    line = f"git init -q . && git fetch -q {where} main && git rev-parse FETCH_HEAD; touch {where}/x"
    ran = sh(room, line, mirror=mirror, env={"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"})
    assert ran.out.strip() == commit, ran.tail
    assert ran.exit_code != 0
    assert sh(room, f"ls {where}").exit_code != 0


def test_the_gateways_sockets_are_reached_through_and_never_replaced(room: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "gateway"
    folder.mkdir()
    folder.chmod(0o777)  # as open as it is to itself where Cardinal is not root
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "models.sock"))
        (folder / "models.sock").chmod(0o666)
        server.listen()
        speak = (
            "import socket; s = socket.create_connection(('127.0.0.1', 4000), 10); s.sendall(b'hello\\n');"
            "print(s.recv(10).decode().strip())"
        )
        child = start(room, "python3", "-c", speak, gateway=folder)
        server.settimeout(30)
        reached, _ = server.accept()
        with reached:
            assert reached.recv(10) == b"hello\n"
            reached.sendall(b"heard\n")
        hear_until(child, "heard")
        child.close()
    assert sh(room, "rm -f /run/cardinal/models.sock; touch /run/cardinal/x", gateway=folder).exit_code != 0
    assert os.listdir(folder) == ["models.sock"]
    assert sh(room, "ls /run/cardinal").exit_code != 0


def test_messages_from_beside_are_heard(room: Workspace) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        child = start(room, "sleep", "60", side_channel=ours.fileno())
        theirs.send(b'{"type": "usage"}')
        assert "usage" in hear_until(child, "usage")
        child.close()


@pytest.mark.parametrize(
    ("made", "raised"),
    [
        ("ln -s /etc/passwd x", WorkspaceError),
        ("mkfifo x", WorkspaceError),
        ("mkdir x", WorkspaceError),
        ("true", WorkspaceError),
        ("head -c 2000000 /dev/zero > x", OversizedRepositoryError),
        ("truncate -s 60M x", OversizedRepositoryError),
    ],
)
def test_only_a_plain_file_of_a_bearable_size_is_collected(
    room: Workspace, tmp_path: Path, made: str, raised: type[Exception]
) -> None:
    assert sh(room, f"cd {room.layout.out} && {made}", export=True).exit_code == 0
    with pytest.raises(raised):
        room.collect("x", tmp_path / "copy", 1_000_000)


def test_what_was_collected_is_what_was_made_and_is_gone(room: Workspace, tmp_path: Path) -> None:
    sh(room, f"echo made > {room.layout.out}/x", export=True)
    room.collect("x", tmp_path / "copy", 1_000_000)
    assert (tmp_path / "copy").read_text() == "made\n"
    assert sh(room, f"ls {room.layout.out}", export=True).out == ""


def test_used_bytes_grow_with_the_work_and_not_with_holes(room: Workspace) -> None:
    before = room.usage(100_000).disk_bytes
    sh(room, "head -c 5000000 /dev/urandom > x; truncate -s 50M hole; mkdir shut; chmod 0 shut")
    assert 5_000_000 <= room.usage(100_000).disk_bytes - before < 8_000_000


def test_destroying_ends_what_runs_and_follows_no_link(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    workspace = bench.open()
    sh(workspace, f"ln -s {tmp_path}/kept link; chmod 0 .")
    child = start(workspace, "sleep", "60")
    workspace.destroy()
    assert bench.containers() == []
    assert bench.backend.cards(bench.places) == ()
    assert os.listdir(tmp_path / "kept") == ["file"]
    child.close()


def test_a_place_that_the_local_backend_made_belongs_to_the_user_inside(bench: Bench) -> None:
    Folder(bench.places.workspaces / "PVTI_1", CardId("PVTI_1"), os.geteuid(), os.getegid())
    repo = bench.places.workspaces / "PVTI_1" / "repo"
    (repo / "theirs").write_text("1")
    workspace = bench.open()
    assert sh(workspace, "echo 2 > theirs; cat theirs").out == "2\n"
    workspace.destroy()


def test_an_image_cannot_bring_an_entry_point_a_check_or_a_disk_of_its_own(bench: Bench) -> None:
    sealed = bench.api.create_container("cardinal/agent:latest", entrypoint=["true"])["Id"]
    name = f"cardinal-test/odd-{os.getpid()}"
    changes = [
        'ENTRYPOINT ["/bin/false"]',
        "HEALTHCHECK --interval=1s CMD touch /workspace/home/checked",
        "VOLUME /extra",
        "USER root",
    ]
    try:
        bench.api.commit(sealed, repository=name, tag="latest", changes=changes)
        workspace = bench.open(image=f"{name}:latest")
        ran = sh(
            workspace, "id -u; sleep 2; ls ~; head -c 90000000 /dev/zero > /extra/x; stat -c %s /extra/x"
        )
        uid, size = ran.out.split()
        assert uid == "1000"
        assert int(size) <= 64 << 20
        child = start(workspace, "sleep", "60")
        kinds = [mount["Type"] for box in bench.containers() for mount in box["Mounts"]]
        assert kinds
        assert "volume" not in kinds
        child.close()
        workspace.destroy()
    finally:
        bench.api.remove_container(sealed, force=True)
        bench.api.remove_image(f"{name}:latest", force=True)


def test_the_default_tenant_gets_the_default_image(bench: Bench) -> None:
    workspace = bench.backend.open(bench.places, Tenancy(CardId("plain")))
    child = start(workspace, "sleep", "60")
    assert [one["Image"] for one in bench.containers()] == [bench.api.inspect_image(DEFAULT_IMAGE)["Id"]]
    child.close()
    workspace.destroy()


def _running(words: str) -> bool:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and words.encode() in (entry / "cmdline").read_bytes():
                return True
        except OSError:
            continue
    return False
