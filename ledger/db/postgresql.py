"""Connections to PostgreSQL that give up: no statement waits for ever for a server that fell silent."""

from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from sqlalchemy import Dialect, Engine, event
from sqlalchemy.engine import URL

from ledger.db.silence import ANSWER_S, CONNECT_S, IDLE_S, PROBE_S, PROBES, SILENCE_S

T = TypeVar("T")

_INTERVAL_S = 0.1  # psycopg's own
# Source: postgresql.org/docs/current/protocol-error-fields.html; the server closes the session with both.
_LAST_WORDS = ("FATAL", "PANIC")


class PatientConnection(psycopg.Connection[Any]):
    """A connection that is closed when an answer does not come within `answer_s`."""

    answer_s: float | None = ANSWER_S

    def wait(self, gen: PQGen[T], interval: float = _INTERVAL_S, timeout: float | None = None) -> T:
        """Return the result of psycopg's wait.

        Raises OperationalError where the session is over, also where psycopg raises another kind of error, as
        after a transaction that was idle for too long.
        """
        limit_s = self.answer_s if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit_s)
        except psycopg.errors._WaitTimeout as error:
            if timeout is not None:
                raise
            self.pgconn.finish()  # its next answer would be taken for that of another statement
            raise psycopg.OperationalError(f"PostgreSQL did not answer within {limit_s:.0f} s") from error
        except psycopg.OperationalError:
            raise
        except psycopg.DatabaseError as error:
            if error.diag.severity_nonlocalized not in _LAST_WORDS:
                raise
            self.pgconn.finish()
            raise psycopg.OperationalError(str(error)) from error


def connection_limits(url: URL) -> dict[str, object]:
    """Return the limits of a connection as libpq takes them; those that the URL sets are left alone.

    Source: postgresql.org/docs/current/libpq-connect.html, parameter key words.
    """
    ours = {
        "connect_timeout": CONNECT_S,
        "tcp_user_timeout": SILENCE_S * 1000,
        "keepalives": 1,
        "keepalives_idle": IDLE_S,
        "keepalives_interval": PROBE_S,
        "keepalives_count": PROBES,
    }
    return {name: limit for name, limit in ours.items() if name not in url.query}


def limit_answers(engine: Engine, answer_s: float) -> None:
    """Have the engine open connections that give up after `answer_s`."""

    def connect(_dialect: Dialect, _record: Any, words: Any, settings: Any) -> Any:
        connection = PatientConnection.connect(*words, **settings)
        connection.answer_s = answer_s
        return connection

    event.listen(engine, "do_connect", connect)
