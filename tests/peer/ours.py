"""The forge as the other side: the same organisation, people and App as the peer has."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forge.store.models import Role
from forge.store.users import PERSON_TOKEN_PREFIX
from forge.web.server import Forge
from tests.peer.emulator import NEWCOMER
from tests.peer.relay import Relay
from tests.peer.side import ADMIN, EVENTS, ORG, PERMISSIONS, SECRET, SLUG, STRANGER, WRITER, Side


@contextmanager
def forging(folder: Path, relay: Relay) -> Iterator[Side]:
    """Run a forge, its App's webhook aimed at `relay`."""
    forge = Forge(folder / "forge")
    store = forge.store
    people = {login: store.users.add(login) for login in (ADMIN, WRITER, STRANGER)}
    acme = store.users.add_organization(ORG, [people[ADMIN]])
    app, key = store.apps.register(acme, "Cardinal", SLUG, permissions=PERMISSIONS, events=list(EVENTS))
    store.apps.register(acme, "Newcomer", NEWCOMER, permissions=PERMISSIONS, events=[])
    store.apps.install(app, acme, actor=people[ADMIN])
    app.webhook_url, app.webhook_secret = relay.url, SECRET

    def make_repository(_: Side, name: str) -> None:
        repo = store.repos.create(acme, name)
        store.repos.set_role(repo, people[ADMIN], Role.ADMIN)
        store.repos.set_role(repo, people[WRITER], Role.WRITE)
        store.repos.write_files(
            repo, "main", {"README.md": b"# Shop\n"}, "Initial commit", actor=people[ADMIN]
        )

    forge.start()
    try:
        yield Side(
            "forge", forge.url, app.id, key, relay, lambda login: PERSON_TOKEN_PREFIX + login, make_repository
        )
    finally:
        forge.stop()
