"""The accounts: people, bots, organisations, and the tokens of people."""

from dataclasses import dataclass, field

from forge.errors import UnprocessableError
from forge.store.base import Part, existing
from forge.store.models import User, UserType

PERSON_TOKEN_PREFIX = "forge-user-"  # noqa: S105  the rest of the token is the login


@dataclass(eq=False)
class Users(Part):
    """Every account by login; logins differ in more than letter case."""

    _by_login: dict[str, User] = field(default_factory=dict)

    def all(self) -> list[User]:
        """Return every account, oldest first."""
        return list(self._by_login.values())

    def add(self, login: str, type_: UserType = UserType.USER, name: str = "") -> User:
        """Return the new account; raises UnprocessableError when the login is taken."""
        if login.casefold() in self._by_login:
            raise UnprocessableError.on_field("User", "login", "already_exists")
        kind = {UserType.USER: "user", UserType.BOT: "bot", UserType.ORGANIZATION: "organization"}[type_]
        user = self._new(kind, User, login, type_, name or login, self.store.clock.now())
        self._by_login[login.casefold()] = user
        return user

    def add_organization(self, login: str, members: list[User]) -> User:
        organization = self.add(login, UserType.ORGANIZATION)
        organization.members.update(member.login for member in members)
        return organization

    def bot(self, login: str) -> User:
        """Return the bot of this name, which is made at its first act."""
        return self._by_login.get(login) or self.add(login, UserType.BOT)

    def get(self, login: str) -> User:
        """Return the account; raises NotFoundError."""
        return existing(self._by_login.get(login.casefold()))

    def by_token(self, token: str) -> User | None:
        """Return the person whose token this is; `None` when it is nobody's."""
        if not token.startswith(PERSON_TOKEN_PREFIX):
            return None
        user = self._by_login.get(token.removeprefix(PERSON_TOKEN_PREFIX).casefold())
        return user if user is not None and user.type is UserType.USER else None
