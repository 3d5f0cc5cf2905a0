"""One child process of the supervisor: non-blocking input, lines of output, and an end in every case."""

import contextlib
import os
import select
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import CommandTimeoutError, KilledError, SpawnError
from runner.exec.launch import UNBOUNDED, ProcessLimits, die_with_parent
from runner.exec.stream import Closed, Flooded, Heard, Line, Stream
from runner.text.plain import tail

_UNSENT_CAP_BYTES = 4_000_000
_TAIL_LINES = 400
_TAIL_BYTES = 8_000
_EXIT_S = 5.0
BEAT_S = 0.25
SIGKILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)  # exit codes: of itself, or inside of a sandbox
FLOODED = 125  # the exit code of a command that wrote too much


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished command. `out` is its stdout up to the cap, `tail` the end of both outputs.

    `flooded`: it wrote too much and was killed, with the exit code FLOODED. `cut`: a line of stdout was too
    long, or there was no room for it.
    """

    exit_code: int
    out: str
    tail: str
    duration_s: float
    flooded: bool
    cut: bool = False


@dataclass(frozen=True, slots=True)
class StopGrace:
    """The wait of each rung of the stop ladder: after the interrupt, the closed input, and SIGTERM."""

    ask_s: float = 2.0
    close_s: float = 1.0
    term_s: float = 1.0


DEFAULT_GRACE = StopGrace()


@dataclass(frozen=True, slots=True)
class Stopped:
    """The rung that stopped a child (gone, interrupt, close, term, kill), and the time that it took."""

    rung: str
    took_s: float
    exit_code: int


class Child:
    """A started program. It dies with this process; `close` leaves nothing of it behind."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        cap_bytes: int,
        bounds: ProcessLimits = UNBOUNDED,
        inherits: Sequence[int] = (),
        expendable: bool = False,
        side_channel: int | None = None,
    ) -> None:
        """Start `argv`. Raises SpawnError. `expendable`: the kernel kills it first when memory runs out.

        `side_channel` is a descriptor whose messages are read together with the child's output.
        """
        try:
            self._popen = subprocess.Popen(
                die_with_parent(argv, env=env, cwd=cwd, bounds=bounds, expendable=expendable),
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=inherits,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise SpawnError(f"{argv[0]} did not start: {error}") from error
        if not (self._popen.stdin and self._popen.stdout and self._popen.stderr):
            raise SpawnError(f"{argv[0]} has no pipes")
        self._stdin = self._popen.stdin
        os.set_blocking(self._stdin.fileno(), False)
        self._stream = Stream(
            self._popen.stdout, self._popen.stderr, cap_bytes=cap_bytes, side_channel=side_channel
        )
        self._unsent = bytearray()
        self._struck = False
        self._ahead: deque[Heard] = deque()

    @property
    def pid(self) -> int:
        """The host's id of the started program."""
        return self._popen.pid

    @property
    def fate(self) -> str:
        """The external cause of its end, for people; empty where it ended by itself."""
        return ""

    @property
    def was_killed(self) -> bool:
        """Whether a SIGKILL from elsewhere ended it: a person's, or the kernel's for lack of memory."""
        return self._popen.poll() == -signal.SIGKILL and not self._struck

    @property
    def output_bytes(self) -> int:
        return self._stream.read_bytes

    def write(self, message: bytes) -> bool:
        """Queue bytes for its stdin; False when it reads no more, or too much is queued."""
        if self._stdin.closed or len(self._unsent) > _UNSENT_CAP_BYTES:
            return False
        self._unsent += message
        return self._send()

    def end_input(self) -> None:
        """Close its stdin after sending everything, waiting a little for a slow reader."""
        until = time.monotonic() + _EXIT_S
        while self._unsent and time.monotonic() < until and self._send():
            self._ahead.extend(self._stream.hear(0.02))
        self._close_input()

    def hear(self, wait_s: float) -> tuple[Heard, ...]:
        self._send()
        if self._ahead:
            pieces = tuple(self._ahead)
            self._ahead.clear()
            return pieces
        return self._stream.hear(wait_s)

    def stop(
        self, interrupt: bytes | None = None, *, hurry: bool = False, grace: StopGrace = DEFAULT_GRACE
    ) -> Stopped:
        """Stop it, gently first unless in a `hurry`, and return how; output meanwhile is kept for `hear`."""
        began, rung = time.monotonic(), "gone"
        if self._popen.poll() is None:
            rung = "kill" if hurry else self._stop_gently(interrupt, grace)
        if rung == "kill":
            self._kill()
            self._await_exit(_EXIT_S)
        return Stopped(rung, time.monotonic() - began, self._popen.returncode)

    def _stop_gently(self, interrupt: bytes | None, grace: StopGrace) -> str:
        """Return the rung of the ladder that stopped it; `kill` where only that is left."""
        if interrupt is not None and self.write(interrupt) and self._ends_within(grace.ask_s):
            return "interrupt"
        self._close_input()
        if self._ends_within(grace.close_s):
            return "close"
        self._term()
        return "term" if self._ends_within(grace.term_s) else "kill"

    def _ends_within(self, wait_s: float) -> bool:
        """Wait for its end, reading its output meanwhile: a child that blocks on a full pipe cannot obey."""
        until = time.monotonic() + wait_s
        while self._popen.poll() is None and time.monotonic() < until:
            self._ahead.extend(self._stream.hear(0.05))
        return self._popen.poll() is not None

    def exit_code(self, wait_s: float = _EXIT_S) -> int:
        """Return its exit code, negative for a signal, waiting at most `wait_s`; then it is killed."""
        try:
            return self._await_exit(wait_s)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._await_exit(_EXIT_S)

    def close(self) -> None:
        """Kill it if it still runs, and close its pipes."""
        self._kill()
        self._await_exit(_EXIT_S)
        self._stream.close()
        self._close_input()
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()

    def _await_exit(self, wait_s: float) -> int:
        """Return its exit code, woken by its end: `Popen.wait` looks again and again.

        Raises TimeoutExpired.
        """
        if self._popen.poll() is None:
            descriptor = os.pidfd_open(self._popen.pid)
            try:
                end = select.poll()
                end.register(descriptor, select.POLLIN)
                end.poll(wait_s * 1000)
            finally:
                os.close(descriptor)
        return self._popen.wait(timeout=0)

    def _send(self) -> bool:
        if not self._unsent or self._stdin.closed:
            return not self._stdin.closed
        try:
            sent = os.write(self._stdin.fileno(), self._unsent[: 1 << 16])
        except BlockingIOError:
            return True
        except OSError:  # it closed its stdin or is gone: its exit code will tell
            self._unsent.clear()
            return False
        del self._unsent[:sent]
        return True

    def _close_input(self) -> None:
        self._unsent.clear()
        with contextlib.suppress(OSError):
            self._stdin.close()

    def _term(self) -> None:
        self._popen.terminate()

    def _kill(self) -> None:
        # The group goes too: without a sandbox it is all that ties a shell's children together.
        self._struck = self._struck or self._popen.poll() is None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._popen.pid, signal.SIGKILL)


def finish(
    child: Child,
    *,
    what: str,
    timeout_s: float,
    beat: Callable[[], None],
    out_bytes: int = 4_000_000,
    line: Callable[[str], None] = lambda _: None,
    stdout_line: Callable[[str], None] = lambda _: None,
) -> Ran:
    """Run `child` to its end and return the result. `beat` is called all the while and may raise to stop it.

    `line` gets each line of both outputs, `stdout_line` only those of stdout. Raises CommandTimeoutError, and
    KilledError when it was killed from outside. The child is gone in every case.
    """
    began = time.monotonic()
    out, kept = [""], 0
    last: deque[str] = deque(maxlen=_TAIL_LINES)
    flooded = ended = cut = False
    try:
        child.end_input()
        while not ended:
            for piece in child.hear(BEAT_S):
                if isinstance(piece, Line):
                    line(piece.text)
                    last.append(tail(piece.text, 2000))
                    cut = cut or (piece.cut and not piece.error)
                    if not piece.error:
                        stdout_line(piece.text)
                    if not piece.error and kept + len(piece.text) < out_bytes:
                        kept += len(piece.text) + 1
                        out.append(piece.text + "\n")
                    else:
                        cut = cut or not piece.error
                flooded = flooded or isinstance(piece, Flooded)
                ended = ended or isinstance(piece, Flooded | Closed)
            beat()
            if time.monotonic() - began > timeout_s:
                raise CommandTimeoutError(what, timeout_s)
        exit_code = child.exit_code(0 if flooded else _EXIT_S)
        if child.was_killed:
            raise KilledError(what)
    finally:
        child.close()
    text = tail("\n".join(last), _TAIL_BYTES)
    # It may have ended well before the flood was noticed: its output is incomplete all the same.
    status = FLOODED if flooded else exit_code
    return Ran(
        exit_code=status,
        out="".join(out),
        tail=text,
        duration_s=time.monotonic() - began,
        flooded=flooded,
        cut=cut,
    )
