"""The web application: the webhook, a health check, and the pages where they have an address."""

from flask import Flask, jsonify
from flask.typing import ResponseReturnValue
from sqlalchemy import Engine

from bot.system.clock import Clock
from bot.system.config import Config
from bot.web.capture import Keeper
from bot.web.group_commit import GroupCommit, Wake
from bot.web.pages import pages
from bot.web.webhook import MAX_BYTES, make_door
from ledger.log import event_store


def make_app(config: Config, engine: Engine, wake: Wake, clock: Clock) -> Flask:
    """Return the application; `wake` starts workers for stored deliveries."""
    app = Flask(__name__, static_folder=None, template_folder=None)  # none of the current folder
    app.config["MAX_CONTENT_LENGTH"] = MAX_BYTES
    if config.webhooks:  # else nobody is expected to call it
        commits = GroupCommit(engine, wake, Keeper(config.home, clock).take)
        app.register_blueprint(make_door(commits, config.webhook_secret, clock))

    if config.public_url:
        app.register_blueprint(pages(config, engine, clock))

    @app.get("/healthz")
    def health() -> ResponseReturnValue:
        with event_store.reading(engine) as db:
            return jsonify(ok=True, events=event_store.last_seq(db))

    return app
