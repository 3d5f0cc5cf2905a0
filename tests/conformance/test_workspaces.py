"""Every workspace backend keeps the contract of `runner/workspaces/contract.py`: what is inside stays."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.ids import CardId, RunId
from ledger.parts import UnknownPartError
from runner import workspaces
from runner.errors import WorkspaceError
from runner.exec.child import Ran, finish
from runner.run.run_spec import HostPaths
from runner.workspaces.contract import Backend, Tenancy, Workspace
from tests.containers.engine import need_engine
from tests.waiting import until

BACKENDS = workspaces.names()
GIVEN = """a 'b' "c" $(touch /tmp/pwned) `id`; # \\ $HOME"""  # a branch may be named like that


def test_every_backend_is_tried_here() -> None:
    assert {"docker", "local"} <= set(BACKENDS)


@pytest.fixture
def places(tmp_path: Path) -> HostPaths:
    return HostPaths(*(tmp_path / name for name in ("mirrors", "workspaces", "logs", "scenarios")))


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Backend:
    if request.param == "docker":
        need_engine()
    return workspaces.load(request.param)


@pytest.fixture
def workspace(backend: Backend, places: HostPaths) -> Iterator[Workspace]:
    opened = backend.open(places, Tenancy(CardId("PVTI_lADO/../x"), RunId("r1"), 1))
    yield opened
    opened.destroy()


def sh(workspace: Workspace, line: str, *, writable: bool = True, export: bool = False) -> Ran:
    child = workspace.start(
        ("/bin/sh", "-c", line), env={"GIVEN": GIVEN}, writable=writable, cap_bytes=1_000_000, export=export
    )
    return finish(child, what=line, timeout_s=20, beat=lambda: None)


def test_it_is_locked_on_the_machine_that_tests_it(workspace: Workspace) -> None:
    assert workspace.locked == ""


def test_nothing_of_the_hosts_environment_is_inside(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARDINAL_SECRET", "do-not-leak")
    ran = sh(workspace, "env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' ' '")
    assert "do-not-leak" not in ran.out
    assert f"GIVEN={GIVEN}\n" in ran.out


def test_no_file_of_the_host_is_inside(workspace: Workspace, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top secret")
    ran = sh(workspace, f"cat {secret}; ls -d {tmp_path}; cat /etc/shadow; true")
    assert ran.out == ""
    assert Path("/etc/hostname").read_text() not in sh(workspace, "cat /etc/hostname; true").out


def test_no_folder_of_the_hosts_is_in_a_sandbox_that_shows_its_system(places: HostPaths) -> None:
    opened = workspaces.load("local").open(places, Tenancy(CardId("x")))
    ran = sh(opened, "ls -d /home/* /root /etc/shadow /etc/hostname /var /run; true")
    assert ran.out == ""


def test_no_path_of_the_host_can_be_read_inside(workspace: Workspace, tmp_path: Path) -> None:
    assert str(tmp_path) not in sh(workspace, "cat /proc/1/cmdline /proc/self/environ | tr '\\0' ' '").out


def test_there_is_no_network_inside(workspace: Workspace) -> None:
    line = "python3 -c 'import socket; print(socket.if_nameindex())'; cat /proc/net/route | wc -l"
    assert sh(workspace, line).out == "[(1, 'lo')]\n1\n"


def test_the_user_inside_is_nobody_special(workspace: Workspace) -> None:
    ran = sh(workspace, "id -u; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status")
    assert ran.out.split() == ["1000", "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1"]


def test_no_namespace_can_be_nested_inside(workspace: Workspace) -> None:
    assert sh(workspace, "unshare --user --map-root-user true").exit_code != 0
    assert sh(workspace, "unshare --user true").exit_code != 0


def test_nothing_can_be_written_but_where_the_work_is(workspace: Workspace) -> None:
    places = "/ /dev /etc /usr /tools /workspace"
    ran = sh(workspace, f"for d in {places}; do touch $d/x 2>&1 && echo wrote $d; done")
    assert "wrote" not in ran.out
    assert sh(workspace, "head -c 80000000 /dev/zero > /dev/shm/x").exit_code != 0


def test_other_processes_are_not_seen(workspace: Workspace) -> None:
    pids = sh(workspace, "ls /proc | grep -c '^[0-9]'").out
    assert int(pids) < 8


def test_the_files_of_skills_can_be_read_by_their_path_and_not_changed(workspace: Workspace) -> None:
    at = workspace.layout.skills
    workspace.equip({"old/references/a.md": b"old\n"})
    workspace.equip({"new/references/a.md": b"new\n", "new/scripts/b.sh": b"exit 0\n"})
    tries = f"chmod -R u+w {at}; echo x > {at}/new/references/a.md; touch {at}/y {at}/new/y; rm -rf {at}/new"
    assert sh(workspace, f"{tries}; cat {at}/new/*/*; ls {at}").out == "new\nexit 0\nnew\n"
    workspace.equip({})
    assert sh(workspace, f"ls -A {at}").out == ""


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "a//b", "a/.git", "a/\n", "a b"])
def test_a_skills_file_lies_nowhere_else(places: HostPaths, path: str) -> None:
    opened = workspaces.load("local").open(places, Tenancy(CardId("x")))
    with pytest.raises(WorkspaceError):
        opened.equip({path: b"x"})


def test_the_repository_can_be_read_only(workspace: Workspace) -> None:
    sh(workspace, "echo 1 > kept")
    assert sh(workspace, "echo 2 > kept", writable=False).exit_code != 0
    assert sh(workspace, "cat kept", writable=False).out == "1\n"


def test_home_survives_and_out_is_only_there_for_an_export(workspace: Workspace) -> None:
    sh(workspace, "echo kept > $HOME/session")
    assert sh(workspace, "cat $HOME/session").out == "kept\n"
    assert sh(workspace, f"touch {workspace.layout.out}/x").exit_code != 0
    assert sh(workspace, f"touch {workspace.layout.out}/x", export=True).exit_code == 0


def test_system_folders_cannot_be_written(workspace: Workspace) -> None:
    for folder in ("/usr", "/bin", "/etc/ssl", "/tools", "/player"):
        assert (
            sh(workspace, f"echo x > {folder}/x && ls {folder}/x && false || test ! -w /usr").exit_code == 0
        )


def test_exit_codes_come_through(workspace: Workspace) -> None:
    assert sh(workspace, "exit 3").exit_code == 3


def test_what_runs_in_the_background_ends_with_the_command(workspace: Workspace, places: HostPaths) -> None:
    mine = f"300.{os.getpid()}"  # the same test plays beside this one in other processes
    sh(workspace, f"setsid sleep {mine}1 & sleep {mine}2 & echo started")
    lives = f"sleep\0{mine}".encode()
    until(lambda: not any(lives in _cmdline(it) for it in Path("/proc").glob("[0-9]*")), "their end")


def test_two_cards_never_share_a_place(backend: Backend, places: HostPaths) -> None:
    cards = [CardId("a/b"), CardId("a_b"), CardId("../a"), CardId("A" * 300)]
    opened = [backend.open(places, Tenancy(card)) for card in cards]
    for number, workspace in enumerate(opened):
        sh(workspace, f"echo {number} > mine")
    assert [sh(workspace, "cat mine").out.strip() for workspace in opened] == ["0", "1", "2", "3"]
    assert sorted(backend.cards(places)) == sorted(cards)
    opened[0].destroy()
    assert len(backend.cards(places)) == 3


def test_a_backend_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnknownPartError, match="local"):
        workspaces.load("os")


def _cmdline(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


def test_destroying_follows_no_link(
    workspace: Workspace, backend: Backend, places: HostPaths, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    sh(workspace, f"ln -s {tmp_path}/kept link; chmod 0 .")
    workspace.destroy()
    assert os.listdir(tmp_path / "kept") == ["file"]
    backend.open(places, Tenancy(CardId("PVTI_lADO/../x")))  # for the fixture to remove


def test_what_runs_inside_is_the_first_to_go_when_memory_runs_out(workspace: Workspace) -> None:
    own = int(Path("/proc/self/oom_score_adj").read_text())
    assert int(sh(workspace, "cat /proc/self/oom_score_adj").out) > own


def test_it_says_which_networks_it_can_grant(workspace: Workspace) -> None:
    assert "none" in workspace.networks
    assert set(workspace.networks) <= {"none", "list", "full"}


def test_the_history_can_be_read_only_while_files_are_not(workspace: Workspace) -> None:
    sh(workspace, "git init -q . && echo 1 > kept")
    child = workspace.start(
        ("/bin/sh", "-c", "echo 2 > kept; echo x > .git/x; mv .git y; rm -rf .git; ls -a"),
        env={}, writable=True, cap_bytes=1_000_000, commits=False,
    )  # fmt: skip
    listed = finish(child, what="ls", timeout_s=20, beat=lambda: None).out.split()
    assert ".git" in listed
    assert "y" not in listed
    assert sh(workspace, "cat kept; ls .git/x").out == "2\n"


def test_a_folder_can_be_hidden(workspace: Workspace) -> None:
    sh(workspace, "mkdir -p .agent real; touch .agent/hook real/hook; ln -s real linked")
    child = workspace.start(
        ("/bin/sh", "-c", "ls -A .agent real; touch .agent/x"),
        env={}, writable=True, cap_bytes=1_000_000, hides=(".agent", "linked", "missing"),
    )  # fmt: skip
    ran = finish(child, what="ls", timeout_s=20, beat=lambda: None)
    assert "hook" not in ran.out
    assert ran.exit_code != 0
    assert sh(workspace, "ls -A .agent").out == "hook\n"


def test_it_knows_how_much_disk_it_takes(workspace: Workspace) -> None:
    before = workspace.usage(100_000).disk_bytes
    sh(workspace, "head -c 3000000 /dev/zero > x")
    assert workspace.usage(100_000).disk_bytes - before >= 3_000_000


def test_it_counts_its_files_and_folders_no_further_than_asked(workspace: Workspace) -> None:
    before = workspace.usage(100_000).files
    sh(workspace, "mkdir a && cd a && seq 500 | xargs touch && ln -s / root && ln 1 again")
    assert workspace.usage(100_000).files - before == 503
    assert workspace.usage(100).files == 101


def test_a_set_up_that_never_ran_is_not_brought_back(workspace: Workspace) -> None:
    sh(workspace, "git init -q .")
    assert not workspace.restore_setup("never")


def test_it_has_no_problem_here_and_nothing_to_sweep(backend: Backend, places: HostPaths) -> None:
    assert backend.problem() == ""
    assert list(backend.leftovers(places, lambda run_id, generation: False)) == []


def test_what_happened_to_a_command_is_empty_when_it_ended_itself(workspace: Workspace) -> None:
    child = workspace.start(("/bin/sh", "-c", "exit 7"), env={}, writable=True, cap_bytes=1000)
    child.end_input()
    assert child.exit_code(20) == 7
    assert child.fate == ""
    child.close()
