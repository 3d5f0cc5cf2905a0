"""Records of a turn: events in batches, and the debug log."""

import logging
import re
from dataclasses import asdict, replace
from pathlib import Path

from ledger.events.agent import SecretSent
from ledger.events.run import AgentSaid, RunEvent, UsageMetered
from runner.agents.contract import SessionUsage, Usage
from runner.exec.child import BEAT_S
from runner.gateway.control.messages import believable
from runner.session.context import RunContext
from runner.text.plain import REDACTED, cut_bytes, redact

log = logging.getLogger(__name__)
MAX = 20
METER_S = 15.0
_SAID_BYTES = 4_000
_CAP_BYTES = 10_000_000
_LINE_BYTES = 4_000
# Words that are streamed in pieces: the whole follows or is an event, and a secret in pieces has no shape.
_PIECE = re.compile(r'("delta":\s*)"(?:[^"\\]|\\.)*+"')
_OF_CHUNK = re.compile(r'("text":\s*)"(?:[^"\\]|\\.)*+"')
_CHUNK = re.compile(r'"sessionUpdate":\s*"[a-z_]*_chunk"')
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----(?!.*-----END )", re.DOTALL)
_KEY_GOES_ON = re.compile(r"[\w+/=:,. -]*")


def transcript_of(logs: Path, run_id: str) -> Path:
    return logs / f"{run_id}.log"


class Transcript:
    """Debug log `<logs>/<run>.log` for people: every line of the agent, redacted, up to a cap."""

    def __init__(self, logs: Path, run_id: str) -> None:
        logs.mkdir(parents=True, exist_ok=True)
        self._file = transcript_of(logs, run_id).open("ab")
        self._left = _CAP_BYTES - self._file.tell()
        self._within_key: set[str] = set()

    def write(self, mark: str, text: str) -> None:
        """Write one line with a mark: `>` stdout, `!` stderr, `#` Cardinal."""
        if self._left <= 0:
            return
        line = f"{mark} {cut_bytes(self._clean(mark, text), _LINE_BYTES)}\n".encode()
        self._left -= len(line)
        try:
            self._file.write(line if self._left > 0 else b"# the log is full\n")
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Write no more lines: a run is worth more than the log of its agent."""
        log.warning("transcript cut file=%s error=%s", self._file.name, error)
        self._left = 0

    def _clean(self, mark: str, text: str) -> str:
        """Remove secrets, also a private key that spans several lines of the log."""
        if mark in self._within_key:
            if "-----END " not in text and _KEY_GOES_ON.fullmatch(text):
                return REDACTED
            self._within_key.discard(mark)
        if _KEY_BEGINS.search(text):
            self._within_key.add(mark)
        text = _PIECE.sub(r'\1"…"', text)
        return redact(_OF_CHUNK.sub(r'\1"…"', text) if _CHUNK.search(text) else text)

    def close(self) -> None:
        try:
            self._file.close()
        except OSError as error:  # the file is closed all the same
            self._give_up(error)


class Batch:
    """Events waiting for one append, so that a talkative agent does not flood the log with commits.

    Usage and working time since the last append are added to them.
    """

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._flushed_at = self._metered_at = run.clock.monotonic()
        self._waiting: list[RunEvent] = []
        self._used = self._nothing()

    def add(self, *events: RunEvent) -> None:
        """Add events; a full batch is written."""
        self._waiting += events
        self.flush(now=len(self._waiting) >= MAX)

    def say(self, text: str) -> None:
        """Add text; text between two other events becomes one event."""
        clean = redact(text)
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, AgentSaid):
            self._waiting.pop()
            clean = f"{last.text}\n{clean}"
        self.add(AgentSaid(self._run.spec.run_id, cut_bytes(clean, _SAID_BYTES)))

    def count(self, event: SecretSent) -> None:
        """Add uses of a secret; those that wait become one event."""
        for index, waiting in enumerate(self._waiting):
            if isinstance(waiting, SecretSent) and (waiting.host, waiting.name) == (event.host, event.name):
                self._waiting[index] = replace(waiting, times=waiting.times + event.times)
                return
        self.add(event)

    def meter(self, usage: Usage) -> None:
        used = believable(usage)
        self._used = self._used.plus(UsageMetered(self._used.run_id, **asdict(used), seconds=0.0))

    def meter_session(self, session_id: str, total: SessionUsage) -> None:
        """Meter what is new in an agent's total: a worker that died may not have written the last of it."""
        known = self._run.history.metered.get(session_id, self._nothing()).plus(self._used)
        self.meter(
            Usage(
                total.usd - known.usd,
                total.input_tokens - known.input_tokens,
                total.output_tokens - known.output_tokens,
                total.turns - known.turns,
            )
        )

    @property
    def usd(self) -> float:
        """Dollars of the run, with unwritten ones."""
        return self._run.history.usd + self._used.usd

    @property
    def turns(self) -> int:
        """Turns of the run, with unwritten ones."""
        return self._run.history.turns_used + self._used.turns

    @property
    def tokens(self) -> int:
        """Tokens of the run, with unwritten ones."""
        return self._run.history.tokens_used + self._used.input_tokens + self._used.output_tokens

    @property
    def active_s(self) -> float:
        """Working seconds of the run until now."""
        return self._run.history.active_s + self._run.clock.monotonic() - self._metered_at

    def flush(self, *, now: bool = False, last: bool = False) -> None:
        """Write the batch when it is due; usage with it, and time every METER_S."""
        clock = self._run.clock.monotonic()
        if not (now or last) and clock - self._flushed_at < BEAT_S:
            return
        events, self._waiting, self._flushed_at = self._waiting, [], clock
        if self._used.turns > 0 or self._used.usd > 0 or last or clock - self._metered_at >= METER_S:
            events.append(replace(self._used, seconds=clock - self._metered_at))
            self._used, self._metered_at = self._nothing(), clock
        self._run.log.append(*events)

    def _nothing(self) -> UsageMetered:
        return UsageMetered(
            run_id=self._run.spec.run_id, usd=0.0, input_tokens=0, output_tokens=0, turns=0, seconds=0.0
        )
