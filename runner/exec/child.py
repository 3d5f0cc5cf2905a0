"""One child of the supervisor: bytes in without blocking, lines out, an end that is always reached."""

import contextlib
import os
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import CommandTimeoutError, KilledError, SpawnError
from runner.exec.launch import UNBOUNDED, ProcessLimits, launched
from runner.exec.stop import DEFAULT_GRACE, StopGrace, Stopped, stop
from runner.exec.stream import Closed, Flooded, Heard, Line, Stream
from runner.text.truncate import tail

_UNSENT_CAP_BYTES = 4_000_000
_TAIL_LINES = 400
_TAIL_BYTES = 8_000
_EXIT_S = 5.0
BEAT_S = 0.25
SIGKILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)  # exit codes: of itself, or inside of a sandbox
FLOODED = 125  # the exit code of what wrote more than it may


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended. `out` is its stdout as far as the cap allows; `tail` the end of both outputs.

    `flooded`: it wrote more than it may and was killed; the exit code is FLOODED then. `cut`: a line of its
    stdout was too long to be kept, or there was no room for it.
    """

    exit_code: int
    out: str
    tail: str
    duration_s: float
    flooded: bool
    cut: bool = False


class Child:
    """A started program. It dies with this process, and `close` leaves nothing of it behind."""

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
        beside: int | None = None,
    ) -> None:
        """Start `argv`. Raises SpawnError when that fails. `expendable`: the first to go without memory.

        `beside` is a descriptor whose messages are heard together with the child's output.
        """
        try:
            self._popen = subprocess.Popen(
                launched(argv, env=env, cwd=cwd, bounds=bounds, expendable=expendable),
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
        self._stream = Stream(self._popen.stdout, self._popen.stderr, cap_bytes=cap_bytes, beside=beside)
        self._unsent = bytearray()
        self._struck = False
        self._ahead: deque[Heard] = deque()

    @property
    def pid(self) -> int:
        """The host's id of the started program."""
        return self._popen.pid

    @property
    def fate(self) -> str:
        """What befell it from outside, as a person reads it; empty for an end of its own."""
        return ""

    @property
    def was_killed(self) -> bool:
        """Whether it ended by a SIGKILL that did not come from here: by a person's, or for want of memory."""
        return self._popen.poll() == -signal.SIGKILL and not self._struck

    @property
    def output_bytes(self) -> int:
        """How much it wrote so far."""
        return self._stream.read_bytes

    def write(self, message: bytes) -> bool:
        """Queue bytes for its stdin; False when nobody reads there any more, or too much waits already."""
        if self._stdin.closed or len(self._unsent) > _UNSENT_CAP_BYTES:
            return False
        self._unsent += message
        return self._send()

    def end_input(self) -> None:
        """Close its stdin once everything is sent, waiting a little for a slow reader."""
        until = time.monotonic() + _EXIT_S
        while self._unsent and time.monotonic() < until and self._send():
            self._ahead.extend(self._stream.hear(0.02))
        self._close_input()

    def hear(self, wait_s: float) -> tuple[Heard, ...]:
        """Return what it said next, waiting at most `wait_s`."""
        self._send()
        if self._ahead:
            heard = tuple(self._ahead)
            self._ahead.clear()
            return heard
        return self._stream.hear(wait_s)

    def stop(
        self, interrupt: bytes | None = None, *, hurry: bool = False, grace: StopGrace = DEFAULT_GRACE
    ) -> Stopped:
        """Bring it to its end and return how; what it says meanwhile is kept for `hear`."""
        return stop(
            self._popen,
            interrupt=interrupt,
            write=self.write,
            drain=lambda wait_s: self._ahead.extend(self._stream.hear(wait_s)),
            term=self._term,
            kill=self._kill,
            hurry=hurry,
            grace=grace,
        )

    def exit_code(self, wait_s: float = _EXIT_S) -> int:
        """Return its exit code, negative for a signal, waiting at most `wait_s`; then it is killed."""
        try:
            return self._popen.wait(timeout=wait_s)
        except subprocess.TimeoutExpired:
            self._kill()
            return self._popen.wait(timeout=_EXIT_S)

    def close(self) -> None:
        """Kill what is left of it and give back its pipes."""
        self._kill()
        self._popen.wait(timeout=_EXIT_S)
        self._stream.close()
        self._close_input()
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()

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
    spoken: Callable[[str], None] = lambda _: None,
) -> Ran:
    """Hear `child` to its end and return what it did; `beat` is called all the while and may raise to stop
    it. `line` gets each line of both outputs, `spoken` of its stdout alone.

    Raises CommandTimeoutError after `timeout_s`, and KilledError when somebody else killed it. The child is
    gone in every case.
    """
    began = time.monotonic()
    out, kept = [""], 0
    last: deque[str] = deque(maxlen=_TAIL_LINES)
    flooded = ended = cut = False
    try:
        child.end_input()
        while not ended:
            for heard in child.hear(BEAT_S):
                if isinstance(heard, Line):
                    line(heard.text)
                    last.append(tail(heard.text, 2000))
                    cut = cut or (heard.cut and not heard.error)
                    if not heard.error:
                        spoken(heard.text)
                    if not heard.error and kept + len(heard.text) < out_bytes:
                        kept += len(heard.text) + 1
                        out.append(heard.text + "\n")
                    else:
                        cut = cut or not heard.error
                flooded = flooded or isinstance(heard, Flooded)
                ended = ended or isinstance(heard, Flooded | Closed)
            beat()
            if time.monotonic() - began > timeout_s:
                raise CommandTimeoutError(what, timeout_s)
        exit_code = child.exit_code(0 if flooded else _EXIT_S)
        if child.was_killed:
            raise KilledError(what)
    finally:
        child.close()
    text = tail("\n".join(last), _TAIL_BYTES)
    # It may have ended well before its flood was noticed: what came out is not whole all the same.
    status = FLOODED if flooded else exit_code
    return Ran(status, "".join(out), text, time.monotonic() - began, flooded, cut)
