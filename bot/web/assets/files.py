"""What pages load besides their text: style, scripts, icons, each under an address that names its content."""

import hashlib
import re
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path
from zipfile import ZipFile

from flask import Blueprint, Response, request

FOLDER = Path(__file__).parent
TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
PATH = "/assets/"
# Each named after what it is at lucide.dev, whose package has it (ISC licence).
ICONS = """
inbox kanban play bell key-round heart-pulse server search circle-x circle-check circle-dashed circle-dot
eye git-pull-request git-pull-request-arrow git-merge git-branch git-commit-horizontal octagon-alert
pencil check x user bot file-diff file-text paperclip terminal message-square message-circle-question-mark
reply list-checks plus external-link tag shield-check arrow-right pause circle-stop download settings flag
coins wrench command link undo-2 activity folder
"""
_OPENING = re.compile(r"<svg[^>]*>")


def _sprite() -> bytes:
    """Return all icons in one file, each as a symbol of its name."""
    symbols = []
    # The package's own function opens its archive for each icon: half a second for these.
    with resources.files("lucide").joinpath("lucide.zip").open("rb") as packed, ZipFile(packed) as archive:
        for name in ICONS.split():
            drawn = " ".join(archive.read(f"{name}.svg").decode().split())
            symbol = _OPENING.sub(f'<symbol id="{name}" viewBox="0 0 24 24">', drawn, count=1)
            symbols.append(symbol.replace("</svg>", "</symbol>"))
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>'.encode()


@cache
def files() -> Mapping[str, bytes]:
    """Return the content of each file that pages load, by its name."""
    found = {path.name: path.read_bytes() for path in FOLDER.iterdir() if path.suffix in TYPES}
    return {**found, "icons.svg": _sprite()}


@cache
def asset_address(name: str) -> str:
    """Return the address of a file, which changes with its content: a browser asks once for each."""
    return f"{PATH}{hashlib.sha256(files()[name]).hexdigest()[:12]}/{name}"


def assets() -> Blueprint:
    """Return the blueprint with the files, which are for everybody."""
    blueprint = Blueprint("assets", __name__)
    for name in files():
        for path in (asset_address(name), *(("/favicon.ico",) if name == "favicon.svg" else ())):
            blueprint.get(path, endpoint=path.replace(".", "-"))(partial(_send, name))
    # Rows are made outside of requests, too, where only globals are seen.
    blueprint.record_once(lambda setup: setup.app.jinja_env.globals.update(asset=asset_address))
    return blueprint


def _send(name: str) -> Response:
    answer = Response(files()[name], mimetype=TYPES[Path(name).suffix])
    fixed = request.path.startswith(PATH)
    answer.headers["Cache-Control"] = f"public, {'max-age=31536000, immutable' if fixed else 'max-age=3600'}"
    return answer
