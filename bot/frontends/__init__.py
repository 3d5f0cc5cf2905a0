"""Front-ends outside GitHub, where people are told things and answer: a file or folder each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from bot.system.config import Config
from ledger.errors import CardinalError
from ledger.parts import Registry
from rules.chatops.notices import Subscriber


@dataclass(frozen=True, slots=True)
class NewsItem:
    """One piece of news: a line for people with its link, and `about` the same for programs.

    `detail` is all of it, such as the words of a question, and how to answer. `topic` is what a reply is
    about: a run (r1), its question (r1-q2) or its plan (r1-p1); empty where nobody can reply.
    """

    headline: str
    about: Mapping[str, Any]
    link: str = ""
    detail: str = ""
    topic: str = ""

    @property
    def text(self) -> str:
        """The line."""
        return f"{self.headline} {self.link}".rstrip()


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice to send. `key` and `made_at` stay the same when it is sent again.

    `name` is the subscriber's, `more` the lines below the items.
    """

    key: str
    made_at: datetime
    title: str
    name: str
    items: tuple[NewsItem, ...]
    more: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lines for people."""
        return "\n".join((*(item.text for item in self.items), *self.more))


@dataclass(frozen=True, slots=True)
class PersonReply:
    """A message of a person, by GitHub login, about the topic of a notice that they got.

    `key` is the same when the message comes again. With a `refusal` nothing is done, and the person is told
    that sentence.
    """

    login: str
    topic: str
    words: str
    key: str
    refusal: str = ""


class UnfitAddressError(CardinalError):
    """Nothing can ever be sent to the address; `because` tells the operator the next step."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(because)


class UnreadMessageError(CardinalError):
    """A message is no person's reply to a notice, so nothing is done and nothing answered."""

    def __init__(self, because: str) -> None:
        self.because = because
        super().__init__(f"the message is ignored: {because}")


@dataclass(frozen=True, slots=True)
class SetupFinding:
    """What is right or wrong with the set-up; `next_step` is empty where nothing is wrong."""

    message: str
    next_step: str = ""


Read = Callable[[Config, Mapping[str, Subscriber], bytes, datetime], PersonReply]
Examine = Callable[[Config], SetupFinding]


class FrontEnd(Protocol):
    """A file or folder here, for the addresses that begin with one of `SCHEMES`.

    `send_notice` sends a notice within its own time limits; False when it was not accepted. It raises
    UnfitAddressError. `knows_repeats`: whoever gets a notice twice can see that it is the same, so it is sent
    again after a crash. `read` takes a message of at most `MAX_BYTES` and one byte, and raises
    UnreadMessageError; a front-end without it only tells. `examine` is for `cardinal doctor`.
    """

    SCHEMES: tuple[str, ...]
    send_notice: Callable[[Config, str, Notice], bool]
    knows_repeats: Callable[[str], bool]
    read: Read | None = None
    examine: Examine | None = None
    MAX_BYTES: int = 256 * 1024


FRONT_ENDS = Registry[FrontEnd]("front-end", __name__, FrontEnd)


def front_end_of(address: str) -> FrontEnd:
    """Return the front-end of an address: the one with the longest fitting scheme."""
    fitting = (
        (len(scheme), name)
        for name, part in FRONT_ENDS.all()
        for scheme in part.SCHEMES
        if address.startswith(scheme)
    )
    return FRONT_ENDS.load(max(fitting)[1])
