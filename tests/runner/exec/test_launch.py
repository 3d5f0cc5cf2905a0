"""A program is started without a fork of Cardinal, dies with it, and gets exactly what was given to it."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from runner.exec.child import Child, Ran, finish
from runner.exec.launch import ProcessLimits, die_with_parent, launch_problem, setpriv_problem

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
ROOT = Path("/")


def run(line: str, **options: Any) -> Ran:
    started = Child(("/bin/sh", "-c", line), env=ENVIRONMENT, cwd=ROOT, cap_bytes=100_000, **options)
    return finish(started, what=line, timeout_s=60, beat=lambda: None)


def test_a_program_dies_with_the_process_that_started_it() -> None:
    program = (
        "import sys; from pathlib import Path; from runner.exec.child import Child\n"
        "child = Child(('sleep', '600'), env={'PATH': '/usr/bin:/bin'}, cwd=Path('/'), cap_bytes=1)\n"
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen((sys.executable, "-c", program), text=True, stdin=pipe, stdout=pipe) as parent:
        assert parent.stdout is not None
        sleeper = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    psutil.wait_procs([sleeper], timeout=60)
    assert not sleeper.is_running()


def test_a_program_whose_parent_is_gone_already_is_not_begun(tmp_path: Path) -> None:
    command = die_with_parent(("touch", str(tmp_path / "begun")), env=ENVIRONMENT, cwd=ROOT)
    orphan = subprocess.run(("/bin/sh", "-c", '"$@"; exit $?', "sh", *command), env=ENVIRONMENT)
    assert orphan.returncode == 125
    assert not (tmp_path / "begun").exists()


def test_no_hook_for_forks_is_called() -> None:
    program = (
        "import os; from pathlib import Path; from runner.exec.child import Child, finish\n"
        "os.register_at_fork(before=lambda: print('forked'))\n"
        "child = Child(('true',), env={'PATH': '/usr/bin:/bin'}, cwd=Path('/'), cap_bytes=1)\n"
        "print(finish(child, what='true', timeout_s=60, beat=lambda: None).exit_code)"
    )
    told = subprocess.run((sys.executable, "-c", program), capture_output=True, text=True, check=True)
    assert told.stdout == "0\n"


@pytest.mark.parametrize("more", [{}, {"PWD": "/elsewhere", "EMPTY": "", "LINES": "a\nb", "_x": "'\"$(id)"}])
def test_a_program_has_the_environment_that_it_was_given(more: dict[str, str]) -> None:
    given = ENVIRONMENT | more
    child = Child(("cat", "/proc/self/environ"), env=given, cwd=ROOT, cap_bytes=10_000)
    ran = finish(child, what="cat", timeout_s=60, beat=lambda: None)
    seen = dict(pair.split("=", 1) for pair in ran.out.rstrip("\n").split("\0") if pair)
    assert seen == {name: value for name, value in given.items() if name != "PWD"}


def test_an_expendable_program_is_the_first_to_go_without_memory() -> None:
    assert run("cat /proc/self/oom_score_adj", expendable=True).out == "800\n"
    own = Path("/proc/self/oom_score_adj").read_text()
    assert run("cat /proc/self/oom_score_adj").out == own


def test_no_file_grows_beyond_its_limit(tmp_path: Path) -> None:
    ran = run(f"exec head -c 9000 /dev/zero > {tmp_path / 'big'}", bounds=ProcessLimits(file_bytes=4096))
    assert ran.exit_code == -signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size == 4096


def test_a_program_gets_only_so_much_memory_and_time() -> None:
    most = ProcessLimits(memory_bytes=200_000_000, cpu_s=1)
    assert "MemoryError" in run(f"exec {sys.executable} -c 'b = bytes(300_000_000)'", bounds=most).tail
    assert run("while :; do :; done", bounds=most).exit_code == -signal.SIGXCPU


def test_a_program_is_found_as_the_program_itself_would_be(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho found\n")
    (tmp_path / "tool").chmod(0o755)
    for name, env, cwd in (("tool", {"PATH": str(tmp_path)}, ROOT), ("./tool", ENVIRONMENT, tmp_path)):
        child = Child((name,), env=env, cwd=cwd, cap_bytes=100)
        assert finish(child, what=name, timeout_s=60, beat=lambda: None).out == "found\n"


def test_a_machine_without_a_proper_setpriv_is_told_what_to_install(tmp_path: Path) -> None:
    assert launch_problem() == ""
    assert setpriv_problem("") == "setpriv is not installed: install util-linux 2.33 or newer"
    old = tmp_path / "setpriv"
    old.write_text("#!/bin/sh\necho \"unrecognized option '--pdeathsig'\" >&2; exit 1\n")
    old.chmod(0o755)
    assert setpriv_problem(str(old)).startswith(f"{old} has no --pdeathsig (unrecognized option")
    assert "does not work here" in setpriv_problem(str(tmp_path / "nowhere"))
