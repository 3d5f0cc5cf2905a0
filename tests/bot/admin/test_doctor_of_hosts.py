"""What the doctor finds of hosts, and of the agents that work there."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from sqlalchemy import Engine

from bot.admin.doctor import CheckResult, DoctorContext, examine, hosts, ok, runner
from bot.github.errors import UnavailableError
from bot.system import config as configuration
from bot.system.program import TRIAL
from bot.system.secret import Secret
from bot.system.setting_types import BoardAddress
from ledger.events.policy import PolicyLoaded
from ledger.log import event_store
from ledger.queue import hosts as known_hosts
from ledger.queue.examinations import Level
from rules.policy.images import IMAGE
from runner.run.provider import TokenPrice
from tests.bot.admin.conftest import POLICY
from tests.ledger.queue.test_hosts import beat, fall_silent
from tests.ledger.samples import BOARD, NOW
from tests.runner.agents.test_program_file import OWN, write

Doctor = Callable[[Callable[[DoctorContext], Iterator[CheckResult]]], list[CheckResult]]


@pytest.fixture
def engine(context: DoctorContext) -> Engine:
    assert context.engine is not None
    return context.engine


def levels(results: Iterator[CheckResult]) -> list[Level]:
    return [result.level for result in results]


def test_a_dead_host_is_said_with_the_command_that_forgets_it(context: DoctorContext, engine: Engine) -> None:
    assert levels(hosts.dead(context)) == [Level.OK]
    fall_silent(engine, "c")
    (finding,) = hosts.dead(context)
    assert (finding.level, finding.message) == (
        Level.WARN,
        "the host c is dead: its last heartbeat was 20 s ago",
    )
    assert "`cardinal hosts --remove c`" in finding.next_step


def test_hosts_that_live_should_run_one_version(context: DoctorContext, engine: Engine) -> None:
    assert levels(hosts.versions(context)) == [Level.OK]
    with event_store.writing(engine) as db:
        known_hosts.beat(db, "c", slots=2, labels=(), version="0.9")
    (finding,) = hosts.versions(context)
    assert (finding.level, finding.message) == (
        Level.WARN,
        "the hosts run different versions: 1.0 on b; 0.9 on c",
    )
    fall_silent(engine, "c")
    assert levels(hosts.versions(context)) == [Level.OK]


def test_labels_that_no_host_has_keep_a_columns_runs_waiting(context: DoctorContext, engine: Engine) -> None:
    assert levels(hosts.labels(context)) == []
    beat(engine, "b", labels=("gpu",))
    beat(engine, "c", labels=("eu",))
    (finding,) = hosts.labels(context)
    assert finding.level is Level.FAIL
    assert "the labels gpu,eu of the column Heavy" in finding.message
    assert "CARDINAL_LABELS=gpu,eu" in finding.next_step
    beat(engine, "b", labels=("gpu", "eu"))
    with event_store.writing(engine) as db:
        known_hosts.drain(db, "b", drained=True)
    assert levels(hosts.labels(context)) == [Level.FAIL]
    fall_silent(engine, "c")
    assert levels(hosts.labels(context)) == [], "no host takes runs at all: that is another finding"


@pytest.fixture
def bare_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answer as a Docker engine without any image."""

    class NoImages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Say the version of the API, or that there is nothing."""
            body = json.dumps({"ApiVersion": "1.44"} if self.path.endswith("/version") else []).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            """Write nothing."""

    server = HTTPServer(("127.0.0.1", 0), NoImages)
    thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
    yield
    server.shutdown()
    thread.join(60)
    server.server_close()


@pytest.mark.usefixtures("bare_engine")
def test_only_agents_of_the_image_are_missed_in_it(context: DoctorContext) -> None:
    claude, scripted = runner.agents(context)
    assert (claude.level, claude.next_step) == (Level.FAIL, "rebuild it: cardinal images agent")
    assert claude.message.startswith(f"{IMAGE} has no claude ")
    assert (scripted.level, scripted.message) == (Level.OK, "scripted 1: can work")


@pytest.mark.parametrize(
    ("workspace", "step"),
    [("auto", "start a Docker engine"), ("local", "set CARDINAL_WORKSPACE=docker, then start")],
)
def test_an_agent_that_works_in_containers_only_cannot_work_without_them(
    context: DoctorContext, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workspace: str, step: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path / 'no engine'}")
    claude, scripted = runner.agents(replace(context, config=replace(context.config, workspace=workspace)))
    assert (claude.level, scripted.level) == (Level.FAIL, Level.OK)
    assert claude.next_step.startswith(step)


@pytest.mark.usefixtures("bare_engine")
@pytest.mark.parametrize(
    ("model", "prices", "step"),
    [
        ("default", (), "rebuild it"),
        (
            "made-up",
            (),
            "no price is known for made-up of anthropic: set CARDINAL_PRICES=made-up=INPUT/OUTPUT",
        ),
        ("made-up", (TokenPrice("made-up", 1.0, 2.0),), "rebuild it"),
    ],
)
def test_a_column_whose_models_price_nobody_knows_is_said_before_a_run_is_refused(
    context: DoctorContext, engine: Engine, model: str, prices: tuple[TokenPrice, ...], step: str
) -> None:
    policy = POLICY.replace("model: default", f"model: {model}")
    with event_store.writing(engine) as db:
        event_store.append(db, PolicyLoaded(BOARD, "d", policy, ""), at=NOW)
    claude, _ = runner.agents(replace(context, config=replace(context.config, prices=prices)))
    assert claude.next_step.startswith(step)


@pytest.mark.usefixtures("bare_engine")
@pytest.mark.parametrize(
    ("model", "said", "step"),
    [
        ("default", "opencode 1.18.33, CARDINAL_COMPATIBLE_KEY pays", "rebuild it"),
        (
            "anthropic/claude-opus-5-5",
            "nobody pays for opencode 1.18.33, model anthropic/",
            "set CARDINAL_ANTHROPIC_KEY",
        ),
        ("openai/gpt-5.5", "nobody pays for opencode 1.18.33, model openai/", "set CARDINAL_OPENAI_KEY"),
    ],
)
def test_who_pays_for_the_models_of_an_agent_is_said_without_the_key(
    context: DoctorContext, engine: Engine, model: str, said: str, step: str
) -> None:
    policy = POLICY.replace("agent: scripted, model: test", f"agent: opencode, model: {model}")
    with event_store.writing(engine) as db:
        event_store.append(db, PolicyLoaded(BOARD, "d", policy, ""), at=NOW)
    config = replace(context.config, compatible_key=Secret("sesame"), compatible_url="https://llm.example")
    config = replace(config, anthropic_key=Secret(""), subscription_token=Secret("sesame"))
    claude, opencode = runner.agents(replace(context, config=config))
    assert "CARDINAL_SUBSCRIPTION_TOKEN pays" in claude.message
    assert said in opencode.message
    assert opencode.next_step.startswith(step)
    assert "sesame" not in opencode.message + opencode.next_step + claude.message


@pytest.mark.usefixtures("bare_engine")
def test_the_assistant_of_a_planning_column_needs_a_payer_as_well(
    context: DoctorContext, engine: Engine
) -> None:
    policy = f"{POLICY}    Planning: {{archetype: planning, agent: codex, model: small}}\n"
    with event_store.writing(engine) as db:
        event_store.append(db, PolicyLoaded(BOARD, "d", policy, ""), at=NOW)
    codex = next(result for result in runner.agents(context) if "codex" in result.message)
    assert (codex.level, codex.next_step) == (Level.FAIL, "set CARDINAL_OPENAI_KEY or OPENAI_API_KEY")


@pytest.mark.usefixtures("bare_engine")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"vertex_project": "p", "vertex_credentials": Secret("sesame")}, "CARDINAL_VERTEX_CREDENTIALS pays"),
        (
            {"bedrock_access_key": "a", "bedrock_secret_key": Secret("sesame")},
            "CARDINAL_BEDROCK_SECRET_KEY pays",
        ),
        ({"subscription_token": Secret("sesame")}, "CARDINAL_SUBSCRIPTION_TOKEN pays"),
        ({}, "this machine's own credentials of AWS pay"),
    ],
)
def test_a_cloud_that_pays_is_named(context: DoctorContext, given: dict[str, Any], said: str) -> None:
    if not given or "bedrock_access_key" in given:
        given = {**given, "bedrock_region": "eu-west-1", "bedrock_profile": "eu"}
    config = replace(context.config, anthropic_key=Secret(""), **given)
    claude, _ = runner.agents(replace(context, config=config))
    assert said in claude.message
    assert "sesame" not in claude.message


@pytest.mark.usefixtures("bare_engine")
def test_an_extra_that_is_missing_is_said(context: DoctorContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore", None)
    config = replace(
        context.config, anthropic_key=Secret(""), bedrock_region="eu-west-1", bedrock_profile="eu"
    )
    claude, _ = runner.agents(replace(context, config=config))
    assert (claude.level, "pip install 'cardinal-board[bedrock]'" in claude.next_step) == (Level.FAIL, True)


def test_where_github_does_not_answer_the_next_step_says_what_to_look_at_or_start(
    context: DoctorContext,
) -> None:
    def app(doctor_context: DoctorContext) -> Iterator[CheckResult]:
        if doctor_context.engine is not None:
            raise UnavailableError("GET /app", 0, "ConnectionError")
        yield ok("app", "it answers")

    (away,) = examine(context, [app])
    assert away.next_step == "check that this machine can reach https://api.github.com"
    context.config.home.mkdir()
    (context.config.home / TRIAL).touch()
    (stopped,) = examine(context, [app])
    assert stopped.next_step == "start `cardinal try`: it also starts the board's own GitHub"


def test_without_a_key_it_names_the_agents_that_need_none(context: DoctorContext) -> None:
    keyless = replace(context, config=replace(context.config, anthropic_key=Secret("")))
    *_, models = runner.agents(keyless)
    assert models.message == "no provider's key is set: of the agents, only scripted can work"


def test_files_of_owners_that_pay_for_nothing_are_said(
    context: DoctorContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = context.config.home / "keys"
    keys.mkdir(parents=True)
    settings = "CARDINAL_BEDROCK_REGION=eu-west-1\nCARDINAL_BEDROCK_PROFILE=eu\n"
    (keys / "acme.env").write_text(settings)
    first = replace(context, config=replace(context.config, board=BoardAddress("Acme", 1)))
    assert list(runner.owners(first)) == []
    monkeypatch.setitem(sys.modules, "botocore", None)
    (lacking,) = runner.owners(first)
    assert "pip install 'cardinal-board[bedrock]'" in lacking.next_step
    (keys / "acme.env").write_text("sesame")
    (of_first,) = runner.owners(first)
    assert (of_first.level, of_first.next_step) == (Level.FAIL, "correct the file")
    assert "sesame" not in of_first.message


@pytest.mark.usefixtures("bare_engine")
def test_the_variable_that_a_key_was_read_from_is_named(context: DoctorContext) -> None:
    given = {"CARDINAL_HOME": str(context.config.home), "CARDINAL_BOARD": "acme/1"}
    config = configuration.read({**given, "ANTHROPIC_API_KEY": "sesame"}, context.config.home)
    claude, _ = runner.agents(replace(context, config=config))
    assert "ANTHROPIC_API_KEY pays" in claude.message
    assert "CARDINAL_ANTHROPIC_KEY" not in claude.message


def test_an_agent_of_the_operators_is_known_and_what_is_wrong_with_its_file_is_said(
    context: DoctorContext,
) -> None:
    assert context.engine
    policy = POLICY.replace("claude", "mine")
    with event_store.writing(context.engine) as db:
        event_store.append(db, PolicyLoaded(BOARD, "own", policy, ""), at=NOW)
    context = replace(context, config=replace(context.config, compatible_key=Secret("k")))
    mine, *_ = runner.agents(context)
    assert (mine.level, "or describe it in" in mine.next_step) == (Level.FAIL, True)
    context.config.home.mkdir()
    write(context.config.agents, "version: 1.0")
    mine, *_ = runner.agents(context)
    assert (mine.level, "version: must be text" in mine.message) == (Level.FAIL, True)
    write(context.config.agents, OWN)
    mine, *_ = runner.agents(context)
    assert mine.message.startswith("nobody pays for mine 1.2.3")  # its address is missing
