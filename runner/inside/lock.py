"""Close what the engine's own system call filter may leave open, then become the command.

    python3 lock.py COMMAND...

Network namespaces do not hold AF_VSOCK: its address 2 is the host of a virtual machine, and older engines let
it through. io_uring opens sockets past every filter on socket(2). Other architectures' system calls would go
past the numbers below. A filter stays for good and for all children (source: seccomp(2)).
"""

import ctypes
import os
import platform
import struct
import sys

_AF_VSOCK = 40
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
# machine -> its audit number, socket(2), io_uring_setup(2)
_MACHINES = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
_X32 = 0x40000000


def rules(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter's instructions: code, how far to jump if true and if false, value."""
    arch, socket_call, ring_call = _MACHINES[machine]
    return [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUALS, 1, 0, arch),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_LOAD, 0, 0, 0),  # the number
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
        (_EQUALS, 0, 1, ring_call),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
        (_EQUALS, 0, 3, socket_call),
        (_LOAD, 0, 0, 16),  # its first argument
        (_EQUALS, 0, 1, _AF_VSOCK),
        (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT),
        (_RETURN, 0, 0, _ALLOW),
    ]


class Program(ctypes.Structure):
    """A filter as the kernel takes it: how many instructions, and where they are."""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def lock() -> None:
    """Put the filter in force. Raises OSError when the kernel refuses it, KeyError on an unknown machine."""
    steps = rules(platform.machine())
    packed = b"".join(struct.pack("HBBI", *step) for step in steps)
    code = ctypes.create_string_buffer(packed, len(packed))
    program = Program(len(steps), ctypes.cast(code, ctypes.c_void_p))
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or kernel.prctl(
        _PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0
    ):
        raise OSError(ctypes.get_errno(), "the kernel refuses the filter")


if __name__ == "__main__":
    lock()
    try:
        os.execvp(sys.argv[1], sys.argv[1:])  # noqa: S606 - no shell is the point
    except OSError as problem:
        sys.stderr.write(f"cardinal: {sys.argv[1]} cannot be started: {problem.strerror}\n")
        sys.exit(127 if isinstance(problem, FileNotFoundError) else 126)
