"""A program is a file: what may be in one, what is said of a wrong one, and where an operator's own lies."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ledger.parts import UnknownPartError
from runner import agents
from runner.agents.acp.program import AcpAgent
from runner.agents.acp.program_file import BUILT_IN, list_programs, list_unread_files
from runner.agents.contract import Phase, Task
from runner.errors import ProgramError
from runner.supervisor import with_image_of_agent
from tests.runner.agents.acp_partner import LAYOUT
from tests.runner.world import World

OWN = """
version: 1.2.3
command: [mine, "--model={model}", "--settings={home}/.mine/a.json"]
provider: compatible
models: {default: big, small: little}
env: {URL: "{gateway}/compatible/v1"}
files: {.mine/a.json: {deep: [1, {b: null}]}, .mine/b.txt: "{model}"}
clears: {.mine: []}
"""


def write(folder: Path, text: str, name: str = "mine") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.yml").write_text(text)
    return folder


def test_an_operators_file_is_an_agent_like_any_other(tmp_path: Path) -> None:
    own = write(tmp_path / "agents", OWN + "package: pypi:mine\n")
    assert set(agents.names(own)) - set(agents.names()) == {"mine"}
    agent = agents.load("mine", own)
    assert (agent.name, agent.version, agent.secrets, agent.trusted) == (
        "mine",
        "1.2.3",
        ("compatible",),
        False,
    )
    task = Task(Phase.WORK, "work", "x", "r7", "", "default", False, 9, 1.0, Path("s"))
    command = agent.begin(task, LAYOUT).command
    assert command.argv[-3:] == ("mine", "--model=big", "--settings=/workspace/home/.mine/a.json")
    assert command.env == {"URL": "http://127.0.0.1:4000/compatible/v1"}
    assert r"{\"deep\": [1, {\"b\": null}]}" in command.argv[6]
    assert r'".mine/b.txt": "big"' in command.argv[6]


@pytest.mark.parametrize(
    ("of_policy", "image"),
    [("", "acme/mine:1"), ("cardinal/agent:latest", "acme/mine:1"), ("acme/ci:2", "acme/ci:2")],
)
def test_a_run_is_in_the_image_of_its_agent_unless_the_policy_names_another_one(
    world: World, tmp_path: Path, of_policy: str, image: str
) -> None:
    own = write(tmp_path / "agents", OWN + "image: acme/mine:1\n")
    spec = world.spec(agent="mine", image=of_policy, paths=replace(world.places, agents=own))
    assert with_image_of_agent(spec).image == image
    assert with_image_of_agent(replace(spec, agent="gone")).image == of_policy


def test_an_effort_is_said_in_the_programs_own_word_and_what_mentions_it_is_else_left_out(
    tmp_path: Path,
) -> None:
    thinks = """
efforts: {low: LITTLE, high: MUCH}
command: [mine, "--think={effort}", --go]
env: {THINK: "{effort}", URL: x}
files: {.mine/a.json: {deep: [{think: "{effort}", stay: 1}]}, .mine/b.toml: "think = {effort}"}
clears: {.mine: []}
"""
    lines = [it for it in OWN.splitlines() if not it.startswith(("command", "env", "files", "clears"))]
    agent = agents.load("mine", write(tmp_path / "agents", "\n".join([*lines, thinks])))
    assert agent.efforts == ("low", "high")
    usual = Task(Phase.WORK, "work", "x", "r7", "", "default", False, 9, 1.0, Path("s"))
    told = agent.begin(replace(usual, effort="high"), LAYOUT).command
    assert (told.argv[-3:], told.env) == (("mine", "--think=MUCH", "--go"), {"THINK": "MUCH", "URL": "x"})
    assert r"{\"deep\": [{\"think\": \"MUCH\", \"stay\": 1}]}" in told.argv[6]
    assert "think = MUCH" in told.argv[6]
    plain = agent.begin(usual, LAYOUT).command
    assert (plain.argv[-2:], plain.env) == (("mine", "--go"), {"URL": "x"})
    assert r"{\"deep\": [{\"stay\": 1}]}" in plain.argv[6]
    assert "b.toml" not in plain.argv[6]


def test_a_file_of_another_home_is_nobodys_agent(tmp_path: Path) -> None:
    write(tmp_path / "agents", OWN)
    for own in (None, tmp_path / "absent"):
        with pytest.raises(UnknownPartError, match="there is no agent called 'mine'"):
            agents.load("mine", own)


def test_a_file_cannot_take_the_name_of_an_agent_of_cardinals(tmp_path: Path) -> None:
    own = write(write(tmp_path / "agents", OWN, "claude"), OWN, "qwen")
    for name in ("claude", "qwen"):
        with pytest.raises(ProgramError, match=f"{name} is Cardinal's own agent, so rename the file"):
            agents.load(name, own)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("name: other", "the file's own name is the agent's"),
        ("efforts: {some: x}", "is not an effort: one of low, medium, high"),
        ("color: red", "color: is not a key: did you mean one of version, command, provider"),
        ("comand: [mine]", "comand: is not a key: did you mean command?"),
        ("version: 1.0", 'version: must be text: write it in quotes, "…"'),
        ("version: latest please", "version: must be one exact version, such as 1.2.3, not a range"),
        ("command: []", "command: is empty: write at least one word"),
        ("command: mine acp", "command: must be a list: write [first, second]"),
        (
            "command: [mine, '{modell}']",
            "1: has {modell}, which nothing fills in: write {gateway} or {model} or {home} or {effort}",
        ),
        (
            "env: {URL: '{PORT_no}'}",
            "env.URL: has {PORT_no}, which nothing fills in: write {gateway}",
        ),
        (
            "sessions: ['s/{id}.json']",
            "sessions.0: has {id}, which nothing fills in: write {session}",
        ),
        ("provider: openai\nprovider: compatible", "provider is written twice: keep one"),
        ("env: {A: b, A: c}", "A is written twice: keep one"),
        ("env: [a]", "env: must have keys: write {KEY: value}"),
        ("env: {A: 5}", "env.A: must be text"),
        ("provider: ''", "provider: is empty, so nothing would be metered: set `metering: agent` too"),
        ("debian: [LibFoo]", "debian.0: must be the name of a package"),
        ("provider: nobody", "provider: is not a provider: one of anthropic, openai, compatible"),
        ("models: {default: big}", "models: lacks small, the names that a policy can say"),
        ("files: {../x: y}", "files.../x: must be a path inside the folder, without `..`"),
        ("files: {a/b: y}", "files.a/b: is in no folder that `clears` names"),
        ("clears: {/etc: []}", "must be a path inside the folder"),
        ("clears: {.: []}", "must be a path inside the folder"),
        ("clears: {a: [../b]}", "must be a path inside the folder"),
        ("sessions: [a/../../b]", "must be a path inside the folder"),
        ("hides: [/x]", "must be a path inside the folder"),
        ("image: UPPER CASE", "image: must be an image's name"),
        ("package: git:x", "package: must be npm:NAME"),
        ("package: npm:acme/tool", "package: must be npm:NAME"),
        ("package: npm:@acme/../tool", "package: must be npm:NAME"),
        ("package: pypi:acme/tool", "package: must be npm:NAME"),
        ("package: pypi:--index-url", "package: must be npm:NAME"),
        ("package: pypi:mine==1.2", "without a version"),
        ("metering: trust", "metering: must be 'gateway' or 'agent'"),
        ("1: x", "1: must be text"),
        ("- a", "is not YAML"),
        ("\x00", "is not YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_path(tmp_path: Path, change: str, said: str) -> None:
    lines = [line for line in OWN.splitlines() if not line.startswith(change.split(":")[0] + ":")]
    own = write(tmp_path / "agents", "\n".join([*lines, change, ""]))
    with pytest.raises(ProgramError) as error:
        agents.load("mine", own)
    assert said in str(error.value)
    assert str(own / "mine.yml") in str(error.value)
    assert "`cardinal agents` checks it" in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "just words", "x" * 300_000])
def test_what_is_no_description_is_refused(tmp_path: Path, text: str) -> None:
    own = write(tmp_path / "agents", text)
    with pytest.raises(ProgramError):
        agents.load("mine", own)


def test_a_file_whose_name_no_policy_can_say_is_not_an_agent(tmp_path: Path) -> None:
    own = write(write(write(tmp_path / "agents", OWN, "Mine"), OWN, "a b"), OWN, ".mine")
    (own / "mine.yaml").write_text(OWN)
    assert list_programs(own) == ()
    assert [path.name for path in list_unread_files(own)] == ["Mine.yml", "a b.yml", "mine.yaml"]
    assert list_unread_files(tmp_path / "absent") == ()


def test_the_example_for_operators_tells_its_program_what_cardinals_own_file_does(tmp_path: Path) -> None:
    page = (BUILT_IN.parents[3] / "docs/agents.md").read_text()
    (example,) = re.findall(r"```yaml\n(package: .*?)```", page, re.DOTALL)
    own = agents.load("mine", write(tmp_path / "agents", example))
    kimi = agents.load("kimi")
    assert isinstance(own, AcpAgent)
    assert isinstance(kimi, AcpAgent)
    needed = {
        "KIMI_MODEL_BASE_URL",
        "KIMI_MODEL_NAME",
        "KIMI_MODEL_API_KEY",
    }  # without a key it wants a login
    assert set(own.program.env) == needed <= set(kimi.program.env)
    assert (own.program.command, own.program.models) == (kimi.program.command, kimi.program.models)


def test_each_program_of_cardinals_says_which_package_it_is() -> None:
    programs = [agents.load(name) for name in list_programs(BUILT_IN)]
    assert [agent.name for agent in programs if not agent.program.package] == []  # type: ignore[attr-defined]
