"""The conversation on a card: words of people and the assistant, and the commands that people gave."""

from dataclasses import dataclass, field
from datetime import datetime

from ledger.event import RuleEvent, Zoom
from ledger.events.board import CardEvent
from ledger.model.metadata import Metadata


@dataclass(frozen=True, slots=True)
class PersonSaid(
    CardEvent, zoom=Zoom.CONVERSATION, line="{author}: {text}", has_words=True, affects_dispatch=False
):
    """Somebody wrote a comment. `place`: issue, pull or review. `trusted`: has write access or better.

    `role` is the author's in the card's repository; `said_at` is when GitHub got it, by GitHub's clock.
    A `command`, also a mistyped one, is no conversation: nobody answers it but the command itself.
    """

    comment_id: int
    place: str
    author: str
    trusted: bool
    text: str
    role: str = ""
    said_at: datetime | None = None
    command: bool = False


@dataclass(frozen=True, slots=True)
class CommandGiven(
    CardEvent,
    zoom=Zoom.CONVERSATION,
    line="{by}: /cardinal {command} {argument}",
    has_words=True,
    is_audited=True,
):
    """A command was accepted. `source` is the comment's id, `box:<name>` for a ticked checkbox,
    `button:<name>` for a pressed button of a check, `page:<name>` for a form of Cardinal's pages,
    `api:<name>` for a program, `cli:<name>` for the operator, or `reply:<name>` for one by mail and its like.

    `place` (issue, pull, review, check, page, api, cli or reply) and `comment_id` (a button's check run, a
    negative number of its own for the last four) say where it was given; `said_at` is when GitHub got
    it, by GitHub's clock, where it says so, or when the form came. `base` is the default branch's commit
    then, where the command depends on it. `user_id` is GitHub's of `by`; 0 in old events. `via` is the name
    of a program's token, of the operator's account on the host, or of the front-end, such as mail.
    `no_address`: the command wishes for notices to `by`, of whom the operator has given no address;
    `addresses_unread`: the operator's file of them cannot be read. `metadata` comes with the text of a
    command that takes some.
    """

    command: str
    argument: str
    by: str
    role: str
    place: str
    comment_id: int
    source: str
    said_at: datetime | None = None
    base: str = ""
    user_id: int = 0
    via: str = ""
    no_address: bool = False
    addresses_unread: bool = False
    metadata: Metadata = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class HandedOver(
    CardEvent,
    RuleEvent,
    zoom=Zoom.ACTIVITY,
    line="{by} handed over",
    is_audited=True,
    affects_dispatch=False,
):
    """A person completed the card with a text, for whoever continues and for the cards that depend on it."""

    by: str
    text: str
    metadata: Metadata = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class CommandRefused(
    CardEvent, zoom=Zoom.CONVERSATION, line="refused /cardinal {command} of {by}: {because}", is_audited=True
):
    """A command was refused; `because` says why and which role it needs, as the person reads it.

    `command` is the `source` of one that did not come by a comment; `user_id` is GitHub's of `by`, 0 in old
    events. `via` as in CommandGiven.
    """

    command: str
    by: str
    role: str
    because: str
    place: str
    comment_id: int
    user_id: int = 0
    via: str = ""


@dataclass(frozen=True, slots=True)
class CommentReleased(
    CardEvent,
    RuleEvent,
    zoom=Zoom.CONVERSATION,
    line="{by} let comment {comment_id} through",
    affects_dispatch=False,
):
    """Somebody with write access let the words of somebody without through. `place` is the comment's."""

    comment_id: int
    place: str
    by: str


@dataclass(frozen=True, slots=True)
class CommentChanged(CardEvent, zoom=Zoom.ACTIVITY, line="{by} changed comment {comment_id}: {how}"):
    """A comment changed after Cardinal read it. `how`: edited or deleted."""

    comment_id: int
    place: str
    how: str
    by: str


@dataclass(frozen=True, slots=True)
class AssistantReplied(
    CardEvent, zoom=Zoom.CONVERSATION, line="assistant: {text}", has_words=True, affects_dispatch=False
):
    """The planning assistant answered the conversation; `brief` is the Ready-for-execution brief or empty."""

    text: str
    brief: str
    answers: int  # comment_id of the newest message that was answered; 0 for the description itself


@dataclass(frozen=True, slots=True)
class TaskAnswered(CardEvent, zoom=Zoom.ACTIVITY):
    """An `ai_task` rule of a column ran; `rule` is its place in the policy, e.g. `Planning/on_entry/0`.

    The model chose `labels` and `option` of the project field `field` from the rule's lists; `brief` is for
    the card's next runs; `body` is the description written out, for the one with the digest `replaces`.
    """

    rule: str
    text: str
    labels: tuple[str, ...] = ()
    field: str = ""
    option: str = ""
    brief: str = ""
    body: str = ""
    replaces: str = ""

    def describe(self) -> str:
        return f"{self.rule}: {' '.join((self.text, *self.labels, self.option)).strip()}"


@dataclass(frozen=True, slots=True)
class BodyExpanded(CardEvent, zoom=Zoom.ACTIVITY, line="{rule} wrote the description out"):
    """A rule's model wrote the description of the card's issue out: `text` stands over the words `before`.

    `content_id` is the issue's, `written` the digest of the whole description as GitHub has it.
    """

    content_id: str
    rule: str
    text: str
    before: str
    written: str


@dataclass(frozen=True, slots=True)
class AssistantMetered(CardEvent):
    """The cost of one call of the assistant or of a rule; `tokens` are read and written ones together.

    `by`: the person whose words or drag it answers; empty where that is not known.
    """

    usd: float
    tokens: int
    by: str = ""


@dataclass(frozen=True, slots=True)
class AssistantFailed(CardEvent, zoom=Zoom.CONVERSATION, line="{what} failed: {because}"):
    """A call of the assistant or of a rule failed for good; `because` is a text that a person can act on.

    `rule` is as in TaskAnswered; empty for the assistant.
    """

    what: str
    because: str
    rule: str = ""
