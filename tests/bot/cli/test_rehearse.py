"""`cardinal rehearse` as people give it: in the home's settings, on a forge, with a report and samples."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from bot.cli import main
from ledger.ids import DeliveryId
from tests.bot.admin.rehearsal.conftest import Rehearsals, with_place
from tests.bot.flows.opening import opened
from tests.house.source import ROOT

PLACE = "acme/throw-away"


@pytest.fixture
def place(tmp_path: Path) -> Any:
    with opened(tmp_path / "here") as cardinal:
        rehearsals = with_place(cardinal)
        rehearsals.between_s = 0  # the command has this machine's clock
        yield rehearsals


def given(place: Rehearsals, *words: str, **settings: str) -> Result:
    config = place.cardinal.services.config
    environ = {
        "CARDINAL_HOME": str(config.home),
        "CARDINAL_GITHUB_URL": config.github_url,
        "CARDINAL_APP_ID": str(config.app_id),
        "CARDINAL_PRIVATE_KEY": config.private_key.reveal(),
        "CARDINAL_BOARD": "acme/1",
        **settings,
    }
    return CliRunner().invoke(main, ["rehearse", "--repository", PLACE, *words], env=environ)


def test_a_rehearsal_prints_its_findings_and_writes_report_and_samples(
    place: Rehearsals, tmp_path: Path
) -> None:
    report, samples = tmp_path / "report.json", tmp_path / "samples"
    result = given(place, "--patience", "1", "--report", str(report), "--samples", str(samples))
    assert result.exit_code == 0, result.output
    assert "as believed        merge\n" in result.stdout
    assert "could not be tried person: drag: no one did it" in result.stdout
    assert "64 as believed, 0 otherwise, 6 could not be tried" in result.stdout
    told = json.loads(report.read_text())
    assert len(told["beliefs"]) == 70
    assert sum(told["calls"].values()) < 250
    assert told["deliveries"]["projects_v2_item.archived"]["count"] == 1
    kept = {path.name: path.read_text() for path in samples.iterdir()}
    assert {"issues-opened.json", "projects_v2_item-edited.json", "pull_request-closed.json"} <= set(kept)
    assert [
        name for name in kept for word in ("acme", "throw-away", "cardinal[bot]") if word in kept[name]
    ] == []


def test_a_sample_is_read_as_the_delivery_was(place: Rehearsals, tmp_path: Path) -> None:
    given(place, "--patience", "1", "--samples", str(tmp_path))
    for path in [*tmp_path.glob("*.json"), *(ROOT / "tests/recorded").glob("*.json")]:
        sample = json.loads(path.read_text())
        body = json.dumps(sample["payload"]).encode()
        assert place.cardinal.post(sample["event"], body, DeliveryId(f"sample-{path.stem}"), sample["action"])
    place.cardinal.ingest()
    assert place.cardinal.failures == []


def test_a_belief_that_does_not_hold_is_told_with_githubs_words_and_ends_with_1(place: Rehearsals) -> None:
    queue = {"method": "POST", "path": "/reactions$", "status": 422, "count": 2}
    place.cardinal.forge.store.faults.load({"api": [queue]})
    result = given(place, "--patience", "1")
    assert result.exit_code == 1
    assert "otherwise          reaction: Refused 422: Validation Failed" in result.stdout


def test_the_remains_of_a_killed_one_are_removed(place: Rehearsals) -> None:
    assert place.stage().pull
    result = given(place, "--clean")
    assert (result.exit_code, result.stdout) == (0, "1 issues\n2 branches\n")
    assert [issue for issue in place.repo.issues.values() if issue.state == "open"] == []


@pytest.mark.parametrize(
    ("words", "settings", "said"),
    [
        ((), {"CARDINAL_BOARD": "other/1"}, "name a repository owned by other, as the board is"),
        ((), {"CARDINAL_APP_ID": "0"}, "CARDINAL_APP_ID"),
    ],
)
def test_settings_that_do_not_fit_are_told_before_anything_is_made(
    place: Rehearsals, words: tuple[str, ...], settings: dict[str, str], said: str
) -> None:
    result = given(place, *words, **settings)
    assert result.exit_code == 2
    assert said in result.output
    assert place.repo.issues == {}


def test_a_repository_of_others_is_refused(place: Rehearsals) -> None:
    place.cardinal.new(repo=place.repo)
    result = given(place)
    assert result.exit_code == 2
    assert "nothing was done: acme/throw-away has other people's issues or pull requests" in result.output
    assert len(place.repo.issues) == 1
