"""Show the token's account and scopes."""

from datetime import datetime

from bot.web.api.operation import ApiModel, Nothing, SiteRequest

PATH = "/whoami"
Input = Nothing


class TokenOwner(ApiModel):
    """The token."""

    login: str
    token: str
    scopes: list[str]
    until: datetime


Output = TokenOwner


def run(call: SiteRequest, _given: Nothing) -> TokenOwner:
    """Return it."""
    token = call.token
    return TokenOwner(login=token.login, token=token.name, scopes=list(token.scopes), until=token.until)
