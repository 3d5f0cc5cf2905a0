"""What a repository's devcontainer.json says to Cardinal."""

import json

import pytest

from rules.errors import PolicyError
from rules.policy.projects.devcontainer import choose_devcontainer, describe_devcontainer, parse_devcontainer

PATH = ".devcontainer/devcontainer.json"
WHOLE = r"""// For editors.
{
  "name": "Shop", /* several
  lines */ "build": {"dockerfile": "Dockerfile", "context": "..", "args": {"V": "3",
    "HOME": "${localEnv:HOME}", } // x
  , "target": "dev", "options": ["--network=host"]},
  "features": {"ghcr.io/devcontainers/features/node:1": {}, "./local": {}},
  "containerEnv": {"URL": "http://x/*y*/?a,]", "SECRET": "${localEnv:SECRET}", "A": "1"},
  "remoteEnv": {"PATH": "${containerEnv:PATH}:${containerWorkspaceFolder}/bin", "A": "2"},
  "onCreateCommand": ["git", "config", "a b"],
  "postCreateCommand": {"npm": "npm ci", "bad": "echo ${localEnv:USER}", "list": ["make", "x"]},
  "updateContentCommand": "cd ${containerWorkspaceFolder} && echo \"// no comment\"",
  "remoteUser": "vscode", "privileged": true, "runArgs": ["--privileged"], "initializeCommand": "rm -rf ~",
  "mounts": [], "forwardPorts": [3000], "postStartCommand": "x", "customizations": {},
}
"""


def test_what_makes_an_image_and_its_set_up_is_read_and_each_other_key_is_named() -> None:
    found = parse_devcontainer(PATH, WHOLE)
    assert (found.dockerfile, found.context, found.target) == (".devcontainer/Dockerfile", ".", "dev")
    assert found.args == (("V", "3"),)
    assert dict(found.environment) == {
        "URL": "http://x/*y*/?a,]",
        "A": "2",
        "PATH": "${containerEnv:PATH}:/workspace/repo/bin",
    }
    assert found.setup == (
        "git config 'a b'",
        'cd /workspace/repo && echo "// no comment"',
        "npm ci",
        "make x",
    )
    named = {
        *("remoteUser", "privileged", "runArgs", "initializeCommand", "mounts", "forwardPorts"),
        *("postStartCommand", "customizations", "build.options", "build.args.HOME", "containerEnv.SECRET"),
        *("features.ghcr.io/devcontainers/features/node:1", "features../local", "postCreateCommand.bad"),
    }
    assert set(found.left_out) == named
    assert all(name in describe_devcontainer(found) for name in named)


@pytest.mark.parametrize(
    ("text", "said"),
    {
        "[]": "must be a JSON object",
        '{"image": "a:1"': "is not JSON",
        "{}": "either `image` or `build.dockerfile`",
        '{"dockerComposeFile": "c.yml", "service": "app"}': "no Compose files",
        '{"image": "a:1", "build": {"dockerfile": "Dockerfile"}}': "either",
        '{"build": {"dockerfile": "../../Dockerfile"}}': "leads out of the repository",
        '{"dockerFile": "Dockerfile", "context": "/etc"}': "leads out of the repository",
        '{"image": "a:1\\nRUN x"}': "the name of an image",
        '{"image": "${localEnv:X}"}': "the name of an image",
        '{"image": ["a:1"]}': "either",
        '{"build": {"dockerfile": "D", "target": "a\\u0000"}}': "the name of a stage",
        '{"build": {"dockerfile": "D", "target": ["dev"]}}': "the name of a stage",
        "[" * 100_000: "is not JSON",
        "," + "/**/" * 20_000 + "x": "is not JSON",
        "/* " * 30_000: "is not JSON",
        ", " * 50_000: "is not JSON",
        '"\\' * 30_000: "is not JSON",
    }.items(),
)
def test_what_no_image_can_be_made_of_says_why(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        parse_devcontainer(PATH, text)


def test_the_file_that_counts_is_a_default_or_the_only_one() -> None:
    one, two = ".devcontainer/api/devcontainer.json", ".devcontainer/web/devcontainer.json"
    assert choose_devcontainer([one, PATH, ".devcontainer.json"]) == PATH
    assert choose_devcontainer([one, ".devcontainer.json"]) == ".devcontainer.json"
    assert choose_devcontainer([one, "sub/.devcontainer.json", ".devcontainer/a/b/devcontainer.json"]) == one
    assert choose_devcontainer([one, two]) == choose_devcontainer(["README.md"]) == ""


@pytest.mark.parametrize("name", ["A=B", "CARDINAL_RUN", "", "a b"])
def test_an_odd_variable_is_left_out(name: str) -> None:
    found = parse_devcontainer(PATH, f'{{"image": "a:1", "containerEnv": {{"{name}": "x", "B": "a\\nb"}}}}')
    assert found.environment == ()
    assert found.left_out == (f"containerEnv.{name}", "containerEnv.B")


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "Ftp_Proxy", "NO_PROXY", "all_proxy"])
def test_a_way_to_the_network_is_no_argument_of_a_build_whose_layers_others_share(name: str) -> None:
    found = parse_devcontainer(
        PATH, json.dumps({"build": {"dockerfile": "D", "args": {name: "http://a", "B": "1"}}})
    )
    assert (found.args, found.left_out) == ((("B", "1"),), (f"build.args.{name}",))


def test_a_key_with_an_odd_value_is_left_out_by_its_name() -> None:
    odd = '"features": [1], "containerEnv": "x", "onCreateCommand": 5, "postCreateCommand": {"a": {"b": "c"}}'
    found = parse_devcontainer(PATH, f'{{"build": {{"dockerfile": "D", "args": []}}, {odd}}}')
    assert set(found.left_out) == {
        *("features", "containerEnv", "onCreateCommand", "postCreateCommand.a", "build.args"),
    }
    assert found.setup == ()
