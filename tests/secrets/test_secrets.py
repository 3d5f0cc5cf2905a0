"""A whole run of each real agent leaves no secret of the operator, and shows none that an agent says."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text

from bot.system.secret import Secret
from forge.model.server import ScriptedModel
from forge.store.board import Item
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.opening import opened
from tests.bot.flows.people import issue_of
from tests.bot.flows.settings import with_column
from tests.containers.engine import need_engine
from tests.contracts.conftest import agent
from tests.contracts.stand import IMAGE, KEY
from tests.secrets.planted import ALL, KEY_FILE, TRACES, files, found_in, images, remove_images

__all__ = ["agent"]
pytestmark = pytest.mark.timeout(600)
CANARY = "CARDINAL_CANARY_of_the_operator"
A_NAME = TRACES["a person's token"]
CHECK = "cat ~/said.txt; env; cat /proc/*/environ | tr '\\0' '\\n'"
RULES = {
    "version": 1,
    "repository": {
        "image": IMAGE,
        "setup": ["env > ~/set-up.txt; mkdir -p build; env > build/made.txt"],
        "validation": {"fast": [CHECK], "full": [CHECK]},
    },
}
DUMP = (
    "{ env; cat /proc/*/environ | tr '\\0' '\\n'; mount; cat /proc/*/cmdline;"
    " find /workspace /run/cardinal /tmp /player -type f -readable -exec cat {} + ; }"
    " > ~/dump.txt 2>&1; echo done"
)


@pytest.fixture
def cardinal(agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cardinal]:
    """Yield a Cardinal whose runs go to the agent in a container, paid with a key."""
    need_engine()
    tmp_path.chmod(0o755)
    monkeypatch.setenv("CARDINAL_CANARY", CANARY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", CANARY)
    with opened(tmp_path) as new_cardinal:
        new_cardinal.set_policy(with_column(agent=agent, model="default"))
        rules: dict[str, bytes | None] = {".github/cardinal.yml": yaml.safe_dump(RULES).encode()}
        new_cardinal.forge.store.repos.write_files(
            new_cardinal.repo, "main", rules, "Rules", actor=new_cardinal.person("alice")
        )
        yield new_cardinal
        remove_images(new_cardinal.services.config.home / "workspaces")


def test_a_whole_run_leaves_no_secret_anywhere(cardinal: Cardinal, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "default.yml").write_text(yaml.safe_dump(story()))
    with ScriptedModel(folder, key=KEY) as model:
        pay(cardinal, model.url)
        item = cardinal.new(column="In Progress")
        cardinal.catch_up(work=True)
        assert "Which one" in "\n".join(cardinal.told(item)), cardinal.card(item)
        first = found_in(files(tmp_path), secrets(cardinal))
        cardinal.say(item, "The second one")
        cardinal.catch_up(work=True)
        run = cardinal.run_of(item)
        assert run.ending == "succeeded", run
        heard = [("model", str(model_request.body).encode()) for model_request in model.requests]
    assert first == {}
    home = cardinal.services.config.home
    everywhere = [
        *files(tmp_path),
        *images(home / "workspaces"),
        *heard,
        *ledger(cardinal),
        *published(cardinal, item),
    ]
    assert len(list(images(home / "workspaces"))) > 2
    assert len([place for place, _ in everywhere if place.endswith("dump.txt")]) == 1
    assert found_in(everywhere, secrets(cardinal)) == {}
    ours = [*ledger(cardinal), *published(cardinal, item), *files(home / "logs")]
    assert found_in(ours, TRACES) == {}, [
        line[:300] for line in _lines(ours) if TRACES["a private key"] in line
    ]
    assert sum(raw.count(b"[redacted]") for _, raw in published(cardinal, item)) >= len(TRACES)


def _lines(texts: list[tuple[str, bytes]]) -> list[str]:
    return [line for _, raw in texts for line in raw.decode(errors="replace").splitlines()]


def story() -> dict[str, object]:
    """Return what the model says: secrets in whatever words it has, but none in what it commits."""
    planted = f"{ALL} {KEY_FILE}"
    return {
        "plan": [{"say": planted}, {"plan": {"summary": f"Say {ALL}", "steps": [f"Use {ALL}", "Commit"]}}],
        "work": [
            {"say": planted},
            {"progress": f"Found {ALL}"},
            {"note": planted},
            {"todo": [{"text": f"Look at {ALL}", "done": False}]},
            {"run": f"echo '{ALL}'"},
            {"run": f"echo '{planted}' > ~/said.txt"},
            {"run": f"touch '/tmp/{A_NAME}'"},
            {"run": DUMP},
            {"ask": {"question": f"Which one: {ALL}?", "choices": [f"First {ALL}", "The second one"]}},
            {"edit": {"path": "hello.txt", "content": "hello\n"}},
            {"commit": "Say hello"},
            {"finish": {"done": planted, "changed": [ALL], "check": [ALL], "open_questions": [planted]}},
        ],
    }


def pay(cardinal: Cardinal, url: str) -> None:
    """Let runs work in containers, with the scripted model as every provider."""
    keys: dict[str, Any] = {f"{name}_key": Secret(KEY) for name in ("anthropic", "openai", "compatible")}
    urls: dict[str, Any] = dict.fromkeys(("anthropic_url", "openai_url", "compatible_url"), url)
    config = dataclasses.replace(cardinal.services.config, workspace="docker", **keys, **urls)
    cardinal.services = dataclasses.replace(cardinal.services, config=config)


def secrets(cardinal: Cardinal) -> dict[str, str]:
    """Return what only the operator's processes may hold."""
    pem = cardinal.services.config.private_key.reveal().splitlines()
    tokens = {f"token {number}": value for number, value in enumerate(cardinal.forge.store.apps._tokens)}
    assert tokens
    lines = {f"private key, line {number}": line for number, line in enumerate(pem) if len(line) > 40}
    return {"provider": KEY, "environment": CANARY, **tokens, **lines}


def ledger(cardinal: Cardinal) -> Iterator[tuple[str, bytes]]:
    """Yield every row of every table."""
    with cardinal.services.engine.connect() as db:
        names = db.execute(text("select name from sqlite_master where type = 'table'")).scalars().all()
        for name in names:
            yield f"table {name}", repr(db.execute(text(f'select * from "{name}"')).all()).encode()


def published(cardinal: Cardinal, item: Item) -> Iterator[tuple[str, bytes]]:
    """Yield what people see on GitHub: comments, pull request, checks, fields of the board, commits."""
    pull = cardinal.pull_of(item)
    yield "issue", "\n".join(comment.body for comment in issue_of(item).comments).encode()
    yield (
        "pull request",
        "\n".join([pull.issue.body or "", *(comment.body for comment in pull.issue.comments)]).encode(),
    )
    yield "face", repr(cardinal.face(item)).encode()
    runs = cardinal.forge.store.checks.on_commit(cardinal.repo, pull.head_sha)
    yield "checks", repr([check_run.output for check_run in runs]).encode()
