"""The doctor is called when things are broken: it says what is wrong, and packs what helps."""

import json
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from bot.system.lock_file import read_presence
from bot.system.program import TRIAL
from ledger.db.rows import change, insert
from ledger.db.tables import EditionState, ExaminationSubject, editions
from ledger.lifecycle.edition import mine
from ledger.lifecycle.open import open_ledger
from ledger.log import event_store
from ledger.queue import examinations
from tests.ledger.samples import NOW, card_seen

AWAY = "CARDINAL_GITHUB_URL=http://127.0.0.1:9\nCARDINAL_BOARD=acme/1\nCARDINAL_APP_ID=5\n"
Doctor = Callable[..., Result]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def doctor(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Doctor:
    """Call the doctor to a home; what is raised on purpose is one sentence, all else fails the test."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(main, ("doctor", *words), env={"CARDINAL_HOME": str(home)})
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


def findings(result: Result) -> dict[str, dict[str, str]]:
    found = {one["name"]: one for one in json.loads(result.stdout)}
    assert all(one["next_step"] for one in found.values() if one["level"] != "ok")
    return found


def write_settings(home: Path, text: str) -> None:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "env").write_text(text)


def test_where_nothing_is_yet_it_leaves_nothing_behind(doctor: Doctor, home: Path) -> None:
    assert findings(doctor("--json"))["settings"]["level"] == "fail"
    assert not home.exists()


def test_a_machine_that_cannot_start_programs_is_told_what_to_install(
    doctor: Doctor, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(home, AWAY)
    assert "launcher" not in findings(doctor("--json"))
    monkeypatch.setenv("PATH", str(home))
    found = findings(doctor("--json"))["launcher"]
    assert (found["level"], found["next_step"]) == (
        "fail",
        "setpriv is not installed: install util-linux 2.33 or newer",
    )


def test_a_home_that_a_command_makes_is_for_its_user_alone(doctor: Doctor, home: Path) -> None:
    env = {"CARDINAL_HOME": str(home)}
    assert CliRunner().invoke(main, ("capture", "--for", "1"), env=env).exit_code == 0
    assert [stat.S_IMODE(one.stat().st_mode) for one in (home, home / "run")] == [0o700, 0o700]
    assert findings(doctor("--json"))["home"]["level"] == "ok"


def test_the_store_is_written_and_read_or_there_is_a_next_step(
    doctor: Doctor, home: Path, tmp_path: Path
) -> None:
    shared = tmp_path / "shared"
    write_settings(home, f"{AWAY}CARDINAL_STORE={shared}\n")
    found = findings(doctor("--json"))["store"]
    assert (found["level"], f"{shared}, for all hosts" in found["found"]) == ("ok", True)
    assert list(shared.glob("??/*")) == []
    write_settings(home, f"{AWAY}CARDINAL_STORE={home / 'env'}\n")
    found = findings(doctor("--json"))["store"]
    assert (found["level"], "CARDINAL_STORE" in found["next_step"]) == ("fail", True)


def test_a_ledger_that_is_none_is_a_finding_and_all_else_is_looked_at(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY)
    (home / "data").mkdir()
    (home / "data" / "ledger.db").write_text("garbage" * 1000)
    found = findings(doctor("--json"))
    assert found["ledger"]["level"] == "fail"
    assert "not a database" in found["ledger"]["found"]
    assert "restore" in found["ledger"]["next_step"]
    assert {"home", "disk", "redis"} <= {*found}


def test_its_advice_about_a_broken_ledger_works(doctor: Doctor, home: Path, tmp_path: Path) -> None:
    write_settings(home, AWAY)
    ledger, saved, env = home / "data" / "ledger.db", tmp_path / "saved.db", {"CARDINAL_HOME": str(home)}
    open_ledger(f"sqlite:///{ledger}").dispose()
    assert CliRunner().invoke(main, ("backup", str(saved)), env=env).exit_code == 0
    ledger.write_text("garbage" * 1000)
    told = CliRunner().invoke(main, ("restore", str(saved)), env=env)
    assert told.exit_code == 0, told.output
    assert findings(doctor("--json"))["ledger"]["level"] == "ok"
    (aside,) = home.glob("data/ledger.db.broken*")
    assert aside.read_text().startswith("garbage")


def test_it_says_whose_the_ledger_is_and_what_is_folded_beside(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY)
    engine = open_ledger(f"sqlite:///{home}/data/ledger.db")
    found = findings(doctor("--json"))["editions"]
    assert (found["level"], mine().name in found["found"]) == ("ok", True)
    row = {"digest": "d1", "version": "9.1", "state": EditionState.FOLDING, "tables": (), "position": 40}
    with event_store.writing(engine) as db:
        event_store.append(db, card_seen(), at=NOW)
        insert(db, editions, {**row, "folded": ("cards", "plans"), "at": NOW})
    found = findings(doctor("--json"))["folding"]
    assert found["found"].startswith(
        "Cardinal 9.1, edition d1 is building 2 views of its own (cards, plans): 40 of 1"
    )
    with event_store.writing(engine) as db:
        change(db, editions, {"digest": mine().digest}, state=EditionState.PAST)
        change(db, editions, {"digest": "d1"}, state=EditionState.LIVE)
    engine.dispose()
    found = findings(doctor("--json"))["ledger"]
    assert (found["level"], "is older than the ledger (9.1, edition d1)" in found["found"]) == ("fail", True)


def test_a_database_that_is_away_is_a_finding_and_its_password_stays_out_of_the_bundle(
    doctor: Doctor, home: Path, tmp_path: Path
) -> None:
    lines = (
        "CARDINAL_DATABASE_URL=postgresql://cardinal:hush-4711@127.0.0.1:9/x?sslpassword=psst-4711",
        "CARDINAL_REDIS_URL=redis://:whisper-4711@127.0.0.1:9/0",
    )
    write_settings(home, AWAY + "\n".join(lines))
    result = doctor("--bundle", "help.tar.gz")
    assert "fail  ledger" in result.stdout
    assert "CARDINAL_DATABASE_URL" in result.stdout
    with tarfile.open(tmp_path / "help.tar.gz") as archive:
        texts = [archive.extractfile(one).read().decode() for one in archive]  # type: ignore[union-attr]
    assert "127.0.0.1:9/0" in "".join(texts)
    assert [word for word in ("hush-4711", "psst-4711", "whisper-4711") if word in "".join(texts)] == []


def test_a_missing_key_keeps_no_other_finding_back(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY)
    result = doctor("--json")
    assert "CARDINAL_PRIVATE_KEY, CARDINAL_WEBHOOK_SECRET are not set" in result.stdout
    assert {"home", "disk", "redis", "budget"} <= {*findings(result)}


def test_its_findings_are_sentences(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY)
    shown = doctor().stdout.splitlines()
    for one in shown:
        found, _, step = one[21:].partition(" → ")
        for told in filter(None, (found, step)):
            assert told == told.strip()
            assert told.endswith(".")
            assert not told[0].islower(), told
    assert "warn  redis          No Redis is running here. → `cardinal up` starts one." in shown


def test_of_a_board_of_cardinal_try_it_names_the_command_that_starts_it(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY)
    (home / TRIAL).touch()
    shown = doctor().stdout
    assert "start `cardinal try`, which creates one" in shown.replace("Start", "start")
    assert "cardinal up" not in shown


def test_settings_that_cannot_be_read_are_findings_too(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY + "CARDINAL_PRIVATE_KEY=gone.pem\nCARDINAL_PROT=3\n")
    result = doctor("--json")
    assert result.exit_code == 1
    told = json.loads(result.stdout)
    assert [one["name"] for one in told] == ["settings", "settings"]
    assert all(one["next_step"] for one in told)
    assert "did you mean CARDINAL_PORT" in result.stdout


def test_an_archive_that_cannot_be_written_is_one_sentence(doctor: Doctor, home: Path) -> None:
    write_settings(home, AWAY)
    result = doctor("--bundle", "nowhere/help.tar.gz")
    assert result.exit_code == 2
    assert "cannot write the archive to nowhere/help.tar.gz: No such file" in result.stderr
    assert "fail  settings" in result.stdout


@pytest.mark.parametrize("text", ["", "{", "[]", '{"up": 1}', '{"up": "x", "address": "", "parts": {}}'])
def test_a_torn_record_of_what_runs_is_none(home: Path, text: str) -> None:
    (home / "run").mkdir(parents=True)
    (home / "run" / "pids.json").write_text(text)
    assert read_presence(home) is None


def test_its_findings_are_kept_for_the_page_health_and_a_ledger_that_takes_none_is_no_obstacle(
    doctor: Doctor, home: Path
) -> None:
    write_settings(home, f"{AWAY}CARDINAL_HOST_NAME=b\n")
    engine = open_ledger(f"sqlite:///{home}/data/ledger.db")
    shown = findings(doctor("--json"))
    with event_store.reading(engine) as db:
        rows = [row for subject in ExaminationSubject for row in examinations.all_hosts(db, subject)]
    assert [(row.host, row.examiner) for row in rows] == [("b", "cardinal doctor")] * 2
    of_host, others = ({finding.name for finding in row.read()} for row in rows)
    assert (of_host | others, of_host & others) == (set(shown), set())
    assert {"disk", "up"} <= of_host
    with event_store.writing(engine) as db:
        db.exec_driver_sql("DROP TABLE examinations")
    engine.dispose()
    refused = doctor("--json")
    assert "the results could not be saved for the Health page" in refused.stderr
    assert set(findings(refused)) == set(shown)


def test_a_file_of_subscribers_that_cannot_be_read_is_a_finding_without_the_address(
    doctor: Doctor, home: Path
) -> None:
    write_settings(home, AWAY)
    assert "notices" not in findings(doctor("--json"))
    (home / "notices.json").write_text('{"alice": {"address": "json://s3cret", "kindz": []}}')
    result = doctor("--json")
    assert findings(result)["notices"]["level"] == "fail"
    assert "s3cret" not in result.output
    (home / "notices.json").unlink()
    (home / "notices.json").mkdir()
    assert findings(doctor("--json"))["notices"]["level"] == "fail"
