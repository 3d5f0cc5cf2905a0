"""What live pages are made of: the folder's templates, the script, and the policy under which it runs."""

import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from flask import Blueprint, Response, send_file

SCRIPTS = {name: Path(__file__).with_name(name) for name in ("live.js", "cards.js")}
AFTER = re.compile(r"[0-9]{1,18}")  # the number of an event in a stream's address


def assets() -> Blueprint:
    """Return the blueprint with the templates, and with the scripts, which are for everybody."""
    blueprint = Blueprint("live", __name__, template_folder=".")

    @blueprint.get("/live/<any('live.js', 'cards.js'):name>")
    def script(name: str) -> Response:
        answer = send_file(SCRIPTS[name], mimetype="text/javascript", conditional=True)
        answer.headers["Cache-Control"] = (
            "no-cache"  # asked for again: it belongs to the pages of one version
        )
        return answer

    return blueprint


def nonce() -> str:
    """Return the word that the tag of the script names; text from outside cannot know it."""
    return secrets.token_urlsafe(16)


def policy(headers: Mapping[str, str], word: str) -> str:
    """Return a page's content security policy that lets one script run, and follow streams from here."""
    return f"{headers['Content-Security-Policy']}; script-src 'nonce-{word}'; connect-src 'self'"
