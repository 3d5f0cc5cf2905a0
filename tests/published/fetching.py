"""Fetches the packages in which GitHub publishes its API, and axe-core: exactly the pinned ones, once."""

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).with_name("pins.json")
FETCH_S = 300
MISSING = "what scripts/published fetches is not here: run it (it needs npm: scripts/services)"
# Read once, before a test changes the environment.
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cardinal" / "published"


class NotFetchedError(Exception):
    """A package is not here; the message says which one and why."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One npm package in one version, the digest of its archive, and the one file that is kept of it."""

    package: str
    integrity: str
    file: str
    kept: str

    @property
    def path(self) -> Path:
        """Where the file is kept: another version has another place."""
        digest = hashlib.sha256(self.integrity.encode()).hexdigest()[:16]
        return CACHE / digest / self.kept


def pins() -> list[Pin]:
    """Return every pinned package."""
    found = json.loads(PINS.read_text(encoding="utf-8"))
    return [Pin(package, **rest) for package, rest in found.items()]


def here() -> bool:
    """Tell whether all of them were fetched."""
    return all(pin.path.is_file() for pin in pins())


def read(kept: str) -> bytes:
    """Return the kept file of that name; raises NotFetchedError."""
    path = next(pin.path for pin in pins() if pin.kept == kept)
    if not path.is_file():
        raise NotFetchedError(MISSING)
    return path.read_bytes()


def fetch(pin: Pin) -> None:
    """Keep the file of a package; raises NotFetchedError when it is not exactly the pinned one."""
    command = ["npm", "pack", "--silent", "--ignore-scripts", pin.package]
    with tempfile.TemporaryDirectory(prefix="cardinal-published-") as folder:
        try:
            subprocess.run(
                command,
                cwd=folder,
                check=True,
                timeout=FETCH_S,
                stdin=subprocess.DEVNULL,
                capture_output=True,
            )
        except FileNotFoundError as error:
            raise NotFetchedError("npm is missing: run scripts/services, or install npm") from error
        except subprocess.CalledProcessError as error:
            said = error.stderr.decode(errors="replace")[-500:]
            raise NotFetchedError(f"npm could not fetch {pin.package}: {said}") from error
        except subprocess.TimeoutExpired as error:
            raise NotFetchedError(f"npm did not fetch {pin.package} within {FETCH_S} s: try again") from error
        packed = b"".join(path.read_bytes() for path in Path(folder).glob("*.tgz"))
    if pin.integrity != "sha512-" + base64.b64encode(hashlib.sha512(packed).digest()).decode():
        raise NotFetchedError(
            f"{pin.package} is not what {PINS.name} pins: the package or the pin was changed"
        )
    _keep(packed, pin)


def _keep(packed: bytes, pin: Pin) -> None:
    """Put the file in its place, whole or not at all."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        content = archive.extractfile(pin.file)
        assert content is not None, f"{pin.file} of {pin.package} is no file"
        pin.path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=pin.path.parent) as folder:
            part = Path(folder) / "part"
            part.write_bytes(content.read())
            part.replace(pin.path)


def main() -> int:
    """Fetch what is missing; return the exit status, which only in CI is a failure."""
    try:
        for pin in pins():
            if not pin.path.is_file():
                print(f"scripts/published: fetching {pin.package}")
                fetch(pin)
    except (NotFetchedError, OSError) as error:
        print(f"scripts/published: {error}", file=sys.stderr)
        return 1 if os.environ.get("CI") else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
