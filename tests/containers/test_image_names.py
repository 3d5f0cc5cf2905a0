"""An image is opened by its very name, and a set-up's result in its own repository alone."""

from dataclasses import replace

import pytest

from runner.run.run_spec import ToolServerSpec
from runner.workspaces.backends.docker import home_of
from runner.workspaces.docker import seeds
from runner.workspaces.docker.errors import ForeignSetUpError, ImageMissingError
from tests.containers.engine import Bench, sh
from tests.containers.test_setup_kept import COMMIT, made

SERVER = ToolServerSpec("docs", ("true",))


def test_no_id_and_no_beginning_of_one_opens_an_image(bench: Bench) -> None:
    number = bench.open().image
    short = number.removeprefix("sha256:")
    for name in (number, short, short[:12], short[:1], number[:9], "docker.io/cardinal/agent:latest"):
        with pytest.raises(ImageMissingError):
            sh(bench.open("odd", image=name), "true")
        with pytest.raises(ImageMissingError):
            bench.open_clean("served").serve(
                replace(SERVER, image=name), 0, 1, network=None, data=bench.places.workspaces, env={}
            )


def test_the_result_of_a_set_up_is_opened_in_its_own_repository_alone(bench: Bench) -> None:
    workspace = made(bench)
    workspace.keep_setup("of nobody")
    own_workspace = bench.open_clean("mine", repository_id="11")
    assert sh(own_workspace, COMMIT).exit_code == 0
    own_workspace.keep_setup("key")
    assert own_workspace.restore_setup("key")
    other = bench.open("other", repository_id="12")
    assert sh(other, COMMIT).exit_code == 0
    assert not other.restore_setup("key")
    assert not other.restore_setup("of nobody")
    own = seeds.seed_name(home_of(bench.places.workspaces), own_workspace.image, "key")
    bench.api.tag(own, "acme/looks-fine", "1")
    try:
        with pytest.raises(ForeignSetUpError, match="build one for this repository"):
            sh(bench.open("third", image="acme/looks-fine:1", repository_id="12"), "true")
        served = bench.open_clean("served", repository_id="12")
        with pytest.raises(ForeignSetUpError):
            served.serve(
                replace(SERVER, image="acme/looks-fine:1"),
                0,
                1,
                network=None,
                data=bench.places.workspaces,
                env={},
            )
        assert sh(bench.open("fourth", image="acme/looks-fine:1", repository_id="11"), "true").exit_code == 0
    finally:
        bench.api.remove_image("acme/looks-fine:1", force=True)
