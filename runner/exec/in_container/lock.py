"""The filter of system calls for everything that agents run: applied here, or packed for bubblewrap.

    python3 lock.py COMMAND...

Network namespaces do not hold every family of sockets: AF_VSOCK's address 2 is the host of a virtual machine,
and AF_ALG is the kernel's own code. io_uring bypasses every filter, keys belong to a user and not to a
namespace. Other architectures' system calls would bypass the numbers below. A filter stays for good and for
all children (source: seccomp(2)).
"""

import ctypes
import os
import platform
import struct
import sys

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUALS, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_FAMILIES = (1, 2, 10, 16)  # unix, IPv4, IPv6, netlink: all of these are the namespace's own
_RINGS = (425, 426, 427)  # io_uring_setup, _enter, _register: as if the kernel had none
# For keys, the kernel itself, other processes' memory, and mounts: each call's number, by machine.
_CLOSED = {
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39),
    "pivot_root": (155, 41), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246,
    104), "kexec_file_load": (320, 294), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "acct": (163, 89), "syslog": (103, 116), "quotactl": (179, 60), "quotactl_fd": (443, 443),
}  # fmt: skip
# machine -> its audit number, socket(2), its place in the table
MACHINES = {"x86_64": (0xC000003E, 41, 0), "aarch64": (0xC00000B7, 198, 1)}
_X32 = 0x40000000


def rules(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the filter's instructions: code, jumps if true and if false, value. Raises KeyError."""
    arch, socket_call, column = MACHINES[machine]
    steps = [
        (_LOAD, 0, 0, 4),  # the architecture
        (_EQUALS, 1, 0, arch),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_LOAD, 0, 0, 0),  # the number
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | _ENOSYS),
    ]
    for number in _RINGS:
        steps += [(_EQUALS, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    for numbers in _CLOSED.values():
        steps += [(_EQUALS, 0, 1, numbers[column]), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    steps += [(_EQUALS, 1, 0, socket_call), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 16)]  # its first argument
    for family in _FAMILIES:
        steps += [(_EQUALS, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    return [*steps, (_RETURN, 0, 0, _ERRNO | _EAFNOSUPPORT)]


def pack_filter(machine: str) -> bytes:
    """Return the filter as the kernel reads it. Raises KeyError on an unknown machine."""
    return b"".join(struct.pack("HBBI", *step) for step in rules(machine))


class Program(ctypes.Structure):
    """A filter as the kernel takes it: how many instructions, and where they are."""

    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]


def lock() -> None:
    """Put the filter in force. Raises OSError when the kernel refuses it, KeyError on an unknown machine."""
    given = pack_filter(platform.machine())
    code = ctypes.create_string_buffer(given, len(given))
    program = Program(len(given) // struct.calcsize("HBBI"), ctypes.cast(code, ctypes.c_void_p))
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
