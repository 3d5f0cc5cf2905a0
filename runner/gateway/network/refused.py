"""Answer of the proxy to a request that goes nowhere."""

from runner.text.plain import one_line

_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    429: "Too Many Requests",
    502: "Bad Gateway",
    503: "Service Unavailable",
}


class RequestRefusedError(Exception):
    """The request is answered with this status and reason, and goes nowhere."""

    def __init__(self, status: int, why: str) -> None:
        self.status, self.why = status, why
        super().__init__(why)

    @property
    def answer(self) -> bytes:
        """The whole answer, as HTTP/1.1."""
        body = one_line(self.why, 600).encode() + b"\n"
        return (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\n"
            "Content-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n"
        ).encode() + body
