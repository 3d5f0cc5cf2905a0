"""Errors of a Docker engine, each with a person's next step."""

from runner.errors import RunnerError, SpawnError


class EngineTroubleError(RunnerError):
    """The base of engine errors before a command could do its work."""


class EngineError(EngineTroubleError):
    """The engine refused something for a reason without a class here."""

    def __init__(self, what: str, detail: str) -> None:
        self.what, self.detail = what, detail.strip()[-600:]
        super().__init__(f"Docker could not {what}: {self.detail}; ask `docker info` how it is, then retry")


class EngineAwayError(EngineTroubleError):
    """No engine answers, or it stopped answering."""

    def __init__(self, address: str, detail: str) -> None:
        self.address, self.detail = address, detail.strip()[-300:]
        super().__init__(
            f"the Docker engine at {address} does not answer ({self.detail}): start it, or point DOCKER_HOST"
            " to the one that runs, then retry"
        )


class EngineSlowError(EngineTroubleError):
    """The engine exceeded a timeout."""

    def __init__(self, what: str, limit_s: float) -> None:
        self.what, self.limit_s = what, limit_s
        super().__init__(
            f"Docker did not {what} within {limit_s:.0f} s: see what its machine is busy with, then retry"
        )


class ImageMissingError(EngineTroubleError):
    """The image does not exist here; Cardinal never pulls one."""

    def __init__(self, image: str) -> None:
        self.image = image
        _, begins, agent = image.partition("cardinal/agent-")
        build = f"cardinal agents --build {agent.partition(':')[0]}" if begins else "cardinal images"
        super().__init__(
            f"the image {image} is not on this machine: run `{build}` or `docker pull {image}`, then retry"
        )


class ForeignSetUpError(EngineTroubleError):
    """The image is the result of another repository's set-up, or of its devcontainer.json."""

    def __init__(self, image: str) -> None:
        self.image = image
        super().__init__(
            f"the image {image} was made here for another repository: build one for this repository, and name"
            " that in its policy or devcontainer.json; then retry"
        )


class DiskFullError(EngineTroubleError):
    """The engine's disk has no room."""

    def __init__(self, what: str, detail: str) -> None:
        self.what, self.detail = what, detail.strip()[-300:]
        super().__init__(
            f"Docker could not {what}, for its disk is full ({self.detail}): make room, for example with"
            " `docker system prune`, then retry"
        )


class UnseenFolderError(EngineTroubleError):
    """The engine has another view of the disk than Cardinal."""

    def __init__(self, detail: str) -> None:
        self.detail = detail.strip()[-300:]
        super().__init__(
            f"the Docker engine does not see Cardinal's folder ({self.detail}): both must have it under the"
            " same path, as docker/compose.yml does; then retry"
        )


class ContainerGoneError(RunnerError):
    """A container was removed by somebody else."""

    def __init__(self) -> None:
        super().__init__("its container was removed from outside: retry starts a new one")


class ContainerStartError(SpawnError):
    """The engine made the container and could not start it."""

    def __init__(self, detail: str) -> None:
        self.detail = detail.strip()[-600:]
        super().__init__(
            f"the container did not start: {self.detail}; look at the image and at `resources:` of the"
            " column, then retry"
        )


def error_of(what: str, detail: str) -> RunnerError:
    """Return the error for the engine's message when it could not do `what`."""
    lower = detail.lower()
    if "no space left on device" in lower or "disk quota exceeded" in lower:
        return DiskFullError(what, detail)
    if "bind source path does not exist" in lower:
        return UnseenFolderError(detail)
    return EngineError(what, detail)
