"""Apps: registration, installation, installation tokens."""

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import ClassVar

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from forge.errors import UnprocessableError
from forge.store.base import Part, first
from forge.store.models import Repo, User, UserType
from forge.store.registration import App, Installation, Token


class Access(Part):
    """Acts of an organisation's owners, each announced as GitHub does.

    Source: docs.github.com/webhooks/webhook-events-and-payloads (installation, installation_repositories,
    repository).
    """

    def repositories(self, installation: Installation) -> list[Repo]:
        repos = [repo for repo in self.store.repos.all() if repo.owner is installation.account]
        return [repo for repo in repos if installation.repo_ids is None or repo.id in installation.repo_ids]

    def suspend(self, installation: Installation, *, actor: User) -> None:
        """Switch an installation off; it gets no further deliveries."""
        installation.suspended_at, installation.suspended_by = self.store.clock.now(), actor
        self.announce(installation, "suspend", actor)

    def unsuspend(self, installation: Installation, *, actor: User) -> None:
        installation.suspended_at = installation.suspended_by = None
        self.announce(installation, "unsuspend", actor)

    def accept(self, installation: Installation, *, actor: User) -> None:
        """Grant the permissions and events that the App asks for now."""
        installation.permissions = dict(installation.app.permissions)
        installation.events = list(installation.app.events)
        self.announce(installation, "new_permissions_accepted", actor)

    def choose(self, installation: Installation, repos: Collection[Repo], *, actor: User) -> None:
        """Let an installation reach these repositories only."""
        before = {repo.id: repo for repo in self.repositories(installation)}
        installation.repo_ids = {repo.id for repo in repos}
        after = {repo.id: repo for repo in self.repositories(installation)}
        added = [repo for number, repo in after.items() if number not in before]
        removed = [repo for number, repo in before.items() if number not in after]
        for action, repositories in (("added", added), ("removed", removed)):
            if repositories:
                self.store.emit(
                    "installation_repositories",
                    action,
                    actor,
                    organization=installation.account,
                    installation=installation,
                    plain={"repository_selection": "selected", "requester": None},
                    repositories_added=added if action == "added" else [],
                    repositories_removed=removed if action == "removed" else [],
                )

    def archive(self, repo: Repo, archived: bool, *, actor: User) -> None:
        """Make a repository read-only, or take that back."""
        repo.archived = archived
        self.store.emit("repository", "archived" if archived else "unarchived", actor, repo)

    def set_private(self, repo: Repo, private: bool, *, actor: User) -> None:
        """Hide a repository from everybody without a role, or show it."""
        repo.private = private
        self.store.emit("repository", "privatized" if private else "publicized", actor, repo)

    def rename(self, repo: Repo, name: str, *, actor: User) -> None:
        """Give a repository another name."""
        before = repo.name
        self.store.repos.move(repo, repo.owner, name)
        changes = {"repository": {"name": {"from": before}}}
        self.store.emit("repository", "renamed", actor, repo, plain={"changes": changes})

    def transfer(self, repo: Repo, owner: User, *, actor: User) -> None:
        """Give a repository to somebody else; the former owner's Apps are notified as well."""
        before = repo.owner
        self.store.repos.move(repo, owner, repo.name)
        self.store.emit("repository", "transferred", actor, repo, organization=before, former_owner=before)

    def announce(self, installation: Installation, action: str, actor: User) -> None:
        self.store.emit(
            "installation", action, actor, organization=installation.account, installation=installation
        )


TOKEN_CHARACTERS = 520  # the stateless format of 2026: "ghs_<app id>_<jwt>"
LEVELS = ("read", "write", "admin")
ALL_PERMISSIONS = {
    "organization_projects": "write",
    "issues": "write",
    "pull_requests": "write",
    "contents": "write",
    "checks": "write",
    "metadata": "read",
    "statuses": "read",
    "actions": "read",
    "workflows": "write",
    "merge_queues": "write",
}
ALL_EVENTS = [
    "check_run",
    "check_suite",
    "create",
    "delete",
    "issue_comment",
    "issue_dependencies",
    "issues",
    "merge_group",
    "projects_v2_item",
    "projects_v2_status_update",
    "pull_request",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_review_thread",
    "push",
    "repository",
    "status",
    "sub_issues",
    "workflow_run",
]


def new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass(eq=False)
class Apps(Part):
    """Every App, installation and token."""

    keys: ClassVar[Iterator[rsa.RSAPrivateKey]] = iter(new_key, None)  # set once by whoever has some ready

    _apps: list[App] = field(default_factory=list)
    _installations: list[Installation] = field(default_factory=list)
    _tokens: dict[str, Token] = field(default_factory=dict)

    def all(self) -> list[App]:
        """Return every App, oldest first."""
        return list(self._apps)

    def installations(self, app: App | None = None) -> list[Installation]:
        """Return the installations of one App or of all."""
        return [
            installation for installation in self._installations if app is None or installation.app is app
        ]

    def register(
        self,
        owner: User,
        name: str,
        slug: str,
        *,
        permissions: Mapping[str, str] | None = None,
        events: list[str] | None = None,
    ) -> tuple[App, str]:
        """Return a new App and its private key as PEM, which is not kept."""
        pem, public = self._new_key()
        bot = self.store.users.add(f"{slug}[bot]", UserType.BOT)
        app = App(
            *self.store.identifiers.pair("app"),
            slug=slug,
            name=name,
            owner=owner,
            bot=bot,
            public_key=public,
            client_id=f"Iv23li{secrets.token_hex(7)}",
            created_at=self.store.clock.now(),
            permissions=dict(permissions or ALL_PERMISSIONS),
            events=list(events or ALL_EVENTS),
            hook_id=self.store.identifiers.next_id(),
            webhook_secret=secrets.token_hex(20),
            client_secret=secrets.token_hex(20),
        )
        self._apps.append(app)
        return app, pem

    def renew(self, app: App) -> str:
        """Give an App other secrets, and return its new private key as PEM, which is not kept."""
        pem, app.public_key = self._new_key()
        app.webhook_secret, app.client_secret = secrets.token_hex(20), secrets.token_hex(20)
        self._tokens = {}
        return pem

    def _new_key(self) -> tuple[str, str]:
        key = next(self.keys)
        pem = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        public = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return pem.decode(), public.decode()

    def install(self, app: App, account: User, *, actor: User) -> Installation:
        """Return the installation of an App in an organisation, and announce it."""
        installation = Installation(
            *self.store.identifiers.pair("installation"),
            app,
            account,
            self.store.clock.now(),
            dict(app.permissions),
            list(app.events),
        )
        self._installations.append(installation)
        self.store.access.announce(installation, "created", actor)
        return installation

    def uninstall(self, installation: Installation, *, actor: User) -> None:
        """Take an App out of an organisation, and announce it; its tokens end with it."""
        self.store.access.announce(installation, "deleted", actor)
        self._installations.remove(installation)
        self._tokens = {
            value: token for value, token in self._tokens.items() if token.installation is not installation
        }

    def get(self, app_id: int | str) -> App | None:
        """Return the App with this id or client id; `None` when there is none."""
        return next((app for app in self._apps if str(app_id) in {str(app.id), app.client_id}), None)

    def by_bot(self, user: User) -> App | None:
        """Return the App that acts as `user`; `None` for people."""
        return next((app for app in self._apps if app.bot is user), None)

    def by_slug(self, slug: str) -> App:
        """Return the App; raises NotFoundError."""
        return first(app for app in self._apps if app.slug == slug)

    def get_installation(self, app: App, installation_id: int) -> Installation:
        """Return an installation of `app`; raises NotFoundError."""
        return first(
            installation for installation in self.installations(app) if installation.id == installation_id
        )

    def installation_of(self, app: App, account: User) -> Installation:
        """Return the installation of `app` in an organisation; raises NotFoundError."""
        return first(
            installation for installation in self.installations(app) if installation.account is account
        )

    def issue_token(
        self,
        installation: Installation,
        *,
        permissions: Mapping[str, str] | None = None,
        repo_ids: frozenset[int] | None = None,
    ) -> Token:
        """Return a new token, narrowed on request; raises UnprocessableError for permissions not granted.

        An empty `permissions` gives everything: PyGithub sends `{}` when it is not told any.
        """
        wanted = dict(permissions or installation.permissions)
        for name, level in wanted.items():
            granted = installation.permissions.get(name)
            if granted is None or level not in LEVELS or LEVELS.index(level) > LEVELS.index(granted):
                raise UnprocessableError("The permissions requested are not granted to this installation.")
        wanted.setdefault("metadata", "read")
        now = self.store.clock.now()
        expires_at = now + timedelta(seconds=self.store.settings.token_lifetime_s)
        token = Token(self._new_value(installation), installation, wanted, repo_ids, now, expires_at)
        self._forget_expired()
        self._tokens[token.value] = token
        return token

    def _new_value(self, installation: Installation) -> str:
        # The head of a JWT: {"alg": "RS256", "typ": "JWT"}
        start = f"ghs_{installation.app.id}_eyJhbGciOiAiUlMyNTYiLCAidHlwIjogIkpXVCJ9."
        body = secrets.token_urlsafe(TOKEN_CHARACTERS)
        return f"{start}{body[:120]}.{body[120:]}"[:TOKEN_CHARACTERS]

    def _forget_expired(self) -> None:
        # Kept for a day: "expired" and "never issued" are both 401, but a bounded store stays bounded.
        limit = self.store.clock.now() - timedelta(days=1)
        self._tokens = {value: token for value, token in self._tokens.items() if token.expires_at > limit}

    def by_token(self, value: str) -> Token | None:
        """Return a token that has not expired; `None` for any other."""
        token = self._tokens.get(value)
        return token if token is not None and token.expires_at > self.store.clock.now() else None

    def expire_tokens(self) -> int:
        """Make every token expire now; return how many there were."""
        now = self.store.clock.now()
        live = [token for token in self._tokens.values() if token.expires_at > now]
        for token in live:
            token.expires_at = now
        return len(live)
