"""What the web server serves: the webhook and MCP by themselves, the pages and a health check by Flask."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial

from flask import Flask, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import Engine
from starlette.routing import Route, Router
from starlette.types import ASGIApp
from werkzeug.routing import Rule

from bot.github.app_manifest import WEBHOOK_PATH
from bot.github.shared_records import open_records
from bot.system.clock import Clock
from bot.system.config import Config
from bot.web.capture import Keeper
from bot.web.group_commit import GroupCommit, Wake
from bot.web.live.streams import Streams
from bot.web.mcp import door as mcp_door
from bot.web.metrics import PATH as METRICS_PATH
from bot.web.metrics import Metrics
from bot.web.pages import pages
from bot.web.refused_deliveries import RefusalCounts
from bot.web.small_request import Take
from bot.web.webhook import MAX_BYTES, WebhookReceiver
from bot.web.wsgi import Bridge
from ledger.log import event_store

THREADS = 8  # for pages and the API


@dataclass(frozen=True, slots=True)
class Web:
    """All that the web server serves; `takers` take small requests without the application."""

    app: ASGIApp
    takers: Mapping[bytes, Take]


def make_web(config: Config, engine: Engine, wake: Wake, clock: Clock, streams: Streams) -> Web:
    """Return all that the web server serves; `wake` starts workers for deliveries."""
    bridge = Bridge(make_app(config, engine, clock), threads=THREADS, follow=streams.serve)
    routes, takers = [], {}
    if config.webhooks:
        commits = GroupCommit(engine, wake, Keeper(config.home, clock).take)
        counts = RefusalCounts(open_records(config, clock))
        receiver = WebhookReceiver(commits, config.webhook_secret, clock, counts)
        routes.append(Route(WEBHOOK_PATH, receiver, methods=["POST"]))
        takers[WEBHOOK_PATH.encode()] = receiver.take
    if config.public_url:
        routes.append(Route(mcp_door.PATH, mcp_door.McpDoor(bridge, config.public_url)))
    app = Router(routes, redirect_slashes=False, default=bridge, max_body_size=MAX_BYTES)
    return Web(app, takers)


class _Rule(Rule):
    """A rule whose builder of addresses is compiled when somebody builds one; here nobody does.

    Compiling them takes four fifths of the time in which an application is made.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = cache(partial(super()._compile_builder, append_unknown))
        return lambda rule, **values: compiled()(rule, **values)


def make_app(config: Config, engine: Engine, clock: Clock) -> Flask:
    """Return Flask's application: health check, metrics, and the pages where they have an address."""
    app = Flask(__name__, static_folder=None, template_folder=None)  # none of the current folder
    app.url_rule_class = _Rule
    app.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    app.url_map.merge_slashes = False  # it would redirect, by a page of HTML, programs too
    if config.public_url:
        app.register_blueprint(pages(config, engine, clock))

    @app.get("/healthz")
    def health() -> ResponseReturnValue:
        with event_store.reading(engine) as db:
            return jsonify(ok=True, events=event_store.last_seq(db))

    app.add_url_rule(METRICS_PATH, "metrics", Metrics(config, engine, open_records(config, clock)).answer)
    return app
