"""What the doctor finds on GitHub's side, what it repairs, and what it packs."""

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import pytest

from bot.admin import support_bundle
from bot.admin.doctor import CheckResult, DoctorContext, examine, github, mend
from bot.admin.doctor import board as checkups
from bot.github.failed_deliveries import RETENTION
from bot.sync import board
from bot.system import lock_file
from bot.system.config import Config
from bot.system.lock_file import Presence
from bot.system.secret import Secret
from bot.web.app import make_web
from bot.web.live.streams import Streams
from forge.store.board import FieldType, Option
from ledger.events.board import BoardSeen
from ledger.ids import DeliveryId
from ledger.log import event_store
from ledger.queue import inbox
from ledger.queue.examinations import Level
from ledger.queue.inbox import Delivery
from ledger.views import boards
from tests.bot.flows.cardinal import Cardinal
from tests.bot.flows.settings import with_column
from tests.bot.web import serving
from tests.ledgers import new_ledger

HOOK = "https://cardinal.example/webhooks/github"


def doctor_context(cardinal: Cardinal) -> DoctorContext:
    services = cardinal.services
    return DoctorContext(services.config, services.engine, services.hub, cardinal.clock())


def found(cardinal: Cardinal) -> dict[str, list[CheckResult]]:
    """Return the findings by name."""
    by_name: dict[str, list[CheckResult]] = {}
    for result in examine(doctor_context(cardinal)):
        assert result.next_step or result.level is Level.OK, result
        by_name.setdefault(result.name, []).append(result)
    return by_name


def test_behind_an_ip_allow_list_it_names_the_list_and_no_permission(cardinal: Cardinal) -> None:
    words = (
        "Although you appear to have the correct authorization credentials, the `acme` organization has an"
    )
    answer = {"message": f"{words} IP allow list enabled, and 192.0.2.1 is not permitted."}
    for path in ("/repos/", "/orgs/", "/graphql"):
        fault = {"path": path, "status": 403, "answer": answer, "count": 99}
        cardinal.forge.store.faults.load({"api": [fault]})
    results = [
        result
        for several in found(cardinal).values()
        for result in several
        if "IP allow list" in result.message
    ]
    assert results
    assert all("adds this machine's address" in result.next_step for result in results)


def test_a_healthy_installation_has_nothing_to_repair_on_github(cardinal: Cardinal) -> None:
    (app,) = cardinal.forge.store.apps.all()
    app.webhook_url = HOOK
    item = cardinal.new()
    cardinal.catch_up()
    for delivery in cardinal.forge.store.deliveries.all():
        delivery.status_code, delivery.status, delivery.delivered_at = 202, "OK", cardinal.clock()
    cardinal.sweep()
    findings = found(cardinal)
    for name in (
        "app",
        "clock",
        "permissions",
        "installation",
        "accepted",
        "webhook",
        "deliveries",
        "fields",
        "columns",
        "inbox",
        "outbox",
        "budget",
    ):
        assert {result.level for result in findings[name]} == {Level.OK}, findings[name]
    assert item.values


def test_missing_permissions_and_events_are_named_and_whoever_accepts_them(cardinal: Cardinal) -> None:
    (app,) = cardinal.forge.store.apps.all()
    (installed,) = cardinal.forge.store.apps.installations(app)
    del installed.permissions["checks"]
    installed.events.remove("issues")
    lacks, unsubscribed = found(cardinal)["accepted"]
    assert (lacks.level, "checks: write" in lacks.message, "owner of acme" in lacks.next_step) == (
        Level.FAIL, True, True,
    )  # fmt: skip
    assert "is not subscribed to issues" in unsubscribed.message


def test_a_webhook_that_leads_elsewhere_or_nowhere_is_said(cardinal: Cardinal) -> None:
    (app,) = cardinal.forge.store.apps.all()
    for url, level in (("https://x.example/other", Level.WARN), ("", Level.WARN), (HOOK, Level.OK)):
        app.webhook_url = url
        assert [result.level for result in found(cardinal)["webhook"]] == [level]


def test_lost_deliveries_are_counted_and_asked_for_again(cardinal: Cardinal) -> None:
    cardinal.new()
    lost = list(cardinal.mail)
    cardinal.mail.clear()
    for delivery in cardinal.forge.store.deliveries.all():
        delivery.status_code, delivery.status, delivery.delivered_at = (
            502,
            "failed to connect",
            cardinal.clock(),
        )
    findings = list(examine(doctor_context(cardinal)))
    (finding,) = (result for result in findings if result.name == "deliveries")
    assert (finding.level, "reachable from outside" in finding.next_step) == (Level.FAIL, True)
    for status, mend_of in (
        (401, "CARDINAL_WEBHOOK_SECRET"),
        (404, "something else"),
        (403, "firewall"),
        (500, "web.log"),
    ):
        for each in cardinal.forge.store.deliveries.all():
            each.status_code = status
        (finding,) = (result for result in examine(doctor_context(cardinal)) if result.name == "deliveries")
        assert mend_of in finding.next_step
    for each in cardinal.forge.store.deliveries.all():
        each.status_code = 502 if each in lost[1:] else 202
    findings = list(examine(doctor_context(cardinal)))
    (finding,) = (result for result in findings if result.name == "deliveries")
    assert finding.message == f"{len(lost) - 1} were lost"
    (said,) = mend(doctor_context(cardinal), [finding])
    assert said == f"requested {len(lost) - 1} lost deliveries again"
    assert {delivery.guid for delivery in cardinal.mail} == {delivery.guid for delivery in lost[1:]}


def test_where_no_webhooks_are_wanted_none_is_missed(cardinal: Cardinal) -> None:
    (app,) = cardinal.forge.store.apps.all()
    app.webhook_url = "https://github.com/cardinal-board/cardinal"
    config = replace(cardinal.services.config, webhooks=False)
    context = replace(doctor_context(cardinal), config=config)
    results = [
        result for check in (github.hook, github.deliveries, github.signature) for result in check(context)
    ]
    assert [result.level for result in results] == [Level.OK]
    assert "CARDINAL_WEBHOOKS is false" in results[0].message


def test_what_was_refused_too_often_is_not_promised_to_be_fixed(cardinal: Cardinal) -> None:
    cardinal.new()
    (delivery, *others) = cardinal.mail
    for other in others:
        other.status_code, other.status, other.delivered_at = 202, "OK", cardinal.clock()
    delivery.status_code, delivery.status, delivery.delivered_at = 502, "failed to connect", cardinal.clock()
    later = replace(doctor_context(cardinal), now=cardinal.clock() + RETENTION)
    (finding,) = github.deliveries(later)
    assert (finding.mends, "repeat comments" in finding.next_step) == ("", True)


def test_fields_and_descriptions_are_made_anew_and_what_people_wrote_stays(cardinal: Cardinal) -> None:
    project = cardinal.project
    project.fields = [field for field in project.fields if field.name not in ("Agent", "Cost $")]
    status = project.status
    wanted = {option.name: option.description for option in status.options}
    status.options[0].description, status.options[1].description = "", "Old."
    cardinal.clock.forward(2 * cardinal.services.config.sweep_s)
    board.refresh(cardinal.services)
    findings = list(examine(doctor_context(cardinal)))
    assert {result.mends for result in findings} >= {"fields", "columns"}
    said = list(mend(doctor_context(cardinal), findings))
    assert "fields made: Agent, Cost $" in said
    kinds = {field.name: field.data_type for field in project.fields}
    assert (kinds["Agent"], kinds["Cost $"]) == (FieldType.SINGLE_SELECT, FieldType.NUMBER)
    assert {option.name: option.description for option in status.options} == wanted
    board.refresh(cardinal.services)
    assert not {result.mends for result in examine(doctor_context(cardinal))} & {"fields", "columns"}


def test_a_board_whose_state_is_a_text_yet_is_told_how_it_gets_a_field_of_choices(cardinal: Cardinal) -> None:
    project = cardinal.project
    project.fields = [field for field in project.fields if field.name != "Agent"]
    cardinal.forge.store.projects.create_field(project, "Agent", FieldType.TEXT)
    board.refresh(cardinal.services)
    (result,) = checkups.fields(doctor_context(cardinal))
    assert (result.level, result.next_step) == (
        Level.WARN,
        "run `cardinal init`: it turns it into a single-select field",
    )


def test_a_field_of_choices_that_people_made_for_themselves_is_named(cardinal: Cardinal) -> None:
    field = cardinal.project.field_named("Waits for")
    assert field is not None
    field.options = [Option("o9", "the customer", "PINK", "")]
    (result,) = checkups.fields(doctor_context(cardinal))
    assert result.level is Level.FAIL
    assert "field Waits for has other options than Cardinal's" in result.message


def test_descriptions_that_cardinal_has_just_written_are_not_read_yet(cardinal: Cardinal) -> None:
    """The log knows the columns as they were before: the next sweep reads what Cardinal wrote."""

    def columns() -> list[tuple[Level, bool]]:
        context = doctor_context(cardinal)
        return [(result.level, "not read back yet" in result.message) for result in checkups.headers(context)]

    cardinal.set_policy(with_column(budget_usd="7"))
    cardinal.catch_up()
    assert columns() == [(Level.OK, True)]
    cardinal.clock.forward(2 * cardinal.services.config.sweep_s)
    assert columns() == [(Level.WARN, False)]
    cardinal.sweep()
    assert columns() == [(Level.OK, False)]


def test_a_look_from_before_the_writing_that_is_recorded_after_it_is_no_finding(cardinal: Cardinal) -> None:
    cardinal.set_policy(with_column(budget_usd="7"))
    cardinal.catch_up()
    with event_store.reading(cardinal.services.engine) as db:
        (before,) = boards.all_boards(db)
    cardinal.clock.forward(1)
    with event_store.writing(cardinal.services.engine) as db:
        stale = replace(before, title=f"{before.title}, read too late")
        event = BoardSeen(**{field.name: getattr(stale, field.name) for field in fields(BoardSeen)})
        event_store.append(db, event, at=cardinal.clock())
    assert [result.level for result in checkups.headers(doctor_context(cardinal))] == [Level.OK]


def test_on_a_new_board_the_first_descriptions_are_not_missed(tmp_path: Path, cardinal: Cardinal) -> None:
    """Until the first act on the board, nobody has said yet what a drag does."""
    config = replace(cardinal.services.config, database_url=f"sqlite:///{tmp_path / 'new.db'}")
    engine = new_ledger(config.database_url)
    services = replace(cardinal.services, config=config, engine=engine)
    for option in cardinal.project.status.options:
        option.description = ""
    board.refresh(services)
    try:
        context = DoctorContext(config, engine, services.hub, cardinal.clock())
        assert [(one.level, "not read back yet" in one.message) for one in checkups.headers(context)] == [
            (Level.OK, True)
        ]
    finally:
        engine.dispose()


def test_the_budget_is_shown_below_the_policys_ceiling(cardinal: Cardinal) -> None:
    reset_s = int(cardinal.clock().timestamp()) + 7200  # a later hour than what calls were told
    left = {"limit": 5000, "remaining": 3000, "reset": reset_s}
    headers = {f"x-ratelimit-{name}": str(value) for name, value in left.items()}
    cardinal.services.hub.budget.learn(headers)
    (core,) = found(cardinal)["budget core"]
    assert core.message.startswith("500 of 5000 (2500 by the policy)")
    (used,) = (result.message for result in found(cardinal)["budget"])
    owner, app_id = cardinal.services.config.board_owner, cardinal.services.config.app_id
    assert used.startswith(f"App {app_id} at {owner} of http://127.0.0.1:")
    cardinal.services.hub.budget.close(90)
    assert any("GitHub asked for a pause" in result.message for result in found(cardinal)["budget"])


def test_deliveries_that_nobody_reads_are_said(cardinal: Cardinal) -> None:
    cardinal.post("ping", b"{}", "asleep")
    cardinal.clock.forward(301)
    assert any("1 deliveries have been waiting" in result.message for result in found(cardinal)["inbox"])


def test_the_bundle_holds_findings_and_logs_and_no_secret(cardinal: Cardinal, tmp_path: Path) -> None:
    token = "ghs_12_" + "a" * 520
    config = cardinal.services.config
    logs = config.home / "logs"
    logs.mkdir(parents=True)
    (logs / "web.log").write_text(f"took {token} and {config.webhook_secret.reveal()}long-secret\n" * 9)
    (logs / "huge.log").write_text("x" * 900_000)
    private = config.private_key.reveal()
    path = tmp_path / "bundle.tar.gz"
    someone = replace(doctor_context(cardinal), engine=cardinal.services.engine)
    support_bundle.write(path, someone, [CheckResult("app", Level.FAIL, f"it says {token}", "look")])
    assert path.stat().st_mode & 0o077 == 0
    with tarfile.open(path) as archive:
        texts = {one.name: archive.extractfile(one).read().decode() for one in archive}  # type: ignore[union-attr]
    everything = "\n".join(texts.values())
    assert token not in everything
    assert private.splitlines()[1] not in everything
    assert len(texts["cardinal-bundle/logs/huge.log"]) == 256 * 1024
    assert json.loads(texts["cardinal-bundle/findings.json"])[0]["found"] == "it says [redacted]"
    assert "private_key" in json.loads(texts["cardinal-bundle/settings.json"])
    delivery = Delivery(DeliveryId("x"), "ping", "", b"{}", cardinal.clock())
    assert inbox.store_deliveries(cardinal.services.engine, delivery)


@pytest.fixture
def served(cardinal: Cardinal) -> Iterator[str]:
    """Serve the real receiver of this home on the loopback address, with another secret than was told."""
    other = replace(cardinal.services.config, webhook_secret=Secret("another"))
    yield from _serving(cardinal, other)


@pytest.fixture
def sound(cardinal: Cardinal) -> Iterator[str]:
    """Serve the real receiver of this home on the loopback address."""
    yield from _serving(cardinal, cardinal.services.config)


def _serving(cardinal: Cardinal, config: Config) -> Iterator[str]:
    services = cardinal.services
    app = make_web(config, services.engine, lambda *_: True, cardinal.clock, Streams(services.engine)).app
    (config.home / "run").mkdir(parents=True, exist_ok=True)
    with serving.served(app) as (host, port):
        address = f"http://{host}:{port}"
        lock_file.record_presence(config.home, Presence(os.getpid(), address, {}))
        yield address


@pytest.mark.usefixtures("sound")
def test_the_receiver_takes_what_is_signed_and_the_ping_leads_to_nothing(cardinal: Cardinal) -> None:
    before = cardinal.count()
    (finding,) = github.signature(doctor_context(cardinal))
    assert finding == CheckResult("signature", Level.OK, "signed deliveries are accepted, others refused")
    cardinal.catch_up()
    assert cardinal.count() == before


@pytest.mark.usefixtures("served")
def test_a_receiver_with_another_secret_is_found(cardinal: Cardinal) -> None:
    (finding,) = github.signature(doctor_context(cardinal))
    assert (finding.level, finding.message) == (
        Level.FAIL,
        "a signed delivery was answered with 401, a forged one with 401",
    )


def test_a_receiver_that_is_gone_is_found(cardinal: Cardinal) -> None:
    (cardinal.services.config.home / "run").mkdir(parents=True, exist_ok=True)
    lock_file.record_presence(cardinal.services.config.home, Presence(os.getpid(), "http://127.0.0.1:9", {}))
    (finding,) = github.signature(doctor_context(cardinal))
    assert (finding.level, "does not answer" in finding.message) == (Level.FAIL, True)
