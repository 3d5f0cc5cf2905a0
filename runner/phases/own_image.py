"""The image of a repository's devcontainer.json, made before a run opens any place."""

from dataclasses import replace
from pathlib import Path

from ledger.events.run import Progressed
from runner import workspaces
from runner.checks.places import tenancy
from runner.errors import GitError, ImageBuildError
from runner.git.mirror import Mirror
from runner.run.log import RunLog
from runner.run.run_spec import ImageRecipe, RecipeFiles, Remote, RunSpec


def with_own_image(spec: RunSpec, log: RunLog, remote: Remote) -> RunSpec:
    """Return `spec` with the image of its recipe, which agent and gate have then; without one as it is.

    The files are those of the default branch's commit that the recipe was read at: no agent was there.
    Raises ImageBuildError, and the errors of the mirror and of the engine.
    """
    recipe = spec.recipe
    if recipe is None:
        return spec
    mirror = Mirror(spec.paths.mirrors, spec.repository, remote, log.beat_or_stop)
    mirror.fetch_heads(spec.branch, spec.base_branch)
    files = _files(mirror, spec.base, recipe)
    backend = workspaces.load(spec.workspace)

    def say(text: str) -> None:
        log.append(Progressed(spec.run_id, text))

    tenant = tenancy(spec)
    image = backend.make_image(spec.paths, tenant, recipe, files, beat=log.beat_or_stop, say=say)
    return replace(spec, image=image)


def _files(mirror: Mirror, commit: str, recipe: ImageRecipe) -> RecipeFiles:
    if recipe.image:
        return RecipeFiles()
    folder = "" if recipe.context == "." else f"{recipe.context}/"  # a file or a link is no context
    try:
        tree = mirror.query("rev-parse", "--verify", "--end-of-options", f"{commit}:{folder}").strip()
        dockerfile = mirror.query("cat-file", "blob", f"{commit}:{recipe.dockerfile}")
    except GitError as error:
        why = f"`{recipe.dockerfile}` or its context `{recipe.context}` is not on the default branch"
        raise ImageBuildError(recipe.path, why) from error

    def archive(target: Path) -> None:
        mirror.query("archive", "--format=tar", f"--output={target}", tree)

    return RecipeFiles(tree, dockerfile, archive)
