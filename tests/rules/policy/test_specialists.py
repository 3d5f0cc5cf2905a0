"""`specialists` of a board: how a column is with one of them, and which mistakes are named."""

import pytest

from rules.errors import PolicyError
from rules.policy.model import parse
from rules.policy.validate import Installed

TEXT = """\
version: 1
board:
  specialists:
    prober: {agent: codex, model: gpt-9, persona: tester, skills: [fuzzing, style]}
    quick: {model: small}
    plain: {}
  columns:
    Work: {archetype: execution, model: large, skills: [style], agents: ["@prober", "@quick", "@plain"]}
"""


def test_a_specialist_brings_agent_model_persona_and_skills() -> None:
    policy = parse(TEXT, home="acme/board")
    column = policy.column("Work")
    assert column is not None
    played = column.played_by("@prober", policy.board.specialists)
    (stage,) = played.stages
    assert (played.agent, played.model, played.skills) == ("codex", "gpt-9", ("style", "fuzzing"))
    assert (stage.name, stage.persona, stage.model, stage.ends) == ("prober", "tester", "gpt-9", True)
    models = [column.played_by(name, policy.board.specialists).model for name in ("@quick", "@plain")]
    assert models == ["small", "large"]
    assert column.played_by("@nobody", policy.board.specialists) == column


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('"@quick"', '"@quik"', "unknown specialist `quik`"),
        ("agent: codex", "agent: kodex", "unknown agent `kodex`"),
        ("persona: tester", "persona: ../x", "a persona's name may have"),
        ("    plain", "    end", "specialists"),
        ("skills: [style],", "stages: [{name: a, persona: tester}],", "`prober` has a persona"),
    ],
)
def test_a_mistake_is_named(right: str, wrong: str, said: str) -> None:
    known = Installed(agents=("claude", "codex"))
    assert parse(TEXT, home="acme/board", installed=known)
    with pytest.raises(PolicyError, match=said):
        parse(TEXT.replace(right, wrong), home="acme/board", installed=known)
