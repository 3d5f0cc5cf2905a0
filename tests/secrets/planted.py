"""Words that look like secrets of every kind that is known, and where a whole run leaves bytes."""

import io
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import docker
from runner.workspaces.backends.docker import home_of
from runner.workspaces.docker.engine import engine_address
from tests.runner.world import GIT_ENVIRONMENT

# Put together here, so that no file of the repository looks as if it held one.
_BODY = "MIIEpAIBAAKCAQEA" + "q7" * 24
PLANTED = {
    "a person's token": "ghp" + "_" + "Ab1" * 12,
    "an installation's token": "ghs" + "_" + "Cd2" * 12,
    "a fine-grained token": "github" + "_pat_" + "Ef3" * 10,
    "a provider's key": "sk" + "-ant-" + "Gh4" * 12,
    "a cloud's key": "AKIA" + "QRSTUVWXYZ234567",
    "a chat's token": "xoxb" + "-" + "1234567890-abcdef",
    "a web token": ".".join(
        ("eyJ" + "hbGciOiJIUzI1NiJ9", "eyJ" + "zdWIiOiIxMjM0NTY3", "c2lnbmF0dXJlLWhlcmU")
    ),
    "a password in an address": "hunter" + "2secret",
}
_SHOWN = {"a password in an address": "https://deploy:{}@example.org/x"}
ALL = " and ".join(_SHOWN.get(name, "{}").format(text) for name, text in PLANTED.items())
KEY_FILE = f"-----BEGIN RSA PRIVATE {'KEY'}-----\n{_BODY}\n-----END RSA PRIVATE {'KEY'}-----"
TRACES = {**PLANTED, "a private key": _BODY}


def found_in(texts: Iterable[tuple[str, bytes]], secrets: dict[str, str]) -> dict[str, list[str]]:
    """Return for each secret that is somewhere the places where it is."""
    wanted = {name: text.encode() for name, text in secrets.items()}
    found: dict[str, list[str]] = {}
    for place, raw in texts:
        for name, secret in wanted.items():
            if secret in raw:
                found.setdefault(name, []).append(place)
    return found


def files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each plain file below `root`, and for git's packed objects what they hold."""
    for path in sorted(root.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(root)), path.read_bytes()
        if path.name == "objects" and path.is_dir():
            yield str(path.relative_to(root)), _objects(path.parent)


def images(workspaces: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what the kept images of set-ups hold beyond their base."""
    api = docker.APIClient(base_url=engine_address(), timeout=60)
    try:
        label = f"cardinal.home={home_of(workspaces)}"
        for image in api.images(filters={"label": [label]}):
            yield (
                image["Id"],
                repr(api.inspect_image(image["Id"])).encode() + repr(api.history(image["Id"])).encode(),
            )
            made = api.create_container(image["Id"], command=["true"])
            try:
                raw = b"".join(api.get_archive(made["Id"], "/seed")[0])
            finally:
                api.remove_container(made["Id"])
            yield from _unpacked(image["Id"], raw)
    finally:
        api.close()


def remove_images(workspaces: Path) -> None:
    """Remove what the run kept on the engine."""
    api = docker.APIClient(base_url=engine_address(), timeout=60)
    for image in api.images(filters={"label": [f"cardinal.home={home_of(workspaces)}"]}):
        api.remove_image(image["Id"], force=True)
    api.close()


def _unpacked(name: str, raw: bytes) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(raw)) as packed:
        for entry in packed:
            opened = packed.extractfile(entry)
            if opened is not None:
                yield f"{name}:{entry.name}", opened.read()


def _objects(repository: Path) -> bytes:
    args = (
        "git",
        "-c",
        "safe.directory=*",
        f"--git-dir={repository}",
        "cat-file",
        "--batch-all-objects",
        "--batch",
    )
    environment = {**GIT_ENVIRONMENT, "GIT_CONFIG_GLOBAL": "/dev/null"}
    return subprocess.run(args, env=environment, capture_output=True, timeout=60, check=False).stdout
