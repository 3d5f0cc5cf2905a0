"""The image of a devcontainer.json: made once, of the files of the default branch, with the agents in it."""

import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ledger.states import Ending
from runner.errors import ImageBuildError
from runner.run.run_spec import ImageRecipe, RecipeFiles
from runner.workspaces.backends.docker import home_of
from runner.workspaces.contract import Tenancy
from runner.workspaces.docker import recipes
from runner.workspaces.docker.engine import Engine, engine_address
from runner.workspaces.docker.errors import ForeignSetUpError
from runner.workspaces.docker.seeds import HOME_LABEL, REPOSITORY_LABEL
from tests.containers.engine import CARD, SMALL, Bench
from tests.containers.locked import need_image
from tests.runner.flows.test_story import EDIT, FINISH, PLAN
from tests.runner.world import World, checks, make_world

PATH = ".devcontainer/devcontainer.json"
DOCKERFILE = """FROM cardinal/agent:latest AS dev
ARG WORD=none
USER root
COPY tool /usr/bin/shop-tool
RUN chmod +x /usr/bin/shop-tool && echo $WORD >/etc/shop-word
FROM scratch
"""
ODD, WORD = 'a "b" $(id) \\ $HOME', "it's $(id)"
FILES = {
    ".devcontainer/Dockerfile": DOCKERFILE,
    "tool": "#!/bin/sh\ncat /etc/shop-word\n",
    "expected": f"{WORD}\n{ODD}\n",
}
CHECK = """{ shop-tool; printf '%s\\n' "$ODD"; } | cmp - expected"""
RECIPE = ImageRecipe(
    path=PATH,
    dockerfile=".devcontainer/Dockerfile",
    context=".",
    target="dev",
    args=(("WORD", WORD),),
    environment=(("ODD", ODD), ("PATH", "${containerEnv:PATH}:/opt/shop")),
)


@pytest.fixture
def world(bench: Bench, tmp_path: Path) -> Iterator[World]:
    need_image("cardinal/agent:latest")
    made = make_world(tmp_path, files=FILES)
    yield made
    for image in images(bench):
        bench.api.remove_image(image["Id"], force=True)


def test_agent_and_gate_run_in_it_and_the_next_run_builds_nothing(world: World, bench: Bench) -> None:
    world.scenario(plan=[PLAN], work=[{"run": f"{CHECK} && command -v claude"}, EDIT, FINISH])
    spec = world.spec(
        workspace="docker",
        recipe=RECIPE,
        base=world.head("main"),
        repository_id="R_1",
        validation=checks(full=[f"{CHECK} && case $PATH in *:/opt/shop) ;; *) exit 1 ;; esac"]),
    )
    world.run(spec)
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    (image,) = {check.image for check in world.of("CommandChecked")}
    (built,) = (it for it in images(bench) if it["RepoTags"][0].startswith(recipes.REPOSITORY))
    assert (built["Id"], len(built["RepoTags"])) == (image, 1)

    said: list[str] = []
    tenant = Tenancy(CARD, resources=SMALL, repository_id="R_1")
    broken = RecipeFiles("0" * 40, "FROM cardinal/agent:latest\nRUN exit 7\n", empty)
    with pytest.raises(ImageBuildError, match=r"(?s)was not built: .*non-zero code: 7"):
        make(bench, tenant, replace(RECIPE, target="", args=()), broken, said)
    first = ImageRecipe(PATH, image="cardinal/agent:latest")
    elsewhere = replace(bench.places, runtime="io.containerd.runc.v2")  # not the engine's own, which builds
    with pytest.raises(ImageBuildError, match="build it under `runc`, but CARDINAL_RUNTIME is `io"):
        bench.backend.make_image(elsewhere, tenant, first, RecipeFiles(), beat=lambda: None, say=said.append)
    assert make(bench, tenant, first, RecipeFiles(), said) == make(bench, tenant, first, RecipeFiles(), said)
    assert len(said) == 2
    engine, home = Engine(engine_address()), home_of(bench.places.workspaces)
    (oldest,) = recipes.old_images(engine, home, most=1)
    oldest.remove()
    assert list(recipes.old_images(engine, home, most=1)) == []
    others = replace(tenant, repository_id="R_2")
    with kept_set_up(bench) as foreign:
        image_id = bench.api.inspect_image(foreign)["Id"].removeprefix("sha256:")
        for spelled in (foreign, f"docker.io/library/{foreign}", image_id, image_id[:12]):
            with pytest.raises(ForeignSetUpError):
                make(bench, tenant, ImageRecipe(PATH, image=spelled), RecipeFiles(), said)
    made = ImageRecipe(PATH, image=make(bench, tenant, first, RecipeFiles(), said))
    with pytest.raises(ForeignSetUpError):  # what one repository's file made is not for another one
        make(bench, others, made, RecipeFiles(), said)


def images(bench: Bench) -> list[dict[str, Any]]:
    label = f"{recipes.LABEL}={home_of(bench.places.workspaces)}"
    found: list[dict[str, Any]] = bench.api.images(filters={"label": [label]})
    return found


@contextmanager
def kept_set_up(bench: Bench) -> Iterator[str]:
    """Give the name of an image that begins like the result of another repository's set-up."""
    name = f"cardinal-test-foreign:{home_of(bench.places.workspaces)[:12]}"
    labels = {HOME_LABEL: "another", REPOSITORY_LABEL: "R_2"}
    container = bench.api.create_container("cardinal/agent:latest", ["true"], labels=labels)
    try:
        repository, _, tag = name.partition(":")
        bench.api.commit(container, repository, tag)
        yield name
    finally:
        bench.api.remove_container(container)
        bench.api.remove_image(name)


def make(bench: Bench, tenant: Tenancy, recipe: ImageRecipe, files: RecipeFiles, said: list[str]) -> str:
    return bench.backend.make_image(bench.places, tenant, recipe, files, beat=lambda: None, say=said.append)


def empty(target: Path) -> None:
    tarfile.open(target, "w").close()
