"""The web application: the webhook, a health check, and the pages where they have an address."""

from collections.abc import Callable
from functools import cache, partial

from flask import Flask, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import Engine
from werkzeug.routing import Rule

from bot.system.clock import Clock
from bot.system.config import Config
from bot.web.capture import Keeper
from bot.web.group_commit import GroupCommit, Wake
from bot.web.pages import pages
from bot.web.webhook import MAX_BYTES, Door
from ledger.log import event_store


def make_door(config: Config, engine: Engine, wake: Wake, clock: Clock) -> Door | None:
    """Return the receiver of deliveries, which starts workers by `wake`; None where nobody sends any."""
    if not config.webhooks:
        return None
    commits = GroupCommit(engine, wake, Keeper(config.home, clock).take)
    return Door(commits, config.webhook_secret, clock)


class _Rule(Rule):
    """A rule whose builder of addresses is compiled when somebody builds one; here nobody does.

    Compiling them takes four fifths of the time in which an application is made.
    """

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled = cache(partial(super()._compile_builder, append_unknown))
        return lambda rule, **values: compiled()(rule, **values)


def make_app(config: Config, engine: Engine, wake: Wake, clock: Clock, *, door: Door | None = None) -> Flask:
    """Return the application; its webhook hands deliveries to `door`, or to one of its own with `wake`."""
    app = Flask(__name__, static_folder=None, template_folder=None)  # none of the current folder
    app.url_rule_class = _Rule
    app.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    app.url_map.merge_slashes = False  # it would redirect, by a page of HTML, programs too
    if (door := door or make_door(config, engine, wake, clock)) is not None:
        app.register_blueprint(door.blueprint())
    if config.public_url:
        app.register_blueprint(pages(config, engine, clock))

    @app.get("/healthz")
    def health() -> ResponseReturnValue:
        with event_store.reading(engine) as db:
            return jsonify(ok=True, events=event_store.last_seq(db))

    return app
