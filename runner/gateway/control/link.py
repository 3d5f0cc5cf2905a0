"""The supervisor's end of a gateway: start, orders, removal."""

import contextlib
import json
import os
import select
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

from runner.errors import SpawnError
from runner.exec.deadline import Deadline
from runner.exec.proxy import CERTIFICATES
from runner.gateway.control import messages
from runner.gateway.control.messages import GatewayEvent
from runner.gateway.control.terms import Terms
from runner.gateway.network.authority import system_bundle
from runner.run.provider import Provider

# In the folder of a gateway.
MODELS, NETWORK = "models.sock", "network.sock"
_BACKLOG = 128
_READY_S = 10.0
_SEND_S = 5.0
_CLOSE_S = 2.0


class Gateway:
    """One gateway process. It dies with this process; `close` ends it and removes its folder.

    Orders to a dead gateway do nothing: the end of the descriptor in `fileno` shows its death.
    """

    def __init__(self, folder: Path, line: socket.socket, pid: int, servers: Path | None = None) -> None:
        self.folder, self.pid, self._servers = folder, pid, servers
        self._line = line
        self._pidfd = os.pidfd_open(pid)

    @classmethod
    def spawn(
        cls,
        folder: Path,
        terms: Terms,
        providers: Mapping[str, Provider],
        deadline: Deadline | None = None,
        *,
        servers: Path | None = None,
    ) -> "Gateway":
        """Start a gateway with its sockets in `folder`, which is created. Raises SpawnError.

        `servers` gets a folder for each tool server with a network: the agent must not see its socket.
        It ends at the deadline, if there is one.

        It is forked and never exec'd: gateways share the memory of their parent's imports (see `warm`).
        """
        warm()
        from runner.gateway.control.lifecycle import fork  # here: it imports what only gateways use

        listeners: list[socket.socket] = []
        try:
            folder.mkdir(mode=0o755, parents=True)
            folder.chmod(0o755)  # whatever the umask: another user must pass
            listeners = [_listen(folder, name) for name in (MODELS, NETWORK)]
            reaching = [each for each in terms.servers if each.hosts and servers is not None]
            for server in reaching:
                place = (servers or folder) / server.name
                place.mkdir(mode=0o755, parents=True)
                listeners.append(_listen(place, NETWORK))
            line, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            certificates = _bundle(folder) if terms.added else None
            pid = fork(
                far, tuple(listeners), terms, providers, deadline or Deadline(), certificates=certificates
            )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise SpawnError(f"the gateway did not start in {folder}: {error}") from error
        finally:
            for listener in listeners:
                listener.close()
        far.close()
        gateway = cls(folder, line, pid, servers)
        if not gateway._is_ready():
            gateway.close()
            raise SpawnError(f"the gateway in {folder} did not begin within {_READY_S:.0f} s: retry")
        return gateway

    def fileno(self) -> int:
        """Return the descriptor to read: one datagram for `decode` per read.

        An empty datagram is the gateway's end, and so is ConnectionResetError.
        """
        return self._line.fileno()

    def decode(self, message: str) -> tuple[GatewayEvent, ...]:
        """Return the events of a datagram; never raises."""
        return messages.read(message)

    def open(
        self,
        *,
        turn: str,
        usd_left: float,
        tools: tuple[str, ...],
        tokens_left: int | None = None,
        withheld: tuple[str, ...] = (),
    ) -> None:
        """Begin a turn: models answer for at most `usd_left`, and these board tools are offered, without the
        fields that are `withheld`.

        No call is made once `tokens_left` are used; None is no limit.
        """
        left = {"usd_left": usd_left, "tokens_left": tokens_left}
        self._order({"type": "open", "turn": turn, "tools": tools, "withheld": withheld, **left})

    def network_of(self, server: str) -> Path | None:
        """Return the folder with the network socket of a tool server; None where it may reach nobody."""
        folder = self._servers / server if self._servers is not None else None
        return folder if folder is not None and folder.is_dir() else None

    def attach(self, server: str, wire: int, errors: int) -> None:
        """Hand over a tool server: its wire (standard input and output), and its standard error."""
        self._order({"type": "attach", "server": server}, (wire, errors))

    def narrow(self, network: str, hosts: tuple[str, ...]) -> None:
        """Restrict the network to these grants, within the claim's."""
        self._order({"type": "narrow", "network": network, "hosts": hosts})

    def top_up(self, usd_left: float) -> None:
        """Reset the dollars left, without the cost of calls under way."""
        self._order({"type": "top_up", "usd_left": usd_left})

    def reply(self, call_id: str, result: Mapping[str, object]) -> None:
        message: dict[str, object] = {"type": "reply", "id": call_id, "result": dict(result)}
        if len(json.dumps(message)) > messages.MESSAGE_BYTES:
            message["result"] = {"error": "the answer is too large to be shown"}
        self._order(message)

    def shut(self) -> None:
        """End the turn: calls under way are cut, only the network still answers. `Drained` follows."""
        self._order({"type": "shut"})

    def close(self) -> None:
        """End the process, by force after a moment, and remove the folder."""
        self._line.close()
        if self._pidfd >= 0:
            if not select.select([self._pidfd], [], [], _CLOSE_S)[0]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            os.close(self._pidfd)
            self._pidfd = -1
        for folder in (self.folder, self._servers):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return bool(select.select([self._line], [], [], _READY_S)[0] and self._line.recv(1024))
        return False

    def _order(self, message: Mapping[str, object], descriptors: tuple[int, ...] = ()) -> None:
        packed = json.dumps(message).encode()
        with contextlib.suppress(OSError):  # it is gone
            if select.select([], [self._line], [], _SEND_S)[1]:
                socket.send_fds(self._line, [packed], descriptors, socket.MSG_DONTWAIT)


def warm() -> None:
    """Import everything that gateways use, so that forks share it: 70 MB once, not for each."""
    from runner.gateway.control import lifecycle

    lifecycle.warm()


def _bundle(folder: Path) -> Path:
    """Write the machine's authorities for programs that trust the gateway's as well."""
    bundle = folder / CERTIFICATES
    bundle.write_bytes(system_bundle().rstrip() + b"\n")
    bundle.chmod(0o644)  # whatever the umask, as the folder
    return bundle


def _listen(folder: Path, name: str) -> socket.socket:
    """Return a listening unix socket for every user, whatever the length of its path."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(f"/proc/self/fd/{descriptor}/{name}")
            os.chmod(name, 0o666, dir_fd=descriptor)  # noqa: S103  the agent is another user
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            raise
        return listener
    finally:
        os.close(descriptor)
