"""A person with a model of their own, or a key of Google's, has a card merged into their own repository."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from forge.model.server import ScriptedModel
from ledger.events.run import SessionStarted
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from tests.containers.engine import need_engine
from tests.contracts.stand import COMMIT, EDIT, FINISH, KEY, PLAN
from tests.install.test_try import board, repository
from tests.runner.world import git

__all__ = ["repository"]
pytestmark = pytest.mark.timeout(900)
CARDINAL = Path(sys.executable).with_name("cardinal")
OWN = "qwen3-coder:30b"
OWN_EXPORTS = {
    "CARDINAL_COMPATIBLE_URL": "{url}",
    "CARDINAL_COMPATIBLE_KEY": "none",
    "CARDINAL_PRICES": f"{OWN}=0/0",
}
GOOGLES_EXPORTS = {"GEMINI_API_KEY": KEY, "CARDINAL_GEMINI_URL": "{url}"}
WAYS = [
    (("--agent=opencode", f"--model={OWN}"), OWN_EXPORTS, ("chat", OWN)),
    pytest.param(
        ("--agent=gemini",), GOOGLES_EXPORTS, ("gemini", "gemini-3.8-flash"), marks=pytest.mark.soak
    ),
]


@pytest.mark.parametrize(("words", "exports", "asked"), WAYS)
def test_a_trial_with_that_model_goes_from_the_first_start_to_the_merge(
    tmp_path: Path,
    repository: Path,
    words: tuple[str, ...],
    exports: Mapping[str, str],
    asked: tuple[str, str],
) -> None:
    need_engine()
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "default.yml").write_text(yaml.safe_dump({"plan": [PLAN], "work": [EDIT, COMMIT, FINISH]}))
    with ScriptedModel(folder) as model:
        exported = {name: text.format(url=model.url) for name, text in exports.items()}
        with board(CARDINAL, repository, *words, exports=exported) as it:
            it.play()
            it.wait("the merged work here", lambda: "cardinal/main" in git(repository, "branch"))
    assert git(repository, "show", "cardinal/main:hello.txt") == "hello"
    assert {(served.protocol, served.model) for served in model.served} == {asked}
    assert model.problems == []
    engine = open_ledger(f"sqlite:///{repository}/.cardinal/data/ledger.db", migrate=False)
    with event_store.reading(engine) as db:
        assert len(event_store.newest_of(db, "run:r1", SessionStarted, 9)) == 1
    engine.dispose()
