"""Reads `devcontainer.json`: what of it makes an image and its set-up, and which keys are left out."""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import Any

from rules.errors import PolicyError
from rules.policy.projects.files import MAX_CHARS, strip_comments
from rules.text import code

FOLDER = ".devcontainer"
DEFAULTS = (f"{FOLDER}/devcontainer.json", ".devcontainer.json")  # in this order, as containers.dev says
_NAMED = re.compile(rf"{re.escape(FOLDER)}/[^/]+/devcontainer\.json")
HONOURED = (
    *("image", "build.dockerfile", "build.context", "build.args", "build.target"),
    *("containerEnv", "remoteEnv", "onCreateCommand", "updateContentCommand", "postCreateCommand"),
)
_SILENT = ("name", "$schema", "build", "dockerFile", "context")  # say nothing, or are read below
_LIFECYCLE = HONOURED[-3:]  # in the order in which they run
_ENVIRONMENT = HONOURED[5:7]  # the later one wins
_OBJECTS = ("build", "features", *_ENVIRONMENT)
_WORKSPACE = "/workspace/repo"
_MAX_LINES, _MAX_CHARS, _MAX_VARIABLES = 20, 2000, 100
_UNREADABLE = "${unreadable}"  # a variable that nothing replaces
_NAME = re.compile(r"[!-~]{1,300}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_REPLACED = re.compile(r"\$\{(?:containerWorkspaceFolder|localWorkspaceFolder)\}")
_OTHER = re.compile(r"\$\{[A-Za-z]+(?::[^}]*)?\}")
# Arguments that say how a build reaches the network: what one repository fetches by them is kept for all.
# Source: docs.docker.com/reference/dockerfile, "Predefined ARGs" and "Impact on build caching".
_PROXIES = re.compile(r"(?i)(https?|ftp|all|no)_proxy")
_OF_CONTAINER = re.compile(r"\$\{containerEnv:([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Devcontainer:
    """What Cardinal makes of the file at `path`: an image from `image` or from `dockerfile`, not both.

    `dockerfile` and `context` are paths of the repository. `${NAME}` in a value of `environment` is the
    image's. `left_out` names each key of the file that has no effect.
    """

    path: str
    image: str = ""
    dockerfile: str = ""
    context: str = ""
    target: str = ""
    args: tuple[tuple[str, str], ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    setup: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def find_devcontainers(names: Iterable[str]) -> tuple[str, ...]:
    """Return the devcontainer files among these paths; the first one counts, if it is a default or alone."""
    there = frozenset(names)
    named = sorted(name for name in there if _NAMED.fullmatch(name))
    return (*(name for name in DEFAULTS if name in there), *named)


def choose_devcontainer(names: Iterable[str]) -> str:
    """Return the one that counts; empty without any, and where several have equal rights."""
    found = find_devcontainers(names)
    return found[0] if found and (found[0] in DEFAULTS or len(found) == 1) else ""


def parse_devcontainer(path: str, text: str) -> Devcontainer:
    """Return what the file says. Raises PolicyError where no image can be made of it."""
    written = _read(path, text)
    left_out = [key for key in written if key not in (*HONOURED, *_SILENT, "features")]
    left_out += [f"features.{name}" for name in _mapping(written.get("features"))]
    build = _mapping(written.get("build"))
    left_out += [f"build.{key}" for key in build if f"build.{key}" not in HONOURED]
    left_out += [key for key in _OBJECTS if not isinstance(written.get(key, {}), dict)]
    if not isinstance(build.get("args", {}), dict):
        left_out.append("build.args")
    environment, no_value = _environment(written)
    setup, no_line = _setup(written)
    dockerfile = build.get("dockerfile") or written.get("dockerFile") or ""
    image = written.get("image") or ""
    if not isinstance(image, str) or not isinstance(dockerfile, str) or bool(image) == bool(dockerfile):
        compose = ", and Cardinal runs no Compose files" if "dockerComposeFile" in written else ""
        raise PolicyError(
            (f"{path} must have either {code('image')} or {code('build.dockerfile')}{compose}",)
        )
    context = build.get("context") or written.get("context") or "."
    target = build.get("target") or ""
    args = [
        (name, value)
        for name, value in _mapping(build.get("args")).items()
        if _is_plain(name, value) and not _PROXIES.fullmatch(name)
    ]
    no_value += [f"build.args.{name}" for name in _mapping(build.get("args")) if name not in dict(args)]
    _require_name(path, "image", image, "an image")
    _require_name(path, "build.target", target, "a stage")
    return Devcontainer(
        path=path,
        image=image,
        dockerfile=_inside(path, dockerfile) if dockerfile else "",
        context=_inside(path, str(context)) if dockerfile else "",
        target=target,
        args=tuple(args),
        environment=environment,
        setup=setup,
        left_out=tuple(dict.fromkeys((*left_out, *no_value, *no_line))),
    )


def describe_devcontainer(found: Devcontainer) -> str:
    """Return the sentence for people: what counts of the file, and each key that does not."""
    source = f"the image {found.image}" if found.image else found.dockerfile
    parts = [f"{found.path}: its image is made from {source}"]
    if found.environment:
        parts.append(f"with {', '.join(name for name, _ in found.environment)}")
    if found.setup:
        parts.append(f"set-up begins with {len(found.setup)} of its lines")
    left = f" Left out: {', '.join(found.left_out)}." if found.left_out else ""
    return f"{', '.join(parts)}.{left}"


def _read(path: str, text: str) -> Mapping[str, Any]:
    try:
        written = json.loads(strip_comments(text[:MAX_CHARS]))
    except (ValueError, RecursionError) as error:
        raise PolicyError((f"{path} is not JSON with comments: {error}",)) from error
    if not isinstance(written, dict):
        raise PolicyError((f"{path} must be a JSON object",))
    return written


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _require_name(path: str, key: str, text: object, what: str) -> None:
    """Raise PolicyError unless it is one word in which nothing is replaced, or empty."""
    if text != "" and not (isinstance(text, str) and _NAME.fullmatch(text) and not _OTHER.search(text)):
        raise PolicyError((f"{path}: {code(key)} must be the name of {what}",))


def _inside(path: str, name: str) -> str:
    """Return the path in the repository of a name that is relative to the file's folder."""
    whole = normpath(join(dirname(path), name))
    if whole.startswith(("/", "../")) or whole == ".." or not whole.isprintable():
        raise PolicyError((f"{path}: {code(name)} leads out of the repository",))
    return whole


def _is_plain(name: str, value: object) -> bool:
    """Tell whether it is one line that needs nothing of the machine where an editor runs."""
    if not _VARIABLE.fullmatch(name) or name.startswith("CARDINAL_") or not isinstance(value, str):
        return False
    return value.isprintable() and len(value) <= _MAX_CHARS and not _OTHER.search(value)


def _environment(written: Mapping[str, Any]) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    taken: dict[str, str] = {}
    left_out = []
    for key in _ENVIRONMENT:
        for name, value in _mapping(written.get(key)).items():
            text = _REPLACED.sub(_WORKSPACE, value) if isinstance(value, str) else value
            if _is_plain(name, _OF_CONTAINER.sub("", text) if isinstance(text, str) else text):
                taken[name] = text
            else:
                left_out.append(f"{key}.{name}")
    left_out += list(taken)[_MAX_VARIABLES:]
    return tuple(taken.items())[:_MAX_VARIABLES], left_out


def _setup(written: Mapping[str, Any]) -> tuple[tuple[str, ...], list[str]]:
    lines: list[str] = []
    left_out: list[str] = []
    for key in _LIFECYCLE:
        for place, line in _lines(key, written.get(key, "")):
            text = _REPLACED.sub(_WORKSPACE, line)
            if _OTHER.search(text) or len(text) > _MAX_CHARS or len(lines) == _MAX_LINES:
                left_out.append(place)
            elif text:
                lines.append(text)
    return tuple(lines), left_out


def _lines(key: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield the shell lines of a command, each with its place; an object has several."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        yield key, shlex.join(value)
    elif isinstance(value, dict):
        for name, part in value.items():
            yield from _lines(f"{key}.{name}", part if not isinstance(part, dict) else None)
    elif value != []:
        yield key, _UNREADABLE
