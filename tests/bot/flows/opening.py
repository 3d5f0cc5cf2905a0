"""Opening a forge with a Cardinal beside it: as copies of what was opened once in this process."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bot.bootstrap import Services
from bot.github.client import Hub
from bot.state.outbox_context import OutboxContext
from bot.system import config
from bot.system import redis as embedded_redis
from forge.clock import Clock as ForgeClock
from forge.seed import load
from forge.seed.world import World
from forge.server import Forge
from forge.store.registration import Delivery
from tests.bot.flows.cardinal import Cardinal, Clock
from tests.bot.flows.people import People
from tests.bot.flows.settings import POLICY, SETTINGS
from tests.kept import Kept, keep
from tests.ledgers import new_ledger, set_clock
from tests.near import near


def _beside(
    forge: Forge, world: World, root: Path, database_url: str, public_url: str, server: str = ""
) -> Cardinal:
    """Return a Cardinal for the forge's world, with its home in `root`."""
    mail: deque[Delivery] = deque()
    forge.store.deliveries.outlets[:] = [mail.append]  # nothing is sent: the test hands the deliveries over
    forge.store.settings.server_version = server
    settings = {
        "CARDINAL_HOME": ".cardinal",  # named, so its mode is the test's business
        "CARDINAL_GITHUB_URL": f"{forge.url}/api/v3" if server else forge.url,
        "CARDINAL_APP_ID": str(world.app.id),
        "CARDINAL_PRIVATE_KEY": world.private_key,
        "CARDINAL_BOARD": "acme/1",
        **SETTINGS,
    }
    if public_url:
        world.app.callback_urls = (f"{public_url}/sign-in/back",)
        settings |= {
            "CARDINAL_PUBLIC_URL": public_url,
            "CARDINAL_CLIENT_ID": world.app.client_id,
            "CARDINAL_CLIENT_SECRET": world.app.client_secret,
        }
    if database_url:
        settings["CARDINAL_DATABASE_URL"] = database_url
    made = config.read(settings, root)
    engine = new_ledger(made.database_url)
    clock = Clock()
    set_clock(engine, clock)
    forge.store.clock = ForgeClock(clock)
    hub = Hub(made, clock)
    services = Services(
        made,
        engine,
        OutboxContext(engine, made, clock, hub),
        embedded_redis.connect_redis(made),  # nobody answers, all wake-ups get lost: the test is the tick
        "test-1",
        clock,
    ).on_configured()
    return Cardinal(forge, world.project, services, clock, made.scenarios, mail)


@contextmanager
def _served(
    kept: Kept, root: Path, database_url: str, public_url: str, server: str = ""
) -> Iterator[Cardinal]:
    """Serve a copy of a kept world, with a Cardinal beside it."""
    store, world = kept.copy(root)
    forge = Forge(store.root, store=store).start()
    try:
        with nullcontext() if server else near(forge):
            cardinal = _beside(forge, world, root, database_url, public_url, server)
            yield cardinal
            cardinal.services.engine.dispose()
    finally:
        forge.stop()


def _seeded() -> Kept:
    """Keep a forge with the demo's team, shop and board, and the tests' policy."""
    with TemporaryDirectory(prefix="cardinal-seeded-") as folder:
        forge = Forge(Path(folder) / "forge")
        try:
            world = load(forge.store, "demo", webhook="http://127.0.0.1:9/", secret="s")
            people = People()
            people.forge = forge
            people.set_policy(POLICY)
            return Kept.of(forge.store, world, Path(folder))
        finally:
            forge.stop()


def _see_board(cardinal: Cardinal) -> None:
    """Let Cardinal see the board first; what stands there then is a minute old."""
    for item in cardinal.project.items:
        item.updated_at -= timedelta(minutes=1)
    cardinal.mail.clear()
    cardinal.sweep()
    cardinal.catch_up()


def _swept(public_url: str) -> Kept:
    """Keep the seeded world and the ledger of a Cardinal that has seen the board."""
    folder = TemporaryDirectory(prefix="cardinal-swept-")
    with folder, _served(keep("seeded", _seeded), Path(folder.name), "", public_url) as cardinal:
        _see_board(cardinal)
        cardinal.services.engine.dispose()
        store = cardinal.forge.store
        world = World(
            store.apps.all()[0],
            store.apps.installations()[0],
            cardinal.services.config.private_key.reveal(),
            cardinal.project,
        )
        return Kept.of(store, world, Path(folder.name))


@contextmanager
def opened(
    root: Path,
    *,
    database_url: str = "",
    public_url: str = "",
    server: str = "",
    before: Callable[[Cardinal], None] | None = None,
) -> Iterator[Cardinal]:
    """Open a forge with the demo's team and shop, and a Cardinal that has seen the board.

    With a `public_url` people can sign in there, and texts have links.
    `server` is the version of a GitHub Enterprise Server, called over a socket; without it the forge is
    github.com.
    `before` is called just before Cardinal sees the board first; what stands there then is a minute old.
    """
    untouched = before is None and not database_url and not server
    kept = keep(f"swept {public_url}", lambda: _swept(public_url)) if untouched else keep("seeded", _seeded)
    with _served(kept, root, database_url, public_url, server) as cardinal:
        if before is not None:
            before(cardinal)
        if not untouched:
            _see_board(cardinal)
        assert cardinal.services.hub.bot_login  # asked for before the first call that a test counts
        cardinal.forge.gateway.calls.clear()
        yield cardinal
