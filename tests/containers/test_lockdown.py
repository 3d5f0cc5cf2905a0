"""What a container of an agent can do: each wall is tried from inside."""

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from runner.exec.child import Child
from runner.workspaces.contract import Tenancy, Workspace
from runner.workspaces.docker.errors import EngineError
from tests.containers.engine import CARD, SMALL, Bench, hear_until, sh, start

PYTHON = "python3 -c"


def test_it_has_no_capability_no_way_to_gain_one_and_a_seccomp_filter(room: Workspace) -> None:
    told = sh(room, "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status").out.split()
    facts = dict(zip(told[::2], told[1::2], strict=True))
    assert {facts[f"Cap{kind}:"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}
    assert facts["NoNewPrivs:"] == "1"
    assert facts["Seccomp:"] == "2"


def test_it_is_not_root_and_cannot_become_it(room: Workspace) -> None:
    assert sh(room, "id -u; id -un; id -G").out.split() == ["1000", "agent", "1000"]
    assert sh(room, "su -c true </dev/null").exit_code != 0
    assert sh(room, f"{PYTHON} 'import os; os.setuid(0)'").exit_code != 0
    set_uid = "cp /bin/sh ~/sh && chmod u+s ~/sh && ~/sh -p -c 'id -u'; find / -xdev -perm -4000 2>/dev/null"
    for line in sh(room, set_uid).out.split():
        assert line == "1000" or line.startswith("/"), line


def test_an_init_reaps_what_the_agent_leaves_behind(room: Workspace) -> None:
    assert "init" in sh(room, "tr '\\0' ' ' </proc/1/cmdline").out.split(" ")[0]
    orphans = "for i in 1 2 3 4 5; do (true & ) ; done; sleep 0.5; grep -l '^State:.Z' /proc/[0-9]*/status"
    assert sh(room, orphans).out == ""


def test_nothing_but_the_work_and_scratch_can_be_written(room: Workspace) -> None:
    found = sh(room, "find / -path /proc -prune -o -type d -writable -print 2>/dev/null").out.split()
    assert set(found) == {"/workspace/repo", "/workspace/home", "/tmp", "/dev/shm", "/dev/mqueue"}
    for folder in ("/", "/etc", "/player", "/usr/bin", "/var/tmp", "/workspace", "/dev", "/proc/sys"):
        assert sh(room, f"touch {folder}/x").exit_code != 0, folder


def test_no_file_of_the_host_can_be_read(room: Workspace, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("top secret")
    line = f"cat {tmp_path}/secret; ls {tmp_path} /var/run/docker.sock /run/docker.sock /dev/vda /dev/sda"
    assert sh(room, line).out == ""
    assert sh(room, "cat /etc/hostname").out == "cardinal\n"


def test_nothing_of_the_hosts_environment_is_inside(
    room: Workspace, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARDINAL_TEST_CANARY", "do-not-leak")
    ran = sh(room, "env; cat /proc/*/environ | tr '\\0' '\\n'", env={"GIVEN": "yes"})
    assert "do-not-leak" not in ran.out
    names = {line.split("=")[0] for line in ran.out.splitlines() if "=" in line}
    image = bench.api.inspect_image("cardinal/agent:latest")["Config"].get("Env") or []
    known = {line.split("=")[0] for line in image} | {"PATH", "HOSTNAME", "PWD", "SHLVL", "_", "OLDPWD"}
    assert names <= known | {"GIVEN", "HOME", "LANG", "TMPDIR", "USER"}


def test_there_is_no_network(room: Workspace) -> None:
    line = f"{PYTHON} 'import socket; print(socket.if_nameindex())'; tail -n +2 /proc/net/route | wc -l"
    assert sh(room, line).out == "[(1, 'lo')]\n0\n"
    for address in ("169.254.169.254", "172.17.0.1", "1.1.1.1"):
        tried = f"{PYTHON} 'import socket; socket.create_connection((\"{address}\", 80), 2)'"
        assert "unreachable" in sh(room, tried).tail


def test_an_abstract_socket_of_the_host_is_not_reachable(room: Workspace) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0cardinal-test")
        server.listen()
        tried = f"{PYTHON} 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0cardinal-test\")'"
        assert "refused" in sh(room, tried).tail


def test_no_device_can_be_made_and_nothing_mounted(room: Workspace) -> None:
    assert sh(room, "mknod ~/disk b 254 0").exit_code != 0
    assert sh(room, "mount -t tmpfs none /tmp").exit_code != 0
    assert sh(room, "unshare --user --map-root-user true").exit_code != 0


def test_no_other_process_can_be_seen(room: Workspace) -> None:
    assert int(sh(room, "ls /proc | grep -c '^[0-9]'").out) < 8


def test_a_fork_bomb_hits_the_limit_of_processes_and_ends_with_its_command(
    bench: Bench, room: Workspace
) -> None:
    bomb = (
        "import os, time\nmade = 0\ntry:\n  while True:\n"
        "    if os.fork() == 0: time.sleep(60)\n    made += 1\n"
        "except OSError as error: print(made, error.strerror, flush=True)\n"
    )
    child = start(room, "python3", "-c", bomb)
    heard = hear_until(child, "unavailable")
    assert int(heard.split()[0]) <= SMALL.processes
    child.close()
    assert bench.containers() == []


def test_more_memory_than_its_share_is_the_commands_end_with_a_human_reason(room: Workspace) -> None:
    for _ in range(3):  # the engine hears of it beside the end, so once would prove little
        child = start(room, "python3", "-c", "x = bytearray(400 * 1024 * 1024); print(len(x))")
        child.end_input()
        until_closed(child)
        assert child.exit_code() == 137
        assert "more than its 256 MB of memory" in child.fate
        assert "memory_mb" in child.fate
        child.close()


def test_a_child_that_the_kernel_killed_is_not_the_commands_fate(room: Workspace) -> None:
    hungry = "python3 -c 'x = bytearray(400 * 1024 * 1024)'; exit 3"
    child = start(room, "/bin/sh", "-c", hungry)
    child.end_input()
    until_closed(child)
    assert (child.exit_code(), child.fate) == (3, "")
    child.close()


def test_open_files_have_a_limit(room: Workspace) -> None:
    line = "kept = []\ntry:\n  while True: kept.append(open('/dev/null'))\nexcept OSError: print(len(kept))"
    assert 200 < int(sh(room, f'{PYTHON} "{line}"').out) < SMALL.open_files


def test_a_file_has_the_size_of_the_disks_share_and_no_core_is_dumped(room: Workspace) -> None:
    ran = sh(room, "head -c 80000000 /dev/zero > ~/big; stat -c %s ~/big; truncate -s 5G ~/sparse || echo no")
    assert ran.out.split() == [str(SMALL.disk_mb << 20), "no"]
    assert sh(room, "ulimit -c").out == "0\n"


def test_temporary_folders_are_small_and_their_files_count_as_memory(room: Workspace) -> None:
    for folder, most in (("/tmp", 128), ("/dev/shm", 64)):
        line = f"head -c 200000000 /dev/zero > {folder}/x; stat -c %s {folder}/x"
        assert int(sh(room, line).out) <= most << 20


def test_a_program_in_the_temporary_folder_runs_as_build_tools_want(room: Workspace) -> None:
    assert sh(room, "cp /bin/true /tmp/mine && /tmp/mine").exit_code == 0


def test_cpus_are_limited_also_where_the_machine_has_fewer(bench: Bench) -> None:
    many = bench.open("many", resources=type(SMALL)(memory_mb=64, cpus=64.0))
    child = start(many, "sleep", "60")
    (container,) = bench.containers()
    given = bench.api.inspect_container(container["Id"])["HostConfig"]["NanoCpus"]
    assert given == bench.api.info()["NCPU"] * 1_000_000_000
    child.close()
    many.destroy()


def test_its_memory_and_swap_together_are_its_memory(bench: Bench, room: Workspace) -> None:
    child = start(room, "sleep", "60")
    (container,) = bench.containers()
    told = bench.api.inspect_container(container["Id"])["HostConfig"]
    assert told["Memory"] == told["MemorySwap"] == SMALL.memory_mb << 20
    assert not told["Privileged"]
    assert not told["Devices"]
    assert told["LogConfig"]["Type"] == "none"
    child.close()


def test_the_kernel_takes_it_before_the_host(room: Workspace) -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert int(sh(room, "cat /proc/self/oom_score_adj").out) > own


def until_closed(child: Child) -> None:
    hear_until(child, "Closed")


def test_memory_disks_hold_a_limited_number_of_files(room: Workspace) -> None:
    assert int(sh(room, "df --output=itotal /tmp | tail -1").out) == 100_000


def test_containers_have_the_runtime_that_the_operator_names(bench: Bench) -> None:
    named = replace(bench.places, runtime="io.containerd.runc.v2")
    room = bench.backend.open(named, Tenancy(CARD, resources=SMALL))
    child = start(room, "cat")
    (container,) = bench.containers()
    host = bench.api.inspect_container(container["Id"])["HostConfig"]
    assert host["Runtime"] == "io.containerd.runc.v2"
    child.close()
    room = bench.backend.open(replace(bench.places, runtime="nope"), Tenancy(CARD, resources=SMALL))
    with pytest.raises(EngineError, match="nope"):
        start(room, "true")
    room.destroy()
