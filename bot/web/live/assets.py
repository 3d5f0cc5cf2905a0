"""Parts of live pages: the folder's templates, the scripts, and the policy under which they run."""

import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from flask import Blueprint, Response, send_file

FOLDER = Path(__file__).parent
SCRIPTS = frozenset(path.name for path in FOLDER.glob("*.js"))


def assets() -> Blueprint:
    """Return the blueprint with the templates, and with the scripts, which are for everybody."""
    blueprint = Blueprint("live", __name__, template_folder=".")

    def script(name: str) -> Response:
        answer = send_file(FOLDER / name, mimetype="text/javascript", conditional=True)
        # Asked for again: it belongs to the pages of one version.
        answer.headers["Cache-Control"] = "no-cache"
        return answer

    for name in SCRIPTS:
        blueprint.get(f"/live/{name}", endpoint=name.replace(".", "-"))(partial(script, name))

    return blueprint


def nonce() -> str:
    """Return the word that the tags of the scripts name; text from outside cannot know it."""
    return secrets.token_urlsafe(16)


def policy(headers: Mapping[str, str], word: str) -> str:
    """Return a page's content security policy by which scripts with this word run and follow streams."""
    return f"{headers['Content-Security-Policy']}; script-src 'nonce-{word}'; connect-src 'self'"
