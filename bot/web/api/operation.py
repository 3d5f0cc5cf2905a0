"""An operation of the API: its scope, its input and its output."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from bot.web.api.sending import ApiProblemError
from bot.web.site.visibility import VisibleBoard, VisibleLedger
from ledger.errors import CardinalError
from ledger.parts import Registry
from ledger.queue.api_tokens import Scope, TokenRow
from ledger.queue.sign_ins import SignIn
from rules.text import plain

if TYPE_CHECKING:  # an operation that only reads runs without a web server, too
    from bot.web.live.response import StreamResponse
    from bot.web.site.layout import Site

MAX_FAULTS, MAX_FAULT = 5, 300  # so many, of so many characters
M = TypeVar("M", bound=BaseModel)


KEPT = timedelta(days=1)  # so long an idempotency key is remembered


class ApiError(CardinalError):
    """A request is not carried out: `code` for programs, `because` and `remedy` for people."""

    def __init__(self, status: HTTPStatus, code: str, because: str, remedy: str, retry_s: int = 0) -> None:
        self.status, self.code, self.because, self.remedy, self.retry_s = (
            status,
            code,
            because,
            remedy,
            retry_s,
        )
        super().__init__(f"{because}: {remedy}")


def not_found() -> ApiError:
    """Return the one error for a thing that does not exist, or that the token's account may not read."""
    because = "nothing by that name that the token's account may read"
    return ApiError(HTTPStatus.NOT_FOUND, "not_found", because, "check the spelling and the account")


def faults_of(error: ValidationError, model: type[BaseModel]) -> str:
    """Return an input's faults, in the words of the model's fields, without repeating the input."""
    faults = error.errors(include_url=False, include_input=False)[:MAX_FAULTS]
    return "; ".join(
        f"{plain('.'.join(map(str, it['loc'])))}: {plain(_fault(it, model), MAX_FAULT)}" for it in faults
    )


def _fault(fault: ErrorDetails, model: type[BaseModel]) -> str:
    field = model.model_fields.get(str(fault["loc"][0])) if fault["loc"] else None
    if fault["type"] == "string_pattern_mismatch" and field is not None:  # people read no patterns
        return f"invalid value: {field.description}"
    if fault["type"] == "string_too_long":
        return f"may have up to {fault['ctx']['max_length']:,} characters: shorten it"
    return fault["msg"]


class ApiModel(BaseModel):
    """Input or output of an operation: no field that is not named."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # a command uses few of them


class Nothing(ApiModel):
    """No input."""


def check_fields(model: type[M], fields: Mapping[str, Any]) -> M:
    """Return the fields as an input. Raises ApiProblemError."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise ApiProblemError(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "unfit",
            faults_of(error, model),
            "correct it, then send it again",
        ) from error


@dataclass(frozen=True)
class ApiRequest:
    """A request: the ledger as the account may see it, and the account as a visit."""

    site: VisibleLedger
    visit: SignIn
    is_operators: bool = field(default=False, kw_only=True)  # who reads the ledger's file sees all of it

    @cached_property
    def boards(self) -> tuple[VisibleBoard, ...]:
        """The boards of which the account may see something. Raises BusyError."""
        return self.site.boards_of(self.visit)

    def boards_named(self, name: str) -> tuple[VisibleBoard, ...]:
        """Return the board `owner/number`; all for an empty name. Raises ApiError, BusyError."""
        return (self.board(name),) if name else self.boards

    def board(self, name: str) -> VisibleBoard:
        """Return the board `owner/number`. Raises ApiError, BusyError."""
        owner, _, number = name.rpartition("/")
        for board in self.boards:
            if (board.owner.casefold(), str(board.number)) == (owner.casefold(), number):
                return board
        raise not_found()


@dataclass(frozen=True)
class SiteRequest(ApiRequest):
    """A request to the web server with a token: what acts or offers acts needs its site, and the key by which
    it acts once.
    """

    site: "Site"
    token: TokenRow
    key: str


class Operation(Protocol):
    """A file of `bot/web/api/operations/`; its name is the operation's, its docstring the description for
    people.

    `PATH` holds fields of `Input` in braces; a GET has the others in its query, a POST in its JSON body.
    `ALSO` are more paths, where people look for it. `COLUMNS` are the fields of a list that a table
    shows, or those of each list by its name.
    `stream` answers who accepts server-sent events. `AS_TEXT` makes the output into the content types that a
    client may accept in place of JSON; `TEXT_INPUT` has the fields of `Input` whose default is another one
    then. `EXAMPLE` is an input by the names of a card `acme/shop#1` and a run `r1`.
    """

    METHOD: str = "GET"
    PATH: str
    ALSO: tuple[str, ...] = ()
    SCOPE: Scope = Scope.READ
    Input: type[ApiModel]
    Output: type[ApiModel]
    EXAMPLE: Mapping[str, Any] = {}
    COLUMNS: Sequence[str] | Mapping[str, Sequence[str]] = ()
    stream: "Callable[[SiteRequest, Any], StreamResponse] | None" = None
    AS_TEXT: Mapping[str, Callable[[ApiRequest, Any], str]] = {}
    TEXT_INPUT: Mapping[str, Any] = {}
    run: Callable[[Any, Any], ApiModel]  # of an ApiRequest where a ledger is enough, else of a SiteRequest


OPERATIONS = Registry[Operation]("operation of the API", "bot.web.api.operations", Operation)
