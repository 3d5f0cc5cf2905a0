"""The accounts: people, bots, organisations, and the tokens of people."""

from typing import TYPE_CHECKING

from forge.errors import NotFoundError, UnprocessableError
from forge.store.base import Part, exclusive
from forge.store.models import User, UserType

if TYPE_CHECKING:
    from forge.store import Store

PERSON_TOKEN_PREFIX = "forge-user-"  # noqa: S105  the rest of the token is the login


class Users(Part):
    """Every account by login; logins differ in more than letter case."""

    def __init__(self, store: "Store") -> None:
        super().__init__(store)
        self._by_login: dict[str, User] = {}

    def all(self) -> list[User]:
        """Return every account, oldest first."""
        return list(self._by_login.values())

    @exclusive
    def add(self, login: str, type_: UserType = UserType.USER, name: str = "") -> User:
        """Return the new account; raises UnprocessableError when the login is taken."""
        if login.casefold() in self._by_login:
            raise UnprocessableError.on_field("User", "login", "already_exists")
        kind = {UserType.USER: "user", UserType.BOT: "bot", UserType.ORGANIZATION: "organization"}[type_]
        number, node_id = self.store.identifiers.pair(kind)
        mail = f"{number}+{login}@users.noreply.forge.invalid"
        user = User(number, node_id, login, type_, name or login, mail, self.store.clock.now())
        self._by_login[login.casefold()] = user
        self.store.nodes[node_id] = user
        return user

    @exclusive
    def add_organization(self, login: str, members: list[User]) -> User:
        """Return a new organisation with these members."""
        organization = self.add(login, UserType.ORGANIZATION)
        organization.members.update(member.login for member in members)
        return organization

    @exclusive
    def get(self, login: str) -> User:
        """Return the account; raises NotFoundError."""
        user = self._by_login.get(login.casefold())
        if user is None:
            raise NotFoundError()
        return user

    @exclusive
    def by_token(self, token: str) -> User | None:
        """Return the person whose token this is; `None` when it is nobody's."""
        if not token.startswith(PERSON_TOKEN_PREFIX):
            return None
        user = self._by_login.get(token.removeprefix(PERSON_TOKEN_PREFIX).casefold())
        return user if user is not None and user.type is UserType.USER else None
