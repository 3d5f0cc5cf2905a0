"""Set-up from nothing to an installed App and a board that is ready; steps that are done are left out."""

import dataclasses
import json
import secrets
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

from bot.admin import boards
from bot.admin.setup import board, progress, settings
from bot.admin.setup.errors import (
    InitError,
    KeyRefusedError,
    LostCodeError,
    MissingWishError,
    NotInstalledError,
    NotRegisteredError,
    PersonalBoardError,
    SuspendedError,
)
from bot.admin.setup.local_server import BACK, LocalServer, Registration
from bot.admin.setup.progress import Notes, Registered
from bot.bootstrap import open_services
from bot.github.api.project_fields import EARLIER
from bot.github.app_manifest import WEBHOOK_PATH, convert, manifest
from bot.github.client import Hub
from bot.github.errors import NotFoundError, RateLimitedError, TokenError, UnavailableError
from bot.ingest.events import list_subscribed
from bot.render.board.card_fields import FaceField
from bot.state import served_boards
from bot.state.served_boards import ServedBoard
from bot.system import config as configuration
from bot.system import git_exclude, github_address, program
from bot.system.clock import Clock
from bot.system.config import Config
from bot.system.env_file import ENV_FILE
from bot.system.secret import Secret
from bot.system.setting_types import BoardAddress
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.views import boards as known_boards
from rules.text import count

ASK_S = 1.0  # between looks for the installation
LAST_PAGE_S = 10.0  # for the browser to notice that everything is done
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Wishes:
    """Choices on the command line. `number` 0: find the board. `webhook` empty: leave it as it is.
    `public_url` empty: browsers do not reach Cardinal.
    """

    owner: str
    number: int = 0
    name: str = ""
    webhook: str = ""
    public_url: str = ""
    poll: bool = False
    columns: bool = False
    replace: bool = False
    policy_repository: str = ""
    existing: Registered | None = None
    wait_s: float = 1800
    opens: bool = False


@dataclass(frozen=True, slots=True)
class SetUpContext:
    """Where the set-up happens: this home, this terminal."""

    environ: Mapping[str, str]
    cwd: Path
    say: Callable[[str], None]
    clock: Clock
    choose: board.Choose | None = None

    def config(self) -> Config:
        """Return the settings as they are now."""
        return configuration.read(self.environ, self.cwd)


def set_up_app(wishes: Wishes, place: SetUpContext) -> None:
    """Do the remaining steps. Raises InitError, GithubError or ConfigError with the next step."""
    config = place.config()
    settings.check_environment(place.environ)
    git_exclude.hide(config.home)
    notes = progress.read(config.home)
    # The same state as of a set-up that was interrupted within the hour: GitHub must bring it back.
    open_already = notes.is_open(wishes.owner, place.clock())
    state = notes.state if open_already else secrets.token_urlsafe(SECRET_BYTES)
    registration = Registration(wishes.owner, state, _make_exchange(config, wishes, place))
    with closing(LocalServer(registration, notes.port)) as server:
        app_id = _obtain_app(wishes, place, config, notes, registration, server=server)
        board_address = BoardAddress(wishes.owner, wishes.number)
        hub = Hub(dataclasses.replace(place.config(), board=board_address), place.clock)
        page = _check_app(hub, place, app_id)
        _point_webhook(hub, wishes, place, place.config())
        login = _await_installation(hub, wishes, place, page, server)
        _prepare_board(hub, dataclasses.replace(wishes, owner=login), place)
        progress.remove_progress(config.home)
        _finish(wishes, place, registration, server)


# --- the App -----------------------------------------------------------------------------------------


def _obtain_app(
    wishes: Wishes,
    place: SetUpContext,
    config: Config,
    notes: Notes,
    registration: Registration,
    *,
    server: LocalServer,
) -> int:
    """Return the App's id, once its secrets are in the settings."""
    app = wishes.existing or notes.app
    if app is None and config.app_id and not wishes.replace:
        place.say(f"the App {config.app_id} is already in the settings")
        return config.app_id
    settings.check_app(config, app.app_id if app else 0, replace=wishes.replace or notes.app is not None)
    if wishes.existing is not None:
        app = _verify_existing(wishes.existing, config, notes, place)
    elif app is None:
        app = _register(wishes, place, config, registration, server)
    else:
        place.say(f"continuing with the App {app.slug}, which an earlier `cardinal init` registered")
    registration.app = app
    settings.put_away(config, app, webhooks=not wishes.poll, public_url=wishes.public_url)
    # The state is used up, and the secrets are where they belong.
    progress.write(
        config.home, dataclasses.replace(notes, owner=wishes.owner, port=server.port, state="", app=None)
    )
    place.say(f"the App's id, key and secret are in {config.home / ENV_FILE}")
    if wishes.public_url and app.client_secret:
        place.say(f"{wishes.public_url} will show files of runs to people who may read their repository")
    return app.app_id


def _register(
    wishes: Wishes, place: SetUpContext, config: Config, registration: Registration, server: LocalServer
) -> Registered:
    """Lead a person through GitHub's form and return the App that came of it."""
    begun = Notes(wishes.owner, registration.state, server.port, place.clock().isoformat())
    progress.write(config.home, begun)
    back = f"http://127.0.0.1:{server.port}{BACK}"
    wanted = manifest(list_subscribed()).form_fields(
        name=wishes.name,
        owner=wishes.owner,
        webhook=wishes.webhook,
        active=not wishes.poll,
        redirect_url=back,
        public_url=wishes.public_url,
    )
    registration.manifest = json.dumps(wanted)
    state = urlencode({"state": registration.state})
    registration.action = f"{config.git_url}/organizations/{quote(wishes.owner)}/settings/apps/new?{state}"
    place.say(f"open {server.address} in a browser on this machine, and register the App there")
    port = urlsplit(server.address).port
    place.say(f"is your browser on another machine? type there first: ssh -N -L {port}:127.0.0.1:{port} HOST")
    if wishes.opens:
        webbrowser.open(server.address)
    if not server.serve_until(lambda: bool(registration.app or registration.problem), wishes.wait_s):
        raise NotRegisteredError(server.address, wishes.wait_s)
    if registration.app is None:
        server.serve_until(lambda: False, 1.0)  # so that the page's answer goes out
        progress.remove_progress(config.home)
        raise InitError(f"{registration.problem}. Run `cardinal init` again")
    place.say(f"GitHub created the App {registration.app.slug}")
    return registration.app


def _make_exchange(config: Config, wishes: Wishes, place: SetUpContext) -> Callable[[str], Registered]:
    def exchange(code: str) -> Registered:
        try:
            converted = convert(config.github_url, code)
        except NotFoundError as error:
            page = f"{config.git_url}/organizations/{quote(wishes.owner)}/settings/apps"
            raise LostCodeError(page) from error
        if converted.owner.casefold() != wishes.owner.casefold():
            raise InitError(
                f"the App was created for {converted.owner} instead of {wishes.owner}: delete it at "
                f"{converted.page}, then run `cardinal init` again"
            )
        key, hook_secret = converted.private_key.reveal(), converted.webhook_secret.reveal()
        client = converted.client_id, converted.client_secret.reveal()
        app = Registered(converted.app_id, converted.slug, converted.page, key, hook_secret, *client)
        # Before anything else: GitHub never says these again.
        progress.write(config.home, Notes(wishes.owner, "", 0, place.clock().isoformat(), app))
        return app

    return exchange


def _verify_existing(given: Registered, config: Config, notes: Notes, place: SetUpContext) -> Registered:
    """Return the App once its key is known to be right, with a secret for its webhooks."""
    keyed = dataclasses.replace(config, app_id=given.app_id, private_key=Secret(given.private_key))
    try:
        answer = Hub(keyed, place.clock).as_app("GET", "/app").body
    except (TokenError, NotFoundError) as error:
        raise KeyRefusedError(given.app_id) from error
    kept = notes.app.webhook_secret if notes.app and notes.app.app_id == given.app_id else ""
    same = config.webhook_secret.reveal() if config.app_id == given.app_id else ""
    secret = given.webhook_secret or kept or same or secrets.token_hex(SECRET_BYTES)
    app = dataclasses.replace(
        given, slug=str(answer["slug"]), page=str(answer["html_url"]), webhook_secret=secret
    )
    progress.write(config.home, Notes(notes.owner, "", 0, place.clock().isoformat(), app))
    return app


def _check_app(hub: Hub, place: SetUpContext, app_id: int) -> str:
    """Say which permissions and events the App lacks; return its page. Raises InitError."""
    try:
        answer = hub.as_app("GET", "/app")
    except (TokenError, NotFoundError) as error:
        raise KeyRefusedError(app_id) from error
    if problem := github_address.problem_of_server(answer.headers.get("x-github-enterprise-version", "")):
        raise InitError(
            f"{problem}. The App stays in the settings: upgrade the server, then run `cardinal init` again"
        )
    app = answer.body
    lacking = manifest(list_subscribed()).lacking(app.get("permissions") or {})
    unsubscribed = manifest(list_subscribed()).missing_events(tuple(app.get("events") or ()))
    page = str(app["html_url"])
    if lacking:
        place.say(f"the App lacks permissions: {', '.join(lacking)}; grant them on its page {page}")
    if unsubscribed:
        place.say(f"the App is not subscribed to {', '.join(unsubscribed)}: subscribe it on its page {page}")
    return page


def _find_settings_page(hub: Hub, config: Config) -> str:
    """Return the address of the App's settings, which only its owners see."""
    app = hub.as_app("GET", "/app").body
    owner = app["owner"]
    place = f"/organizations/{quote(owner['login'])}" if owner.get("type") == "Organization" else ""
    return f"{config.git_url}{place}/settings/apps/{quote(app['slug'])}"


def _point_webhook(hub: Hub, wishes: Wishes, place: SetUpContext, config: Config) -> None:
    """Update the App's webhook where the wishes say so; its secret goes along with its address."""
    if wishes.poll:
        settings.change_settings(config.home, {"WEBHOOKS": "false"})
        place.say(
            f"no webhooks: Cardinal reads the board every {config.sweep_s:.0f} s, but not comments and "
            "reviews. If the webhook is on, turn it off on the App's page"
        )
        return
    now = hub.as_app("GET", "/app/hook/config").body
    wanted = wishes.webhook or str(now.get("url") or "")
    if not wanted:
        raise MissingWishError(
            "the App has no address for webhooks: add --webhook https://your.host, or --poll"
        )
    was_off, secret = not config.webhooks, config.webhook_secret.reveal()
    if wishes.webhook and (was_off or not secret):
        secret = secret or secrets.token_hex(SECRET_BYTES)
        settings.change_settings(config.home, {"WEBHOOKS": "true", "WEBHOOK_SECRET": secret})
    elif was_off or (wishes.existing is None and now.get("url") == wanted):
        return
    hub.as_app("PATCH", "/app/hook/config", body={"url": wanted, "secret": secret, "content_type": "json"})
    place.say(f"the App's webhooks go to {wanted}, signed with the secret in the settings")
    if was_off:
        page = _find_settings_page(hub, config)
        place.say(f"only a person can turn them on: tick Active, under Webhook, at {page}")


# --- the installation --------------------------------------------------------------------------------


def _await_installation(hub: Hub, wishes: Wishes, place: SetUpContext, page: str, server: LocalServer) -> str:
    """Wait until the App is installed on the organisation, while the page keeps people company.

    Return the login as GitHub writes it: other names are compared with it.
    """
    where = f"{page}/installations/new"
    seen: dict[str, str] = {}
    asked_at = -ASK_S

    def is_installed() -> bool:
        nonlocal asked_at
        if time.monotonic() - asked_at < ASK_S:
            return False
        asked_at = time.monotonic()
        try:
            installation = hub.installation()
        except (UnavailableError, RateLimitedError):
            return False  # somebody is at it in a browser just now: asked again
        except NotFoundError:
            if not seen:
                place.say(f"install the App on {wishes.owner}: {where}")
            seen.setdefault("waits", where)
            return False
        if installation["account"].get("type") == "User":
            raise PersonalBoardError(wishes.owner)
        if installation.get("suspended_at"):
            raise SuspendedError(wishes.owner, str(installation["html_url"]))
        seen["lacking"] = ", ".join(
            manifest(list_subscribed()).lacking(installation.get("permissions") or {})
        )
        seen["page"] = str(installation["html_url"])
        seen["owner"] = str(installation["account"]["login"])
        return True

    if not server.serve_until(is_installed, wishes.wait_s):
        raise NotInstalledError(wishes.owner, where, wishes.wait_s)
    place.say(f"the App is installed on {wishes.owner}")
    if seen["lacking"]:
        place.say(f"{wishes.owner} has not accepted {seen['lacking']} yet: an owner can at {seen['page']}")
    return seen["owner"]


# --- the board ---------------------------------------------------------------------------------------


def _prepare_board(hub: Hub, wishes: Wishes, place: SetUpContext) -> None:
    config = place.config()
    chosen = wishes.number
    if not chosen and config.board and config.board.owner.casefold() == wishes.owner.casefold():
        chosen = config.board.number
    number = chosen or board.find(hub, wishes.owner, place.choose)
    address = BoardAddress(wishes.owner, number)
    shared = _is_beside_others(config, address)
    named = wishes.policy_repository or ("" if shared else config.policy_repository)
    served_board = ServedBoard(*address, named)
    ready = board.prepare_board(
        hub, *address, served_board.home_repository, named=bool(named), columns=wishes.columns
    )
    if shared:
        with open_services(place.environ, place.cwd) as services:
            boards.add_board(services, served_board)
        place.say(f"the ledger now serves {address} as well as {config.board}: `cardinal boards list`")
    else:
        policy = {"POLICY_REPOSITORY": named} if wishes.policy_repository else {}
        settings.change_settings(config.home, {"BOARD": str(address), **policy})
    for sentence in _describe_board(ready, str(address)):
        place.say(sentence)


def _is_beside_others(config: Config, address: BoardAddress) -> bool:
    """Tell whether the ledger serves boards already, and the settings name another one of them."""
    if not config.board or served_boards.read_configured_board(config).is_at(*address):
        return False
    engine = open_ledger(config.database_url)
    with event_store.reading(engine) as db:
        served = known_boards.list_served(db)
    engine.dispose()
    return bool(served)


def _describe_board(ready: board.PreparedBoard, name: str) -> Iterator[str]:
    yield f"the board is {name}, {ready.title}"
    yield ready.policy_said
    if ready.columns:
        yield f"created the columns {', '.join(ready.columns)}"
    if ready.fields:
        yield f"created the fields {', '.join(ready.fields)}"
    for name, strange in ready.converted.items():
        kept = f"; {count(strange, 'card')} had other text, which is kept there" if strange else ""
        texts = EARLIER.format(name)
        yield f"{name} is now a single-select field; its old texts are in {texts}, which you may delete{kept}"
    yield from _describe_view(ready)
    if ready.described:
        yield "wrote into each column's header what a drag does"
    if ready.missing:
        missing = ", ".join(ready.missing)
        yield (
            f"the board has no column {missing}: create them with --columns, or name your own in the policy "
            "file"
        )
    if ready.strange:
        yield f"nothing happens in {', '.join(ready.strange)}: the policy does not name them"
        proposed = ", ".join(
            f"{name}: {{archetype: {kind}}}" for name, kind in board.propose_columns(ready.strange)
        )
        if proposed:
            yield f"to use them, add these under `board: columns:` in the policy file: {proposed}"


def _describe_view(ready: board.PreparedBoard) -> Iterator[str]:
    match ready.view:
        case board.ViewResult.MADE:
            yield f"created the view {board.VIEW}, whose cards show these fields"
        case board.ViewResult.THERE if ready.fields:
            new = ", ".join(ready.fields)
            yield f"to show {new} on the cards, tick them in the view {board.VIEW} under its menu, Fields"
        case board.ViewResult.BY_HAND:
            yield (
                f"GitHub does not let the App create views: on the board, add a view {board.VIEW} with the"
                f" layout Board, and tick {', '.join(FaceField)} under its menu, Fields"
            )
        case _:
            pass


def _finish(wishes: Wishes, place: SetUpContext, registration: Registration, server: LocalServer) -> None:
    config = place.config()
    config.require_github()
    place.say(f"done: start it with `{program.of_home(config.home)}`, check it with `cardinal doctor`")
    if not wishes.poll:
        place.say(f"webhooks are received at http://{config.host}:{config.port}{WEBHOOK_PATH} once it runs")
    if registration.app is not None and registration.action:
        registration.ready = "The App is installed and the board is ready. Go back to the terminal."
        server.serve_until(registration.read.is_set, LAST_PAGE_S)
