"""What containers need that this machine does not have yet, said before anything is fetched."""

import subprocess
from dataclasses import dataclass

from bot.admin.clone.own_git import CloneError
from bot.admin.images import context
from rules.policy.images import IMAGE
from runner.errors import RunnerError
from runner.workspaces.docker import engine as docker

_LOOK_S = 60
_INSTALLED = "about 2 minutes and 500 MB"  # docker.io with all it needs, on Debian 12

_BUILD = "Agents work in the image {0}. If it is not there yet, it is built first: about {1}."


@dataclass(frozen=True, slots=True)
class ContainerNeeds:
    """Debian packages of an engine that is not there, and a sentence on the image that is not there."""

    packages: tuple[str, ...]
    image: str

    def sentences(self) -> tuple[str, ...]:
        """Return for a person what will be fetched, with minutes and sizes."""
        listed = f"No Docker engine answers. Installing one takes {_INSTALLED}: {' '.join(self.packages)}."
        return tuple(filter(None, (listed if self.packages else "", self.image)))

    @property
    def command(self) -> str:
        """The command that installs the packages."""
        return f"apt-get install --no-install-recommends ca-certificates {' '.join(self.packages)}"


def container_needs() -> ContainerNeeds:
    """Return what is missing. Raises CloneError where there is no engine, and none can be installed here."""
    missing = _run("engine", "--missing")
    image = "" if _has_image() else _BUILD.format(IMAGE, _run("images", "--expected", "agent"))
    return ContainerNeeds(tuple(missing.split()), image)


def _has_image() -> bool:
    """Tell whether the engine of this machine has the image; one that starts later may have it as well."""
    try:
        docker.Engine(docker.engine_address()).image(IMAGE)
    except RunnerError:
        return False
    return True


def _run(script: str, *args: str) -> str:
    command = ("bash", str(context.script(script)), *args)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_LOOK_S, check=False)
    if ran.returncode != 0:
        raise CloneError(ran.stderr.strip().removeprefix("scripts/engine: "))
    return ran.stdout.strip()
