"""A reader of server-sent events as browsers are, over a plain socket."""

import http.client
from collections.abc import Iterator
from dataclasses import dataclass, field

WAIT_S = 60


@dataclass(frozen=True, slots=True)
class Message:
    """One message as a page gets it."""

    event: str
    data: str
    last: str


@dataclass
class Reader:
    """One open page: it remembers the last event that it got, and names it when it comes back."""

    place: tuple[str, int]
    path: str = "/"
    last: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    answer: http.client.HTTPResponse = field(init=False)

    def open(self) -> int:
        """Connect; return the status."""
        self._talk = http.client.HTTPConnection(*self.place, timeout=WAIT_S)
        more = {"Last-Event-ID": self.last} if self.last else {}
        self._talk.request("GET", self.path, headers={**self.headers, **more})
        self.answer = self._talk.getresponse()
        return self.answer.status

    def messages(self) -> Iterator[Message]:
        """Yield what comes until the server ends the stream; an unfinished message is none."""
        for message in parsed(iter(lambda: self.answer.readline().decode(), "")):
            self.last = message.last
            yield message

    def close(self) -> None:
        """Hang up, wherever the server is."""
        self.answer.close()
        self._talk.close()


def parsed(lines: Iterator[str], last: str = "") -> Iterator[Message]:
    """Yield messages from lines with their ends, as html.spec.whatwg.org 9.2.6 interprets a stream."""
    event, data = "message", list[str]()
    for line in lines:
        name, _, value = line.rstrip("\r\n").partition(":")
        value = value.removeprefix(" ")
        match name:
            case "" if not value:
                if data:
                    yield Message(event, "\n".join(data), last)
                event, data = "message", []
            case "event":
                event = value
            case "data":
                data.append(value)
            case "id":
                last = value
