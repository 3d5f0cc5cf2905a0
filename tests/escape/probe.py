"""Tries every way out of a container that it knows, and prints as JSON what came of each."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

GIVEN = json.loads(sys.argv[1])
SECRET = GIVEN["secret"]
WAIT_S = 1.5
PATIENCE_S = 4
found: dict[str, str] = {}


def note(name: str, attempt: Callable[[], object]) -> None:
    """Write down what an attempt brought: `open` and what it gave, or why not."""
    signal.alarm(PATIENCE_S)
    try:
        found[name] = f"open {attempt()}"
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        found[name] = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def out_of_time(*_: object) -> None:
    raise TimeoutError("nothing happened")


def connect(host: str, port: int) -> str:
    with socket.create_connection((host, port), WAIT_S) as link:
        return f"{link.getpeername()}"


def connect_unix(path: str) -> str:
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(WAIT_S)
        link.connect(path)
        return "connected"


def ran(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, timeout=10, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ValueError(f"{done.returncode} {done.stderr.strip()[-120:]}")
    return done.stdout[:200]


def write(path: str) -> str:
    with open(path, "a") as opened:
        opened.write("x")
    return "written"


def system_call(number: int, *given: int) -> str:
    """Make a system call that Python has no function for."""
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.syscall(number, *given) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return "made"


def something(path: str) -> str:
    """Return the beginning of a file; an empty one stands in the place of what is hidden."""
    with open(path, "rb") as opened:
        text = opened.read(80)
    if not text:
        raise ValueError("empty")
    return repr(text)


def through_proxy(head: str) -> str:
    """Return the first line of the proxy's answer; anything but a 200 is no way."""
    with socket.create_connection(("127.0.0.1", 4001), WAIT_S) as link:
        link.settimeout(15)
        link.sendall(f"{head}\r\n\r\n".encode())
        answer = b""
        while chunk := link.recv(65536):
            answer += chunk
            if b"\r\n\r\n" in answer and head.startswith("CONNECT"):
                break
    line = answer.split(b"\r\n")[0].decode()
    if " 200 " not in line:
        raise ValueError(line + " " + answer.split(b"\r\n\r\n", 1)[-1][:200].decode(errors="replace"))
    return SECRET if SECRET.encode() in answer else line


def network() -> None:
    for name, (host, port) in GIVEN["addresses"].items():
        note(f"tcp {name}", partial(connect, host, port))
    note("dns", lambda: socket.getaddrinfo("example.org", 80))
    note("udp dns", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53)))
    note("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
    note("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
    note("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
    note("io_uring", lambda: system_call(425, 8, 0))
    for name, path in GIVEN["sockets"].items():
        note(f"unix {name}", partial(connect_unix, path))
    found["interfaces"] = " ".join(sorted(name for _, name in socket.if_nameindex()))
    found["listening"] = ran("sh", "-c", "cat /proc/net/tcp /proc/net/tcp6 | grep -c ' 0A ' || true").strip()


def beginning(path: str) -> bytes:
    return Path(path).read_bytes()[:50]


def files() -> None:
    for path in GIVEN["files"]:
        note(f"read {path}", partial(beginning, path))
    for path in GIVEN["unwritable"]:
        note(f"write {path}", partial(write, path))
    for path in GIVEN["leaks"]:
        note(f"leak {path}", partial(something, path))
    for name in ("models.sock", "network.sock"):
        note(f"remove {name}", partial(os.unlink, f"/run/cardinal/{name}"))
        note(f"rename {name}", partial(os.rename, f"/run/cardinal/{name}", "/tmp/x"))
    note("new socket", lambda: socket.socket(socket.AF_UNIX).bind("/run/cardinal/other.sock"))
    everything = ""
    for path in Path("/proc").glob("*/environ"):
        try:
            everything += path.read_text(errors="replace")
        except OSError:
            continue
    found["environments"] = everything
    found["mounts"] = Path("/proc/self/mountinfo").read_text()
    found["processes"] = " ".join(
        Path(f"/proc/{name}/comm").read_text().strip()
        for name in sorted(os.listdir("/proc"))
        if name.isdigit()
    )


def power() -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def call(*arguments: object) -> str:
        if libc.syscall(*arguments) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return "allowed"

    note("bpf", lambda: call(321, 0, 0, 0))
    note("keyctl", lambda: call(250, 0, -3, 0))
    note("setns", lambda: call(308, os.open("/proc/1/ns/net", os.O_RDONLY), 0))
    note("unshare user", lambda: call(272, 0x10000000))
    note("userfaultfd", lambda: call(323, 0))
    note("open by handle", lambda: call(304, -1, 0, 0))
    note("reboot", lambda: call(169, 0xFEE1DEAD, 672274793, 0, 0))
    note("setuid", lambda: os.setuid(0))
    note("chroot", lambda: os.chroot("/workspace"))
    note("sethostname", lambda: socket.sethostname("x"))
    for name, argv in {
        "su": ("su", "-c", "id"),
        "sudo": ("sudo", "-n", "id"),
        "mount": ("mount", "-t", "tmpfs", "none", "/tmp"),
        "bind": ("mount", "--bind", "/", "/tmp"),
        "unshare": ("unshare", "-r", "id"),
        "newns": ("unshare", "-m", "id"),
        "nsenter": ("nsenter", "-t", "1", "-n", "id"),
        "bwrap": ("bwrap", "--ro-bind", "/", "/", "true"),
        "mknod": ("mknod", "/tmp/disk", "b", "8", "0"),
        "setuid shell": ("sh", "-c", "cp /bin/sh /tmp/s; chmod 4755 /tmp/s; [ $(/tmp/s -p -c 'id -u') = 0 ]"),
        "docker": ("docker", "ps"),
    }.items():
        note(name, partial(ran, *argv))


def proxy() -> None:
    for name, head in GIVEN["requests"].items():
        note(f"proxy {name}", partial(through_proxy, head))
    note("proxy control", lambda: through_proxy(GIVEN["control"]))


signal.signal(signal.SIGALRM, out_of_time)
network()
files()
power()
proxy()
print(json.dumps(found))
