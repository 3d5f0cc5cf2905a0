"""The devcontainer.json of a repository makes its runs' image where operator and policy let it."""

from dataclasses import replace

import pytest

from bot.admin.doctor import DoctorContext, repositories
from bot.runspec import builder
from bot.runspec.operator_grants import IMAGES
from rules.errors import PolicyError
from rules.policy.model import parse_repository
from runner.run.run_spec import ImageRecipe, RunSpec
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.runs.test_skills import put

RULES = "version: 1\nrepository:\n  setup: [make]\n  validation: none\n"
FILE = """{"image": "a:1", // the newest
  "postCreateCommand": "npm ci", "containerEnv": {"A": "1"}, "mounts": []}"""


def test_it_counts_by_the_operators_word_and_image_wins(cardinal: Cardinal) -> None:
    put(cardinal, {".devcontainer/api/devcontainer.json": FILE, ".github/cardinal.yml": RULES})
    cardinal.new(title="Totals", column="In Progress")
    cardinal.catch_up()
    (run_id,) = cardinal.ready()
    assert cardinal.claim(run_id)
    spec = builder.build_spec(cardinal.services, run_id, cardinal.leases[run_id])[0]
    assert spec.recipe is None
    services = cardinal.services
    config = replace(services.config, workspace="docker")
    services = replace(services, config=config)
    spec = replace(spec, workspace="docker")

    def made(rules: str = RULES) -> RunSpec:
        base = services.hub.rest("GET", f"/repos/{spec.repository}/commits/HEAD").body["sha"]
        return builder.with_recipe(services, replace(spec, base=str(base)), parse_repository(rules))

    def told() -> list[str]:
        context = DoctorContext(config, services.engine, services.hub, cardinal.clock())
        return [one.message for one in repositories.checks(context) if "devcontainer" in one.message]

    assert made().recipe is None
    assert told() == [f"{spec.repository}: .devcontainer/api/devcontainer.json makes no image"]
    (config.home / IMAGES).write_text(f"{spec.repository}: [devcontainer]\n")
    assert made().recipe == ImageRecipe(
        ".devcontainer/api/devcontainer.json", image="a:1", environment=(("A", "1"),)
    )
    assert made().validation.setup == ("npm ci", "make")
    assert "Left out: mounts." in told()[0]
    assert made(f"{RULES}  image: a:2\n").recipe is None
    assert made(f"{RULES}  image: cardinal/agent:latest\n").recipe is None  # on purpose, too

    put(cardinal, {".devcontainer/web/devcontainer.json": FILE})
    with pytest.raises(PolicyError, match="none counts; put the one for agents at"):
        made()
    assert "none counts" in told()[0]
    put(cardinal, {".devcontainer.json": '{"image": "a:3"}'})
    found = made().recipe
    assert found is not None
    assert (found.path, found.image) == (".devcontainer.json", "a:3")
