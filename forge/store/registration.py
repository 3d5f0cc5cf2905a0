"""State of Apps: registration, installation, tokens, deliveries."""

from dataclasses import dataclass, field
from datetime import datetime

from forge.store.models import Node, User


@dataclass(slots=True, eq=False)
class App(Node):
    """A registered GitHub App; the forge keeps the public half of its key only."""

    slug: str
    name: str
    owner: User
    bot: User
    public_key: str
    client_id: str
    created_at: datetime
    permissions: dict[str, str]
    events: list[str]
    hook_id: int
    webhook_url: str = ""
    webhook_secret: str = ""
    webhook_active: bool = True
    client_secret: str = ""
    callback_urls: tuple[str, ...] = ()  # where a sign-in may send a browser back to


@dataclass(slots=True, eq=False)
class Installation(Node):
    """An App in an organisation, with every repository of it or with chosen ones."""

    app: App
    account: User
    created_at: datetime
    permissions: dict[str, str]
    events: list[str]
    repo_ids: set[int] | None = None  # those that were chosen; `None`: all, also those to come
    suspended_at: datetime | None = None
    suspended_by: User | None = None


@dataclass(slots=True, eq=False)
class Token:
    """An installation token; `repo_ids` is `None` when all repositories are meant."""

    value: str
    installation: Installation
    permissions: dict[str, str]
    repo_ids: frozenset[int] | None
    created_at: datetime
    expires_at: datetime


@dataclass(slots=True, eq=False)
class Delivery:
    """One webhook request and its response."""

    id: int
    guid: str
    app: App
    event: str
    action: str | None
    body: bytes
    headers: dict[str, str]
    created_at: datetime
    installation_id: int | None
    repository_id: int | None
    redelivery: bool = False
    delivered_at: datetime | None = None
    duration_s: float = 0.0
    status: str = "pending"
    status_code: int = 0
    response_headers: dict[str, str] = field(default_factory=dict)
    response_body: str = ""
