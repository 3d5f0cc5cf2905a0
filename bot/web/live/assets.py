"""What live pages are made of: the folder's templates, the script, and the policy under which it runs."""

import secrets
from collections.abc import Mapping
from pathlib import Path

from flask import Blueprint, Response, send_file

SCRIPT = Path(__file__).with_name("live.js")


def assets() -> Blueprint:
    """Return the blueprint with the templates, and with the script, which is for everybody."""
    blueprint = Blueprint("live", __name__, template_folder=".")

    @blueprint.get("/live/live.js")
    def script() -> Response:
        answer = send_file(SCRIPT, mimetype="text/javascript", conditional=True)
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
