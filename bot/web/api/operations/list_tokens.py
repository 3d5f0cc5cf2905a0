"""List the valid tokens of the account, without their texts."""

from datetime import datetime

from pydantic import Field

from bot.web.api.clean_rows import copy_fields
from bot.web.api.operation import ApiModel, ApiRequest, Nothing
from ledger.log import event_store
from ledger.queue import api_tokens
from ledger.queue.api_tokens import Scope

PATH = "/tokens"
COLUMNS = ("token_id", "name", "login", "scopes", "until", "uses", "used_at")


class TokenInList(ApiModel):
    """A token; nothing can show its text again."""

    token_id: str = Field(description="By which `cardinal tokens revoke` and the page /tokens end it")
    name: str
    login: str = Field(description="The account it acts as, by its name when the token was created")
    scopes: list[Scope]
    made_at: datetime
    until: datetime = Field(description="When it expires")
    uses: int
    used_at: datetime | None = Field(description="When it was used last")


class TokenList(ApiModel):
    """An account has few enough for one page."""

    tokens: list[TokenInList] = Field(description="The newest last")


Input, Output = Nothing, TokenList


def run(call: ApiRequest, _given: Nothing) -> TokenList:
    """Return them: to the operator, those of all accounts."""
    now, user_id = call.site.clock(), None if call.is_operators else call.visit.user_id
    with event_store.reading(call.site.engine) as db:
        rows = api_tokens.list_living(db, now, user_id=user_id)
    return TokenList(tokens=[TokenInList(**copy_fields(TokenInList, row)) for row in rows])
