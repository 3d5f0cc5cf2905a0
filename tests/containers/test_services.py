"""A service beside the commands of a place: they reach its port by name, and it reaches nothing."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

import docker
from runner.errors import ServiceError
from runner.run.run_spec import ServiceSpec
from runner.workspaces.contract import Workspace
from tests.containers.engine import CARD, Bench, sh, start
from tests.containers.locked import need_image

POSTGRES = "cardinal/postgres:latest"
_START = """
bin=/usr/lib/postgresql/15/bin
$bin/initdb -N -D /data/db -U shop -A trust -E UTF8 --locale=C >/dev/null
echo "host all all all trust" >>/data/db/pg_hba.conf
exec $bin/postgres -D /data/db -k /tmp -c listen_addresses=127.0.0.1
"""
DB = ServiceSpec(
    name="db",
    image=POSTGRES,
    command=("sh", "-c", _START),
    environment=(("LANG", "it's $(x)"),),
    ports=(5432,),
    health="/usr/lib/postgresql/15/bin/pg_isready -h 127.0.0.1",
    writable=("/data",),
    memory_mb=256,
)
PSQL = "/usr/lib/postgresql/15/bin/psql -h 127.0.0.1 -U shop postgres -tAc"
_PERL = (
    "use IO::Socket; $s = IO::Socket::INET->new(Listen => 9, LocalAddr => '127.0.0.1:5432', ReuseAddr => 1);"
    " while ($c = $s->accept) { print $c 'P'; close $c }"
)
PEARL = ServiceSpec("pearl", POSTGRES, ("perl", "-e", _PERL), ports=(5432,), memory_mb=64)
# What a database is asked first: whether it takes TLS. PostgreSQL answers with one letter.
ASK = """
import socket, sys
def ask(host, port):
    with socket.create_connection((host, port), 5) as link:
        link.sendall(bytes([0, 0, 0, 8, 4, 210, 22, 47]))
        return link.recv(1).decode()
"""
# Inside the service: who it is, and what it can reach or write.
LOOK = r"""
for at in 1.1.1.1/53 172.17.0.1/22 127.0.0.1/4000 127.0.0.1/4001 127.0.0.1/7777; do
  (exec 3<>/dev/tcp/$at) 2>/dev/null && echo "reaches $at"
done
for file in /x /usr/x /etc/x /workspace/x /player/x; do (echo >$file) 2>/dev/null && echo "writes $file"; done
ls -A /workspace /player /run/services /run/cardinal /var/run/docker.sock 2>/dev/null
id -u; grep -E 'CapEff|NoNewPrivs' /proc/self/status; ls /sys/class/net
"""


@pytest.fixture
def room(bench: Bench) -> Iterator[Workspace]:
    need_image(POSTGRES)
    opened = bench.open()
    yield opened
    opened.destroy()


def beat() -> None:
    """Nothing is to be renewed here."""


def service_of(bench: Bench, name: str = "-db", card: str = CARD) -> str:
    (found,) = (
        str(it["Id"])
        for it in bench.containers()
        if it["Names"][0].endswith(name) and it["Labels"]["cardinal.card"] == card
    )
    return found


def in_service(api: docker.APIClient, container_id: str, line: str) -> str:
    made = api.exec_create(container_id, ["bash", "-c", line])
    said: bytes = api.exec_start(made["Id"])
    return said.decode()


def test_agent_and_gate_each_reach_a_database_of_their_own_and_it_reaches_nothing(
    bench: Bench, room: Workspace
) -> None:
    room.begin_services((DB, PEARL), beat)
    # Two on the same port. A command that is not to reach them sees neither names nor sockets.
    assert sh(room, asks("db", "pearl"), services=True).out.strip() == "N P"
    assert sh(room, "ls /run/services; grep -c 127.0.1.1 /etc/hosts").out.strip() == "0"
    assert sh(room, "rm -f /run/services/*", services=True).exit_code != 0

    listener = start(room, "socat", "TCP-LISTEN:7777,fork,reuseaddr", "STDOUT", services=True)
    database = service_of(bench)
    looked = in_service(bench.api, database, LOOK).splitlines()
    assert looked == ["1000", "CapEff:\t0000000000000000", "NoNewPrivs:\t1", "lo"]
    listener.close()
    host = bench.api.inspect_container(database)["HostConfig"]
    limits = [host[name] for name in ("Memory", "MemorySwap", "PidsLimit", "ReadonlyRootfs", "NanoCpus")]
    assert limits == [256 << 20, 256 << 20, 256, True, 10**9]
    assert "No space left" in in_service(bench.api, database, "head -c 300M /dev/zero >/data/full")

    # What the agent did to its own is not in the gate's.
    in_service(bench.api, database, f'rm /data/full; {PSQL} "CREATE TABLE cheat()"')
    gate = bench.open_clean("gate-PVTI_1")
    gate.begin_services((DB,), beat)
    cheats = f"{PSQL} \"SELECT count(*) FROM pg_tables WHERE tablename = 'cheat'\""
    own = service_of(bench, card="gate-PVTI_1")
    assert [in_service(bench.api, one, cheats).strip() for one in (database, own)] == ["1", "0"]
    assert sh(gate, asks("db"), services=True).out.strip() == "N"
    gate.destroy()
    assert len(bench.containers()) == 4
    room.end_services()
    assert bench.containers() == []


def test_one_that_died_is_started_again_a_sweep_finds_it_and_what_does_not_start_says_why(
    bench: Bench, room: Workspace
) -> None:
    room.begin_services((PEARL,), beat)
    bench.api.kill(service_of(bench, "-pearl"))
    room.begin_services((PEARL,), beat)
    assert sh(room, asks("pearl"), services=True).out.strip() == "P"
    assert len(bench.sweep(lambda *_: False)) == 2
    assert bench.containers() == []
    broken = replace(PEARL, command=("sh", "-c", "echo no such cluster; exit 3"))
    with pytest.raises(ServiceError, match=r"exit code 3\. It said: no such cluster"):
        room.begin_services((broken,), beat)
    with pytest.raises(ServiceError, match="its image names no port"):
        room.begin_services((replace(PEARL, ports=()),), beat)
    assert bench.containers() == []


def asks(*names: str) -> str:
    """Return the shell line that says what each of these answers."""
    return f"python3 -c '{ASK}print(*(ask(name, 5432) for name in sys.argv[1:]))' {' '.join(names)}"
