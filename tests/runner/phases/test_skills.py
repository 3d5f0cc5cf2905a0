"""A run with skills: their files can be read, not changed, not committed; what is private is kept nowhere."""

from dataclasses import replace

from ledger.events.instruction import SkillConsidered
from ledger.states import Ending
from runner.run.instructions import Equipment, Layer, LayerKind, SkillContent
from runner.run.run_spec import RunSpec
from tests.runner.world import CARD, World, checks

PLAN = {"plan": {"summary": "Say hello", "steps": ["Write it"]}}
EDIT = {"edit": {"path": "hello.txt", "content": "Hello\n"}}
FINISH = {"finish": {"done": "It is done."}}
KEPT = "/workspace/home/prompt.txt"  # of the workspace alone: neither in the repository nor in what is told
TELL = {"edit": {"path": KEPT, "content": "{{prompt}}"}}
ASK = {"ask": {"question": "Which one?", "choices": ["a", "b"]}}
SECRET = "MARKER-4711: ask the oracle before you migrate."
LAYER = Layer(
    LayerKind.SKILL,
    "oracle",
    "operator",
    SECRET,
    "d" * 64,
    "3",
    private=True,
    files=("references/temple.md",),
)
FILES = (SkillContent("oracle/references/temple.md", b"MARKER-0815: the temple is open on Mondays.\n"),)
CHOSEN = SkillConsidered("oracle", "operator", "3", "d" * 64, True, True, True, "by default")


def skilled(world: World, *, layers: tuple[Layer, ...] = (LAYER,), plan_required: bool = False) -> RunSpec:
    spec = world.spec(plan_required=plan_required)
    return replace(spec, equipment=Equipment(layers, FILES, (CHOSEN,)))


def prompt(world: World) -> str:
    return (world.places.workspaces / CARD / "home/prompt.txt").read_text()


def everything_written(world: World) -> str:
    """Return all that is on the disk but what belongs to the workspace: ledger, logs, mirror, origin."""
    found = []
    for path in world.root.rglob("*"):
        if path.is_file() and not path.is_relative_to(world.places.workspaces):
            found.append(path.read_bytes().decode("latin-1"))
    return "\n".join(found)


def test_a_private_skill_is_in_the_prompt_and_nowhere_else(world: World) -> None:
    world.scenario(
        plan=[TELL, PLAN],
        work=[{"say": "I was told: {{prompt}}"}, {"progress": SECRET}, {"note": f"He said: {SECRET}"},
              {"attach": {"name": "told.txt", "content": f"He said: {SECRET}"}},
              {"run": f"echo '{SECRET}'; cat /workspace/skills/oracle/references/temple.md"}, EDIT,
              {"finish": {"done": f"As told: {SECRET}"}}],
    )  # fmt: skip
    peeks = checks(fast=["cat /workspace/skills/oracle/references/temple.md"], full=["true"])
    world.run(replace(skilled(world), validation=peeks))
    assert world.ended().ending is Ending.SUCCEEDED, world.ended()
    assert world.of("CommandChecked")[0].tail.strip() == "[private skill]"
    assert SECRET in prompt(world)
    assert "/workspace/skills/oracle/references/temple.md" in prompt(world)
    (world.places.scenarios / "test.yml").unlink()  # where this test says what the agent repeats
    written = everything_written(world)
    assert "MARKER" not in written
    assert "[private skill]" in world.only("FinalReported").done
    stacked = world.only("InstructionsStacked").layers[-1]
    assert (stacked.name, stacked.version, stacked.digest, stacked.text) == ("oracle", "3", "d" * 64, "")
    assert world.only("SkillsChosen").considered == (CHOSEN,)


def test_a_session_repeats_nothing_private_that_it_was_told_when_other_skills_were_attached(
    world: World,
) -> None:
    world.scenario(plan=[PLAN], work=[ASK, {"note": f"As I know: {SECRET}"}, EDIT, FINISH])
    spec = skilled(world)
    world.run(spec)
    world.answer(replace(spec, equipment=Equipment()), "a")
    assert world.only("Noted").text == "As I know: [private skill]"
    world.lease = None
    world.scenario(plan=[PLAN], work=[{"note": f"And yet: {SECRET}"}, EDIT, FINISH])
    world.run(world.spec(run_id="r2", attempt=2))
    assert world.only("Noted", "r2").text == "And yet: [private skill]"
    (world.places.scenarios / "test.yml").unlink()
    assert "MARKER" not in everything_written(world)


def test_the_files_of_a_skill_can_be_read_and_neither_changed_nor_committed(world: World) -> None:
    place = "/workspace/skills/oracle/references"
    root = "/workspace/skills"
    tries = f"echo x >> {place}/temple.md; touch {place}/new; rm -rf {root}/oracle; mkdir {root}/a"
    look = f"(chmod -R u+w {root}; {tries}) 2>/dev/null"
    look += f"; cat {place}/temple.md > read.txt; find {root} -type f > list.txt"
    public = replace(LAYER, private=False)
    world.scenario(plan=[PLAN], work=[{"run": look}, FINISH])
    world.run(skilled(world, layers=(public,)))
    assert world.ended().ending is Ending.SUCCEEDED
    assert world.show("read.txt") == FILES[0].content.decode().strip()
    assert world.show("list.txt") == f"{place}/temple.md"
    assert world.only("BranchExported").files_changed == 2


def test_a_session_that_goes_on_hears_only_what_changed(world: World) -> None:
    world.scenario(plan=[TELL, PLAN], work=[ASK, TELL, EDIT, FINISH])
    spec = skilled(world, plan_required=True)
    world.run(spec)
    assert SECRET in prompt(world)
    world.approve(spec)
    world.answer(spec, "a")
    assert SECRET not in prompt(world)  # it was told in the first turn
    assert "changed since" not in prompt(world)
    assert len(world.of("InstructionsStacked")) == len(world.of("SkillsChosen")) == 1


def test_a_skill_that_changed_while_the_run_waited_is_told_anew_and_one_that_went_away_is_said(
    world: World,
) -> None:
    world.scenario(plan=[PLAN], work=[ASK, TELL, EDIT, FINISH])
    other = replace(LAYER, name="style", text="Two spaces, everywhere.", digest="e" * 64)
    spec = skilled(world, layers=(LAYER, other))
    world.run(spec)
    changed = replace(LAYER, text="MARKER-2: ask nobody, ever again.", digest="f" * 64)
    world.answer(replace(spec, equipment=Equipment((changed,), FILES)), "a")
    assert world.ended().ending is Ending.SUCCEEDED
    assert "The skill oracle changed since you read it. It says now:" in prompt(world)
    assert "MARKER-2" in prompt(world)
    assert "The skill style does not hold any more." in prompt(world)
    first, second = world.of("InstructionsStacked")
    assert first.digest != second.digest
    assert [len(one.considered) for one in world.of("SkillsChosen")] == [1, 0]
