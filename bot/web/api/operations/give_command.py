"""Give a command on a job: answer, approve, cancel, or any other that works in a comment."""

import hashlib
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from bot.state import policies
from bot.state.snapshots import MINUTE
from bot.web.acting import record
from bot.web.acting.form import NUMBER_BITS
from bot.web.acting.record import SentCommand
from bot.web.api import jobs
from bot.web.api.jobs import JobName
from bot.web.api.operation import KEPT, ApiError, ApiModel, SiteRequest, not_found
from ledger.log import event_store
from ledger.queue.api_tokens import Scope
from ledger.rows.cards import CardRow
from ledger.states import Door
from ledger.views import givers
from rules.chatops import parser
from rules.handlers.command import ALWAYS
from rules.registry import COMMANDS
from rules.text import alternatives
from runner.text.metadata import SentMetadata
from runner.text.untrusted import without_invisible as clean

LATER_S = 60
METHOD, PATH = "POST", "/jobs/{owner}/{repository}/{number}/commands"
SCOPE = Scope.ACT
EXAMPLE: Mapping[str, Any] = {"owner": "acme", "repository": "shop", "number": 1, "command": "status"}


class CommandRequest(JobName):
    """The job and the command."""

    command: str = Field(
        pattern=f"^({'|'.join(COMMANDS.names())})(:.{{0,200}})?$",
        description="The word after /cardinal, or the `name` of an offer, which includes its subject",
    )
    text: str = Field("", max_length=parser.MAX_ARGUMENT, description="Text after the word")
    metadata: SentMetadata = Field(
        default_factory=dict, description="With complete: facts for programs and for anyone who continues"
    )

    @field_validator("command", mode="before")
    @classmethod
    def _require_known(cls, command: object) -> object:
        because = parser.unknown_command(command.partition(":")[0]) if isinstance(command, str) else ""
        if because:
            raise PydanticCustomError("unknown_command", "{because}", {"because": because})
        return command

    @model_validator(mode="after")
    def _takes_metadata(self) -> Self:
        name = self.command.partition(":")[0]
        if self.metadata and not COMMANDS.load(name).TAKES_METADATA:
            able = alternatives(it for it in COMMANDS.names() if COMMANDS.load(it).TAKES_METADATA)
            because = f"{name} takes no metadata, only {able}: say it in `text`"
            raise PydanticCustomError("no_metadata", "{because}", {"because": because})
        return self


class CommandReceipt(ApiModel):
    """The command is recorded."""

    seq: int = Field(description="Number of its event in the log")
    again: bool = Field(description="It was already recorded under the same idempotency key")
    done: bool = Field(description="False: the command changed nothing, and `answer` says why")
    answer: str = Field(description="What the card replied")


Input, Output = CommandRequest, CommandReceipt


def _require_pace(call: SiteRequest, card: CardRow, command: str) -> None:
    """Raise ApiError where the rules would not obey the command any more this minute: it can come later."""
    if command in ALWAYS:
        return
    with event_store.reading(call.site.engine) as db:
        most = policies.in_force(db, card.board_id).limits.commands_per_minute
        lately = givers.count_commands(db, card.board_id, call.visit.login, call.site.clock() - MINUTE)
    if lately >= most:
        because = f"{call.visit.login} gave {most} commands within a minute, which is the board's limit"
        raise ApiError(HTTPStatus.TOO_MANY_REQUESTS, "too_many", because, "continue in a minute", LATER_S)


def run(call: SiteRequest, given: CommandRequest) -> CommandReceipt:
    """Record it once. Raises ApiError, BusyError, CardBusyError, GithubError, ReusedKeyError."""
    card = jobs.card_of(call, given, acts=True)
    number = int.from_bytes(hashlib.sha256(call.key.encode()).digest()) % 2**NUMBER_BITS + 1
    until = call.site.clock() + KEPT
    sent = SentCommand(
        door=Door.API,
        name=given.command,
        text=given.text,
        number=number,
        key=call.key,
        kept_until=until,
        via=call.token.name,
        metadata=given.metadata,
    )
    seq, first = record.find_recorded(call.site.services, card, sent), False
    if seq is None:
        _require_pace(call, card, given.command.partition(":")[0])
        about = record.readable_card(call.site.services, card.card_id, given.command)
        if about is None:
            raise not_found()
        seq, first = record.record_command(*about, call.visit, sent)
    outcome = record.outcome(call.site.services, call.visit, seq, Door.API)
    if outcome is None:
        raise not_found()
    if outcome.refused:
        raise ApiError(HTTPStatus.FORBIDDEN, "refused", outcome.text, "ask an account that may")
    return CommandReceipt(seq=seq, again=not first, done=outcome.is_done, answer=clean(outcome.text))
