"""Opening a forge with a Cardinal beside it: as copies of what was opened once in this process."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bot.bootstrap import Services
from bot.github.client import Hub
from bot.github.token_scope import of_call, pushing
from bot.state.outbox_context import OutboxContext
from bot.system import config
from bot.system import redis as embedded_redis
from forge.clock import Clock as ForgeClock
from forge.seed import load
from forge.seed.world import World
from forge.store.registration import Delivery
from forge.web.server import Forge
from ledger.events.board import DecisionFailed
from tests.bot.flows.cardinal import Cardinal, Clock
from tests.bot.flows.people import People
from tests.bot.flows.settings import POLICY, SETTINGS
from tests.kept import MAX_AGE_S, Kept, keep
from tests.ledgers import new_ledger, set_clock
from tests.near import near

SHOP = "acme/shop"
USUAL = (  # what most tests ask a token for
    pushing(SHOP),
    *(
        of_call(method, f"/repos/{SHOP}/{rest}")
        for method, rest in (
            ("POST", "issues/1/comments"),
            ("GET", "issues/1/comments"),
            ("POST", "pulls"),
            ("GET", "pulls/1"),
            ("PATCH", "pulls/1"),
            ("POST", "check-runs"),
            ("GET", "commits/x/check-runs"),
            ("GET", "commits/x/status"),
            ("GET", "contents/x"),
        )
    ),
)


def open_services(settings: config.Config, clock: Clock, *, durable: bool = False) -> Services:
    """Open what a process of Cardinal works with; nobody answers at its Redis: the test is the tick."""
    engine = new_ledger(settings.database_url, durable=durable)
    set_clock(engine, clock)
    hub = Hub(settings, clock)
    context = OutboxContext(engine, settings, clock, hub)
    redis = embedded_redis.connect_redis(settings)
    return Services(settings, engine, context, redis, "test-1", clock).on_configured()


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
    new_config = config.read(settings, root)
    clock = Clock()
    forge.store.clock = ForgeClock(clock.github)
    services = open_services(new_config, clock)
    return Cardinal(forge, world.project, services, clock, new_config.scenarios, mail)


def _hand_over(cardinal: Cardinal, notes: dict[str, Any]) -> None:
    """Let Cardinal know what it knew of a kept world: the bot, and tokens as if given half a minute ago.

    What was played there has just happened: its clock goes on from then.
    """
    if "instant" in notes:
        cardinal.clock.ahead = notes["instant"] - datetime.now(UTC)
        cardinal.forge.store.clock = ForgeClock(cardinal.clock.github)  # the one before never goes back
        cardinal.leases.update(notes["leases"])
    then, known = (cardinal.clock() - timedelta(seconds=30)).isoformat(), {}
    for name, text in notes.get("answers", {}).items():
        known[name] = json.dumps([*json.loads(text)[:2], then]) if name.startswith("token: ") else text
    cardinal.services.hub._kept._change(known, without=None)


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
            _hand_over(cardinal, kept.notes)
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


def _keep(cardinal: Cardinal, root: Path, **notes: Any) -> Kept:
    """Keep the world and the ledger of a Cardinal in `root`, with what its client knows."""
    assert (list(cardinal.mail), cardinal.failures) == ([], [])
    hub, store = cardinal.services.hub, cardinal.forge.store
    answers = hub._kept._open(hub.records.read(hub._kept.record)[0])
    known = {name: text for name, text in answers.items() if not name.startswith("claim: ")}
    cardinal.services.engine.dispose()
    key = cardinal.services.config.private_key.reveal()
    world = World(store.apps.all()[0], store.apps.installations()[0], key, cardinal.project)
    kept = Kept.of(store, world, root)
    kept.notes.update(notes, answers=known)
    return kept


def _swept(public_url: str) -> Kept:
    """Keep the seeded world and the ledger of a Cardinal that has seen the board."""
    folder = TemporaryDirectory(prefix="cardinal-swept-")
    with folder, _served(keep("seeded", _seeded), Path(folder.name), "", public_url) as cardinal:
        settings, hub = cardinal.forge.store.settings, cardinal.services.hub
        settings.token_lifetime_s += MAX_AGE_S  # no copy's tokens expire earlier than new ones would
        _see_board(cardinal)
        for scope in USUAL:
            hub._tokens.reaching(scope)
        settings.token_lifetime_s -= MAX_AGE_S
        assert hub.bot_login
        return _keep(cardinal, Path(folder.name))


def _played(scene: Callable[[Cardinal], object], public_url: str) -> Kept:
    """Keep what such a Cardinal is once the scene was played."""
    folder = TemporaryDirectory(prefix="cardinal-played-")
    with folder, opened(Path(folder.name), public_url=public_url) as cardinal:
        scene(cardinal)
        assert cardinal.events(DecisionFailed) == []
        return _keep(cardinal, Path(folder.name), instant=cardinal.clock(), leases=cardinal.leases)


@contextmanager
def opened(
    root: Path,
    *,
    database_url: str = "",
    public_url: str = "",
    server: str = "",
    before: Callable[[Cardinal], None] | None = None,
    after: Callable[[Cardinal], object] | None = None,
) -> Iterator[Cardinal]:
    """Open a forge with the demo's team and shop, and a Cardinal that has seen the board.

    With a `public_url` people can sign in there, and texts have links.
    `server` is the version of a GitHub Enterprise Server, called over a socket; without it the forge is
    github.com.
    `before` is called just before Cardinal sees the board first; what stands there then is a minute old.
    `after` is a scene that was played since, and has just ended: once in a process, and then copied.
    """
    untouched = before is None and not database_url and not server
    if after is not None:
        assert untouched
        kept = keep(
            f"{after.__module__} {after.__qualname__} {public_url}", lambda: _played(after, public_url)
        )
    elif untouched:
        kept = keep(f"swept {public_url}", lambda: _swept(public_url))
    else:
        kept = keep("seeded", _seeded)
    with _served(kept, root, database_url, public_url, server) as cardinal:
        if before is not None:
            before(cardinal)
        if not untouched:
            _see_board(cardinal)
        if after is Cardinal.at_work:
            cardinal.working.append(cardinal.newest)
        assert cardinal.services.hub.bot_login  # asked for before the first call that a test counts
        cardinal.forge.gateway.calls.clear()
        yield cardinal
