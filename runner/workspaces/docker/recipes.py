"""Images made from a repository's devcontainer.json: built without any key, kept by their content."""

import hashlib
import io
import json
import re
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from runner.errors import CommandTimeoutError, ImageBuildError
from runner.exec.child import Child, finish
from runner.run.run_spec import ImageRecipe, RecipeFiles
from runner.text.plain import redact
from runner.workspaces.contract import Leftover, Tenancy
from runner.workspaces.docker import seeds
from runner.workspaces.docker.container import cli_environment, working_cli
from runner.workspaces.docker.engine import Engine, Image
from runner.workspaces.docker.errors import ForeignSetUpError, ImageMissingError

REPOSITORY = "cardinal/devcontainer"
LABEL = "cardinal.devcontainer"  # the Cardinal that made it, as in seeds.HOME_LABEL
BUILD_S = 3600.0
MAX_BYTES = 20_000_000_000
CONTEXT_BYTES = 1_000_000_000
_VERSION = 2  # of what is put on top
_FILE_MB, _OUTPUT_BYTES, _CPU_PERIOD = 4000, 50_000_000, 100_000
_LAYER = re.compile(r"^ ---> ([0-9a-f]{12,64})$")
_TAIL = 800
# What commands need besides the agents' programs: see docs/sandbox.md.
_NEEDED = "git tar find grep sed sort comm head setsid socat python3 bash"
_INSTALL = (
    f"for name in {_NEEDED}; do command -v $name >/dev/null || lacks=1; done;"
    ' [ -z "${lacks:-}" ] || { apt-get update && apt-get install -y --no-install-recommends'
    " git tar findutils grep sed coreutils util-linux socat python3 bash && rm -rf /var/lib/apt/lists/*; }"
)
_OF_IMAGE = re.compile(r"\$\{containerEnv:([A-Za-z_][A-Za-z0-9_]*)\}")


class Recipes:
    """Builds such images for one repository, on one engine."""

    def __init__(self, engine: Engine, home: str, tenancy: Tenancy, agents: Image, runtime: str) -> None:
        """`agents` is the image whose programs every other one gets. An empty `runtime` is the engine's."""
        self._engine, self._home, self._tenancy, self._agents = engine, home, tenancy, agents
        self._runtime = runtime
        self._until = time.monotonic() + BUILD_S

    def make(
        self, recipe: ImageRecipe, files: RecipeFiles, beat: Callable[[], None], say: Callable[[str], None]
    ) -> str:
        """Return the name of the image, built now unless it is there. Raises ImageBuildError."""
        name = f"{REPOSITORY}:{self._key(recipe, files)}"
        if self._is_ours(name):
            return name
        self._require_runtime(recipe)
        say(f"Building the image of {recipe.path}, which is kept until the files that it is made of change.")
        base = recipe.image
        with tempfile.TemporaryDirectory(prefix="cardinal-recipe-") as scratch:
            context = Path(scratch, "context.tar")
            if not base:
                base = f"{name}-base"
                files.archive(context)
                if context.stat().st_size > CONTEXT_BYTES:
                    most_mb = CONTEXT_BYTES // 1_000_000
                    raise ImageBuildError(recipe.path, f"its `context` has more than {most_mb} MB: narrow it")
                inside = _add(context, files.dockerfile)
                target = (f"--target={recipe.target}",) if recipe.target else ()
                args = (f"--build-arg={key}={value}" for key, value in recipe.args)
                self._build(recipe, context, beat, f"--tag={base}", f"--file={inside}", *target, *args)
            try:
                top = self._on_top(scratch, recipe, base, has_agents=self._begins_with_agents(base))
                self._build(recipe, top, beat, f"--tag={name}")
            finally:
                if not recipe.image:
                    self._engine.remove_image(base)  # its layers stay, under the other name
        return name

    def _key(self, recipe: ImageRecipe, files: RecipeFiles) -> str:
        """Return the digest of everything that decides the image, but for what its lines fetch."""
        made_of = [_VERSION, self._home, self._tenancy.repository_id, self._agents.image_id]
        made_of += [
            recipe.image,
            files.tree,
            files.dockerfile,
            recipe.target,
            recipe.args,
            recipe.environment,
        ]
        return hashlib.sha256(json.dumps(made_of).encode()).hexdigest()[:32]

    def _require_runtime(self, recipe: ImageRecipe) -> None:
        """Raise ImageBuildError where a build's commands would not run under the operator's runtime: a build
        can name none.
        """
        own = self._engine.default_runtime() if self._runtime else ""
        if own != self._runtime:
            why = f"the engine would build it under `{own}`, but CARDINAL_RUNTIME is `{self._runtime}`"
            step = "set `default-runtime` in the engine's daemon.json to that"
            raise ImageBuildError(recipe.path, why, step)

    def _is_ours(self, name: str) -> bool:
        try:
            return self._engine.image(name).labels.get(LABEL) == self._home
        except ImageMissingError:
            return False

    def _begins_with_agents(self, base: str) -> bool:
        """Tell whether an image is made on top of the agents'.

        Raises ForeignSetUpError for one that begins with what was made for another repository.
        """
        try:
            image = self._engine.image_meant(base)
        except ImageMissingError:
            return False  # the build fetches it, and no engine fetches what was made here
        labels, own = image.labels, self._agents.layers
        made_here = labels.keys() & {seeds.HOME_LABEL, LABEL}
        if made_here and labels.get(seeds.REPOSITORY_LABEL) != self._tenancy.repository_id:
            raise ForeignSetUpError(base)
        return image.layers[: len(own)] == own

    def _on_top(self, scratch: str, recipe: ImageRecipe, base: str, *, has_agents: bool) -> Path:
        """Return a context with the agents' programs on top of `base`, and the file's environment."""
        programs = (f"COPY --from={self._agents.image_id} /usr/local/ /usr/local/", f"RUN {_INSTALL}")
        lines = [
            f"FROM {base}",
            "USER root",
            *(() if has_agents else programs),
            *(f'ENV {name}="{_quote(value)}"' for name, value in recipe.environment),
            f'LABEL {LABEL}={self._home} {seeds.REPOSITORY_LABEL}="{_quote(self._tenancy.repository_id)}"',
        ]
        context = Path(scratch, "top.tar")
        with tarfile.open(context, "w") as archive:
            _put(archive, "Dockerfile", "\n".join((*lines, "")))
        return context

    def _build(self, recipe: ImageRecipe, context: Path, beat: Callable[[], None], *words: str) -> None:
        """Run one build: with the engine's network, within the run's memory and processors."""
        share = self._tenancy.resources
        limits = (
            *("--force-rm", f"--memory={share.memory_mb}m", f"--memory-swap={share.memory_mb}m"),
            *(f"--cpu-period={_CPU_PERIOD}", f"--cpu-quota={int(share.cpus * _CPU_PERIOD)}"),
            f"--ulimit=fsize={_FILE_MB * 1_000_000}",
        )
        engine = ("-H", self._engine.address)
        client = working_cli(self._engine.address)
        child = Child(
            ("/bin/sh", "-c", 'exec "$0" "$@" <"$CONTEXT"', client, *engine, "build", *limits, *words, "-"),
            # The old builder: it is in every engine. No settings and no credentials of a person.
            env=cli_environment() | {"DOCKER_BUILDKIT": "0", "CONTEXT": str(context)},
            cwd=Path("/"),
            cap_bytes=_OUTPUT_BYTES,
        )
        try:
            ran = finish(
                child,
                what="the build",
                timeout_s=max(1.0, self._until - time.monotonic()),
                beat=beat,
                line=partial(self._weigh, recipe),
            )
        except CommandTimeoutError as error:
            why = f"it took longer than {BUILD_S / 60:.0f} minutes"
            raise ImageBuildError(recipe.path, why) from error
        if ran.exit_code != 0:
            step = max(0, ran.tail.rfind("\nStep "))  # the one that failed
            raise ImageBuildError(recipe.path, redact(ran.tail[step:]).strip()[-_TAIL:])

    def _weigh(self, recipe: ImageRecipe, line: str) -> None:
        """Stop the build after a step that made its image too large."""
        layer = _LAYER.match(line)
        if layer and self._engine.image_bytes(layer[1]) > MAX_BYTES:
            what = f"it is larger than {MAX_BYTES // 1_000_000_000} GB"
            raise ImageBuildError(recipe.path, what)


def old_images(engine: Engine, home: str, most: int = seeds.KEPT) -> Iterator[Leftover]:
    """Yield the images beyond the newest ones."""
    labelled = engine.images({LABEL: home})  # with results of set-up that were made on top of one
    names = [name for image in labelled for name in image.names if name.startswith(f"{REPOSITORY}:")]
    for name in names[most:]:
        yield Leftover(f"{name}, an old image of a devcontainer.json", partial(engine.remove_image, name))


def _quote(value: str) -> str:
    """Return the value inside the double quotes of a Dockerfile: of variables only the image's are put in."""
    parts = _OF_IMAGE.split(value)
    plain = (re.sub(r'([\\"$])', r"\\\1", part) for part in parts[::2])
    names = [f"${{{name}}}" for name in parts[1::2]]
    return "".join(text + name for text, name in zip(plain, [*names, ""], strict=True))


def _add(context: Path, dockerfile: str) -> str:
    """Add the Dockerfile, which may lie outside, under a name that is free; return the name."""
    name = f".cardinal-{hashlib.sha256(dockerfile.encode()).hexdigest()[:16]}.Dockerfile"
    with tarfile.open(context, "a") as archive:
        _put(archive, name, dockerfile)
    return name


def _put(archive: tarfile.TarFile, name: str, text: str) -> None:
    entry = tarfile.TarInfo(name)
    entry.size = len(text.encode())
    archive.addfile(entry, io.BytesIO(text.encode()))
