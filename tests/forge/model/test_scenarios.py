"""The model reads the scenarios that the scripted agent reads, and says what is wrong with others."""

from pathlib import Path

import pytest

from forge.demo.launch import SCENARIOS
from forge.model.scenario import SECTIONS, SHAPES, ScriptError, load_script
from forge.seed.demo import SHOP
from runner.agents.adapters import scripted
from runner.agents.scripted.player import scenario_for


@pytest.mark.parametrize("folder", [SCENARIOS, scripted.PACKAGED])
def test_every_scenario_of_the_scripted_agent_can_be_read(folder: Path) -> None:
    names = [path.stem for path in folder.glob("*.yml")]
    assert names
    assert [load_script(folder, name).steps("plan") is not None for name in names] == [True] * len(names)


def test_the_model_knows_every_step_of_the_scripted_agent() -> None:
    assert set(scripted.STEP_KINDS) <= set(SHAPES)


def test_a_cards_scenario_has_the_sections_of_the_whole_that_it_does_not_name(tmp_path: Path) -> None:
    (tmp_path / "b.yml").write_text("plan: [{say: mine}]\n")
    cards = "cards: [{title: Mine, scenario: b}]"
    (tmp_path / "a.yml").write_text(f"{cards}\nplan: [{{say: any}}]\nheed: [{{say: heard}}]\n")
    for title, plan in (("Mine", "mine"), ("Other", "any")):
        script = load_script(tmp_path, "a").for_card(title)
        assert [step.value for step in (*script.steps("plan"), *script.steps("heed-q1"))] == [plan, "heard"]
        played = scenario_for(dict(scripted.find_scenario(tmp_path, "a")), title)
        assert (played["plan"], played["heed"]) == ([{"say": plan}], [{"say": "heard"}])


@pytest.mark.parametrize("title", ["Big baskets get a discount", "Empty carts should say so", "Gift cards?"])
def test_every_card_of_the_demo_has_steps_for_whatever_happens_to_it(title: str) -> None:
    script = load_script(SCENARIOS, "shop").for_card(title)
    assert [name for name in SECTIONS if not script.steps(name)] == []
    assert script.chat
    (report,) = [step.value for step in script.steps("investigate") if step.kind == "findings"]
    assert "cripted" in report["summary"]
    for finding in report.get("findings", ()):
        for place in finding["references"]:
            lines = (SHOP[place["path"]] or b"").decode().splitlines()
            assert lines[place["line"] - 1].strip().startswith(("return sum(", "lines = ["))


def test_a_repair_plays_its_section_and_a_redirect_without_one_plans_again(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("plan: [{say: p}]\nrepair: [{say: r}]\n")
    script = load_script(tmp_path, "a")
    assert [step.value for step in script.steps("repair-2")] == ["r"]
    assert [step.value for step in script.steps("redirect-1")] == ["p"]
    assert script.steps("heed-q1") == ()


def test_a_stage_plays_its_own_steps_and_others_when_it_comes_again(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text("stages: {do-it: [{say: first}], do-it-2: [{say: second}]}\n")
    script = load_script(tmp_path, "a")
    said = [[step.value for step in script.steps(f"stage-{number}-do-it")] for number in (1, 2, 3)]
    assert said == [["first"], ["second"], ["first"]]
    assert script.steps("stage-1-check") == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("work: [{fly: high}]", "work.0: there is no step 'fly'"),
        ("work: [{say: 1}]", "work.0: say: str was expected"),
        ("work: [{tick: true}]", "work.0: tick: int was expected"),
        ("work: [{say: a, run: b}]", "work.0: a step is exactly one of"),
        ("work: [{say: a, times: 2}]", "work.0: say: times is not for this step"),
        ("work: [{status: 500, times: often}]", "work.0: status: times is not for this step"),
        ("work: [{say: a, when: 1}]", "work.0: say: when is not for this step"),
        ("work: [{plan: {summary: a}}]", "work.0: plan: steps is missing"),
        ("work: [{ask: {question: a, choice: []}}]", "work.0: ask: there is no key 'choice'"),
        ("work: [{edit: {path: a}}]", "work.0: edit: give either content, or find and replace"),
        ("work: [{parallel: [{say: a}]}]", "parallel: only run, "),
        ("stages: [{say: a}]", "stages: a mapping of stages was expected"),
        ("stages: {do: [{fly: a}]}", "stages.do.0: there is no step 'fly'"),
        ("work: {say: a}", "work: a list of steps was expected"),
        ("sleep: [{say: a}]", "there is no section 'sleep'"),
        ("chat: [{when: '('}]", "chat and cards"),
        ("cards: [{title: '(', scenario: a}]", "chat and cards"),
        ("cards: [{title: a, scenario: b}]", "scenario b: there is no such file"),
        ("- a", "a mapping of sections was expected"),
        ("work: [", "not YAML"),
        ("work: " + "#" * 300_000, "it is larger than"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "a.yml").write_text(text)
    with pytest.raises(ScriptError) as caught:
        load_script(tmp_path, "a")
    assert problem in str(caught.value)


@pytest.mark.parametrize("name", ["../a", "", "b"])
def test_a_name_that_is_no_file_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "a.yml").write_text("")
    with pytest.raises(ScriptError, match="there is no such file"):
        load_script(tmp_path / "inner", name)
